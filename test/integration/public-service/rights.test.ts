/** A key that loses its rights at the public service: no server counts as gone, and everything continues with the rights. */
import { expect, it, vi } from 'vitest';
import { RESTRICTIONS, type Simulator } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { named, publicWorld, totals } from '../support/public-service.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { condition } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

/** With the grace period of these worlds, 500 ms, a server that was read before counts as gone by then. */
const PROOF_MS = 1_500;

interface Loss {
  name: string;
  lose: (simulator: Simulator) => void;
  restore: (simulator: Simulator) => void;
  reason: string;
}

/** Reasons of an object that is created without the rights; a task that is denied before it names a server asks you. */
const OF_NEW = ['PermissionDenied', 'CreateRejected', 'ServerNotVisible', 'TaskNotFound'];

const ACCOUNT = { account: 'default' };
const LOSSES: Loss[] = [
  // An empty list is believed in the end, as the simulated lives prove.
  ...RESTRICTIONS.filter((from) => from !== 'unseen').map((from) => ({
    name: `the right to ${from}`,
    lose: ({ accounts }: Simulator) => accounts.restrict(ACCOUNT, from),
    restore: ({ accounts }: Simulator) => accounts.permit(ACCOUNT),
    reason: 'PermissionDenied',
  })),
  {
    name: 'all rights, with a 403 for each call',
    lose: ({ accounts }) => accounts.suspend('default', 'calls', 403),
    restore: ({ accounts }) => accounts.resume('default'),
    reason: 'PermissionDenied',
  },
  {
    name: 'the right to single servers and tasks, which look as if they did not exist',
    lose: ({ provider }) => {
      for (const route of ['/beta/vps/servers/{identifier}', '/beta/queue/vps/{task}'] as const)
        provider.falsify({ route, status: 403, says: 'does-not-exist' });
    },
    restore: ({ provider }) => provider.endLies(),
    reason: 'ServerNotVisible',
  },
];

it.concurrent.for(LOSSES)('a key that loses $name', async ({ lose, restore, reason }, context) => {
  const world = await publicWorld(context, { flags: ['--resync-interval=150ms'] });
  const { simulator } = world;
  await readyServer(world, 'web');
  await readyServer(world, 'leaving');
  simulator.fleet.setTaskDuration(Infinity);
  await world.create(virtualServer('making'));
  const { task = 0 } = await named(world, 'making');
  const known = totals(world);

  const lostAt = Date.now();
  lose(simulator);
  await world.delete('leaving');
  for (const name of ['web', 'leaving', 'making']) {
    await world.waitForReason(name, reason);
    const isLate = (line: Record<string, unknown>): boolean =>
      line.name === name && Date.parse(String(line.time)) - lostAt > PROOF_MS;
    await world.until(() => world.log.some(isLate), `visits to ${name} for longer than a proof takes`);
    const object = await world.waitForReason(name, reason);
    expect(object.status?.record?.missingAt).toBeUndefined();
    expect(recordOf(object).attempt).toBeDefined();
  }
  await world.create(virtualServer('new'));
  const refused = await world.waitFor('new', (object) => OF_NEW.includes(condition(object, 'Ready')?.reason ?? ''));
  expect(totals(world).cancelled).toBe(0);
  expect(simulator.aliveServers()).toHaveLength(totals(world).ordered);

  restore(simulator);
  simulator.fleet.completeTask(Number(task));
  // A refused order is repeated hourly, or when you ask.
  if (condition(refused, 'Ready')?.reason === 'CreateRejected') await world.annotate('new', { 'reconcile-at': 'now' });
  await world.until(() => totals(world).ordered === known.ordered + 1, 'the order of the new server');
  simulator.fleet.completeTask(simulator.ledger.creates().at(-1)?.task ?? 0);
  await world.waitGone('leaving');
  for (const name of ['web', 'making', 'new']) await world.waitForReason(name, 'Available', 'Ready');
  expect(totals(world)).toEqual({ ordered: 4, cancelled: 1, alive: 3 });
});
