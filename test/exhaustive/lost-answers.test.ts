/**
 * Named orders whose answers are all lost, while the leader is killed every two seconds and its folder is thrown away: each
 * object ends with one server, and asks no one.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { currentReason } from '../../src/api/conditions.ts';
import { virtualServer } from '../fixtures/virtual-server.ts';
import { isUnanswered } from '../oracles/person.ts';
import { spawnOperator } from '../integration/support/process.ts';
import { orderIn } from '../integration/support/public-service.ts';
import { createWorld, type World } from '../integration/support/world.ts';

const OBJECTS = 200;
/** As many requests do not even reach the provider. */
const UNHEARD = 600;
const REIGN_MS = 2_000;

/** Two operators, of which one leads, until `stop`; resolves to the number of leaders that were killed. */
async function killLeaders(world: World, isOver: () => Promise<boolean>): Promise<number> {
  const flags = ['--leader-elect', `--operator-namespace=${world.namespace}`, '--lease-duration=2s'];
  await world.permit(world.operatorFlags(flags));
  const folderOf = (place: number): string => join(world.journalDir, `operator-${place}`);
  const start = (place: number) => spawnOperator(world, [...flags, `--journal-dir=${folderOf(place)}`]);
  const operators = [await start(0), await start(1)];
  for (let killed = 0; ; killed++) {
    const leads = (): number =>
      operators.findIndex(({ lines }) => lines.some((line) => line.includes('"operator runs"')));
    await world.until(() => leads() >= 0, 'a leader');
    await pause(REIGN_MS);
    if (await isOver()) return killed;
    const place = leads();
    await operators[place]?.kill('SIGKILL');
    await rm(folderOf(place), { recursive: true, force: true });
    operators[place] = await start(place);
  }
}

it('orders each of 200 servers once, although every answer is lost and no leader lives for long', async () => {
  const world = await createWorld({
    operator: false,
    simulator: { api: 'public' },
    flags: [
      ...['--create-timeout=1s', '--takeover-grace=100ms', '--poll-interval=500ms', '--max-concurrent-reconciles=4'],
      ...['--max-creates-per-hour=0', '--max-servers-per-namespace=0'],
    ],
  });
  const { faults, ledger } = world.simulator;
  const match = orderIn('named');
  faults.inject({ match, times: UNHEARD, action: { kind: 'drop' } });
  faults.inject({ match, times: Infinity, action: { kind: 'drop', after: true } });
  const names = Array.from({ length: OBJECTS }, (_, index) => `web-${index}`);
  for (const name of names) await world.create(virtualServer(name));

  const asking = new Set<string>();
  const killed = await killLeaders(world, async () => {
    const objects = await world.list();
    for (const object of objects) if (isUnanswered(object)) asking.add(object.metadata.name);
    return objects.every(({ status }) => currentReason(status?.conditions) === 'Available');
  });

  const alive = world.simulator.aliveServers();
  const sent = ledger.requests(match);
  const answered = sent.filter(({ fault }) => fault !== 'drop');
  console.log(
    `${killed} leaders killed, ${sent.length} orders sent, ${ledger.creates().length} accepted, ${alive.length} servers`,
  );
  expect(asking).toEqual(new Set());
  expect(ledger.creates()).toHaveLength(OBJECTS);
  expect(alive).toHaveLength(OBJECTS);
  expect(answered).toEqual([]);
  expect(sent.length).toBeGreaterThanOrEqual(OBJECTS + UNHEARD);
  const held = (await world.list()).map(({ status }) => status?.identifier);
  expect(new Set(held)).toEqual(new Set(alive.map(({ identifier }) => identifier)));
  expect(killed).toBeGreaterThan(0);
});
