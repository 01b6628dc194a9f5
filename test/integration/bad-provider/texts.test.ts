/** Odd texts from the provider, which the API server has to store: identifiers, and statuses of tasks and servers. */
import { describe, expect, it, vi } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { records, sent, stalled } from '../support/creates.ts';
import { readyServer } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const POLL = { method: 'GET', route: '/beta/queue/vps/{task}' } as const;
const READ = { method: 'GET', route: '/beta/vps/servers/{identifier}' } as const;

async function ends(world: World): Promise<void> {
  await world.delete('web');
  await world.waitGone('web');
  expect(sent(world)).toHaveLength(1);
  const [created] = world.simulator.ledger.creates();
  expect(world.simulator.ledger.cancels().map(({ identifier }) => identifier)).toEqual([created?.identifier]);
  expect(world.simulator.aliveServers()).toEqual([]);
  expect(world.log.filter(({ level }) => level === 'error')).toEqual([]);
}

describe('an identifier', () => {
  it.concurrent.for([
    'a/b/../c',
    '..%2f..%2flogin',
    'ключ-名-🔥',
    'e\u0301 \u00a0\u202e',
    '"}\\n{{x}}$(id)`',
    'a\u0001\u007f',
    'x'.repeat(253),
    '🔥'.repeat(126),
  ])('with odd characters is used unchanged: %j', async (identifier, { onTestFinished }) => {
    const world = await createWorld({ simulator: { newIdentifier: () => identifier }, onTestFinished });
    const ready = await readyServer(world, 'web');
    expect(ready.status?.identifier).toBe(identifier);
    expect(records(ready).annotation.identifier).toBe(identifier);
    await ends(world);
  });

  it.concurrent.for([
    ['of one step upwards', '..'],
    ['that is no text', '\ud800'],
    ['of 254 characters', 'x'.repeat(254)],
    ['of 1 MB', 'x'.repeat(1_000_000)],
  ] as const)('%s is not stored, and the next valid one is', async ([, identifier], { onTestFinished }) => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity }, onTestFinished });
    const body = (answer: unknown): object => ({ ...(answer as object), identifier });
    const fault = world.simulator.faults.inject({ match: POLL, times: Infinity, action: { kind: 'body', body } });
    await world.create(virtualServer('web'));
    const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
    expect(stalled(parked).message).toMatch(/identifier/);
    expect(records(parked).annotation).toEqual(records(parked).mirror);
    expect(records(parked).annotation.identifier).toBeUndefined();
    fault.remove();
    world.simulator.fleet.completeTask(1001);
    await world.waitForReason('web', 'Available', 'Ready');
    await ends(world);
  });
});

describe('a status', () => {
  /** Many answers in a short time. */
  const HASTY = ['--poll-interval=30ms', '--resync-interval=30ms'];
  const EMOJI = `x${'🔥'.repeat(2000)}`;

  /** Checks that the object's version does not change while the provider is called three more times. */
  async function expectNoMoreWrites(world: World, match: typeof POLL | typeof READ): Promise<void> {
    const answered = () => world.simulator.ledger.requests({ ...match, status: 200 }).length;
    const settle = answered() + 1;
    await world.until(() => answered() > settle, 'another answer');
    const before = await world.get('web');
    const from = answered();
    await world.until(() => answered() > from + 2, 'three more answers');
    expect((await world.get('web'))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  }

  it.for([
    { name: 'none at all', text: '' },
    { name: 'seconds beyond all bounds', text: '999999999999 seconds' },
    { name: 'a long row of emoji', text: EMOJI },
    { name: 'control characters, which are left out', text: '\u0000\u001b[31m\n\ud800', shown: '[31m \ufffd' },
  ])('of a task is shown, shortened to fit: $name', async ({ text, shown = text }) => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity, taskStatus: () => text }, flags: HASTY });
    await world.create(virtualServer('web'));
    const object = await world.waitFor('web', ({ status }) => status?.record?.identifier !== undefined);
    expect(shown.startsWith(object.status?.task?.message ?? 'none')).toBe(true);
    expect(object.status?.task?.message?.length).toBeLessThanOrEqual(256);
    await expectNoMoreWrites(world, POLL);
    world.simulator.fleet.completeTask(1001);
    await world.waitForReason('web', 'Available', 'Ready');
  });

  it.for([
    { name: 'none at all', text: '' },
    { name: 'a long row of emoji', text: EMOJI },
  ])('of a server is shown, and does not count as running: $name', async ({ text }) => {
    const world = await createWorld({ flags: HASTY });
    const { status } = await readyServer(world, 'web');
    const identifier = status?.identifier ?? '';
    world.simulator.fleet.updateServer(identifier, { status: text });
    const object = await world.waitForReason('web', 'ServerNotRunning', 'Reconciling');
    expect(text.startsWith(object.status?.serverStatus ?? 'none')).toBe(true);
    await expectNoMoreWrites(world, READ);
    world.simulator.fleet.updateServer(identifier, { status: 'running' });
    await world.waitForReason('web', 'Available', 'Ready');
  });
});
