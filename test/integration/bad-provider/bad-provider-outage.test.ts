/** A provider that fails for a while, and a provider with unknown statuses and progress messages. */
import { describe, expect, it } from 'vitest';
import type { FaultAction } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { records, sent, triesWithGrowingPauses } from '../support/creates.ts';
import { condition, createWorld, type World } from '../support/world.ts';

const POLL = { method: 'GET', route: '/beta/queue/vps/{task}' } as const;
const READ = { method: 'GET', route: '/beta/vps/servers/{identifier}' } as const;
const DELETE = { method: 'DELETE', route: '/beta/vps/servers/{identifier}' } as const;
const LISTS = { method: 'GET', route: '/beta/vps/images' } as const;

const FAILURES: { name: string; action: FaultAction; reason: string }[] = [
  { name: '500', action: { kind: 'status', status: 500 }, reason: 'ProviderUnavailable' },
  { name: '503', action: { kind: 'status', status: 503 }, reason: 'ProviderUnavailable' },
  {
    name: '429 with Retry-After: 0',
    action: { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
    reason: 'ProviderRateLimited',
  },
  { name: 'resets', action: { kind: 'reset' }, reason: 'ProviderUnavailable' },
  { name: '401 for every token', action: { kind: 'status', status: 401 }, reason: 'Unauthorized' },
];

async function readyWorld(flags = ['--resync-interval=100ms']): Promise<World> {
  const world = await createWorld({ flags });
  await world.create(virtualServer('web'));
  await world.waitForReason('web', 'Available', 'Ready');
  return world;
}

/** Injects a failure. The returned function checks that few calls hit it, and then ends it. */
function outage(
  world: World,
  match: { method: string; route: typeof POLL.route | typeof READ.route | typeof LISTS.route },
  action: FaultAction,
) {
  const from = Date.now();
  const fault = world.simulator.faults.inject({ match, times: Infinity, action });
  return async (): Promise<void> => {
    for (let visit = 0; visit < 3; visit++) await world.passedBy('web');
    const tries = triesWithGrowingPauses(world, from);
    expect(fault.count).toBeLessThanOrEqual(action.kind === 'status' && action.status === 401 ? 2 * tries : tries);
    fault.remove();
    // The operator recovers without help; one wait per endpoint is enough to show that.
    if (!(action.kind === 'status' && action.status === 503)) await world.annotate('web', { 'reconcile-at': 'now' });
  };
}

describe('a provider that fails for a while', () => {
  it.for(FAILURES)('claims nothing and makes few calls while its lists answer $name', async ({ action, reason }) => {
    const world = await createWorld();
    const end = outage(world, LISTS, action);
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', reason);
    expect(object.metadata.finalizers).toBeUndefined();
    await end();
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });

  it.for(FAILURES)('keeps the record and continues when polls answer $name', async ({ action, reason }) => {
    const world = await createWorld({ simulator: { taskDurationMs: 200 } });
    const end = outage(world, POLL, action);
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', reason);
    expect(records(object).mirror.task).toBe(1001);
    expect(records(object).annotation).toEqual(records(object).mirror);
    await end();
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });

  it.for(FAILURES)('keeps a Ready server Ready when reads answer $name', async ({ action, reason }) => {
    const world = await readyWorld();
    const end = outage(world, READ, action);
    const object = await world.waitForReason('web', reason);
    expect(condition(object, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    await end();
    await world.waitFor(
      'web',
      ({ status }) => status?.conditions?.map(({ type }) => type).join() === 'Ready',
      'no condition but Ready',
    );
  });

  it.for(FAILURES)(
    'holds the object until the server is cancelled when deletes answer $name',
    async ({ action, reason }) => {
      const world = await readyWorld();
      const end = outage(world, DELETE, action);
      await world.delete('web');
      const object = await world.waitForReason('web', reason);
      expect(object.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
      await end();
      await world.waitGone('web');
      expect(world.simulator.ledger.cancels()).toHaveLength(1);
    },
  );

  it('finds the server gone after the answer to a DELETE was lost', async () => {
    const world = await readyWorld();
    world.simulator.faults.inject({ match: DELETE, action: { kind: 'reset', after: true } });
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('waits for a server that answers 404 right after its task ended', async () => {
    const world = await createWorld();
    const fault = world.simulator.faults.inject({
      match: READ,
      times: Infinity,
      action: { kind: 'status', status: 404 },
    });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'AbsenceUnproven', 'Reconciling');
    expect(sent(world)).toHaveLength(1);
    fault.remove();
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });

  it('makes every server Ready, each ordered once, after the provider was down', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: 200 } });
    for (const name of ['a', 'b', 'c']) await world.create(virtualServer(name));
    for (const name of ['a', 'b', 'c']) await world.waitFor(name, ({ status }) => status?.record?.task !== undefined);
    await world.simulator.goDown();
    for (const name of ['a', 'b', 'c']) {
      await world.waitFor(name, ({ status }) =>
        ['ProviderUnavailable', 'Available'].includes(status?.conditions?.at(-1)?.reason ?? ''),
      );
    }
    await world.simulator.comeUp();
    for (const name of ['a', 'b', 'c']) await world.waitForReason(name, 'Available', 'Ready');
    expect(sent(world)).toHaveLength(3);
  });
});

/** Many answers in a short time. */
const HASTY = ['--poll-interval=30ms', '--resync-interval=30ms'];

describe('unknown texts from the provider', () => {
  const LONG = 'x'.repeat(100_000);
  const EMOJI = `x${'🔥'.repeat(2000)}`;

  it.for([
    { name: 'none at all', text: '' },
    { name: 'an unknown one', text: 'Contemplating' },
    { name: 'a percentage alone', text: '100 %' },
    { name: 'seconds beyond all bounds', text: '999999999999 seconds' },
    { name: 'a very long one', text: LONG },
    { name: 'a long row of emoji', text: EMOJI },
    { name: 'control characters, which are left out', text: '\u0000\u001b[31m\n\ud800', shown: '[31m \ufffd' },
  ])("are shown as the task's status, shortened to fit: $name", async ({ text, shown = text }) => {
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
    { name: 'an unknown one', text: 'stopped' },
    { name: 'a very long one', text: LONG },
    { name: 'a long row of emoji', text: EMOJI },
  ])("do not count as a running server's status: $name", async ({ text }) => {
    const world = await readyWorld(HASTY);
    world.simulator.fleet.updateServer('vs1001', { status: text });
    const object = await world.waitForReason('web', 'ServerNotRunning', 'Reconciling');
    expect(text.startsWith(object.status?.serverStatus ?? 'none')).toBe(true);
    await expectNoMoreWrites(world, READ);
    world.simulator.fleet.updateServer('vs1001', { status: 'running' });
    await world.waitForReason('web', 'Available', 'Ready');
  });

  it('mean that the server cannot be reached yet if they are an empty list of addresses', async () => {
    const world = await createWorld();
    const none = (body: unknown): object => ({ ...(body as object), ipv6: [], ssh_proxy: null });
    const fault = world.simulator.faults.inject({ match: READ, times: Infinity, action: { kind: 'body', body: none } });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', 'AddressPending', 'Reconciling');
    expect(object.status?.ipv6).toEqual([]);
    expect(object.status?.ssh).toBeUndefined();
    fault.remove();
    await world.waitForReason('web', 'Available', 'Ready');
  });

  it('are omitted if a field has a wrong type, and the other fields are shown', async () => {
    const world = await createWorld();
    const odd = (body: unknown): object => ({
      ...(body as object),
      name: 7,
      price: 'a lot',
      zone: [],
      host_server: { name: 'h' },
      specs: { cores: -1, ram: 1.5, disk_size: '20', disk_type: 3 },
      ipv4: [{ address: '192.0.2.1' }, null],
      macs: 'none',
      admin_console: { hostname: 1 },
      ssh_proxy: { hostname: 'proxy.example.org', port: 70000 },
      surprise: { nested: true },
    });
    world.simulator.faults.inject({ match: READ, times: Infinity, action: { kind: 'body', body: odd } });
    await world.create(virtualServer('web'));
    const { status } = await world.waitForReason('web', 'Available', 'Ready');
    expect(status).toMatchObject({ identifier: 'vs1001', ipv4: [], macs: [], specs: {}, serverStatus: 'running' });
    for (const field of ['name', 'price', 'zone', 'hostServer', 'adminConsole', 'sshProxy']) {
      expect(status).not.toHaveProperty(field);
    }
    expect(status?.ssh).toBe(`root@${status?.ipv6?.[0]}`);
  });
});

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
