/** Objects that are deleted without their servers, or held: Retain, deletionProtection, paused. */
import { describe, expect, it } from 'vitest';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const POST = { method: 'POST', route: '/beta/vps/servers' } as const;
const retained = withSpec({ deletionPolicy: 'Retain' });

async function expectLeft(world: World, name: string, note: string): Promise<void> {
  await world.waitGone(name);
  await world.until(
    async () =>
      (await world.events(name)).some((event) => event.reason === 'RetainedServer' && event.note.includes(note)),
    `an Event that names ${note}`,
  );
  expect(world.simulator.ledger.requests({ method: 'DELETE' })).toEqual([]);
}

describe('deletionProtection', () => {
  it('names a command that keeps the server, also of an object that would expire', async () => {
    const world = await createWorld();
    const { status } = await readyServer(world, 'web', withSpec({ deletionProtection: true, ttl: '72h' }));
    await world.delete('web');
    const parked = await world.waitForReason('web', 'DeletionProtected', 'Stalled');
    const [, change = ''] =
      /keep the server running, run `kubectl patch vps web .* -p '(.*?)'`/.exec(stalledMessage(parked)) ?? [];
    await world.patch('web', JSON.parse(change) as object);
    await expectLeft(world, 'web', status?.identifier ?? '?');
  });

  it('keeps object and server, and cancels the server when it is set to false', async () => {
    const world = await createWorld();
    await readyServer(world, 'web', withSpec({ deletionProtection: true }));
    await world.delete('web');
    const parked = await world.waitForReason('web', 'DeletionProtected', 'Stalled');
    expect(stalledMessage(parked)).toContain('To cancel the server, run `kubectl patch vps web');
    await world.visited('web');
    expect(world.simulator.ledger.cancels()).toEqual([]);
    await world.patch('web', { spec: { deletionProtection: false } });
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('releases the object without its server when deletionPolicy becomes Retain', async () => {
    const world = await createWorld();
    const ready = await readyServer(world, 'web', withSpec({ deletionProtection: true }));
    await world.delete('web');
    await world.waitForReason('web', 'DeletionProtected', 'Stalled');
    await world.patch('web', { spec: { deletionPolicy: 'Retain' } });
    await expectLeft(world, 'web', ready.status?.identifier ?? 'none');
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });

  it('does not hold an object that ordered nothing', async () => {
    const world = await createWorld({ secret: false });
    await world.create(virtualServer('web', withSpec({ deletionProtection: true })));
    await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    await world.delete('web');
    await world.waitGone('web');
  });
});

describe('deletionPolicy Retain', () => {
  it('leaves a ready server behind and names it, even without a key', async () => {
    const world = await createWorld();
    const ready = await readyServer(world, 'web', retained);
    await world.stopOperator();
    await world.deleteSecret('vps-api-key');
    await world.delete('web');
    await world.startOperator();
    await expectLeft(world, 'web', ready.status?.identifier ?? 'none');
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });

  it.each([false, true])('follows a task until the server is known, with deletionProtection %s', async (protect) => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    const nameless = world.simulator.faults.inject({
      match: { route: '/beta/queue/vps/{task}' },
      times: Infinity,
      action: { kind: 'body', body: { status: 'Installing OS, 1% complete' } },
    });
    await world.create(virtualServer('web', withSpec({ deletionPolicy: 'Retain', deletionProtection: protect })));
    await world.waitFor('web', ({ status }) => status?.task?.percent === 1);
    await world.delete('web');
    await world.waitForReason('web', 'Deleting', 'Ready');
    nameless.remove();
    await expectLeft(world, 'web', world.simulator.ledger.creates()[0]?.identifier ?? 'none');
  });

  it('holds the object while the outcome of its order is unknown, then leaves the adopted server', async () => {
    const world = await createWorld();
    world.simulator.faults.inject({ match: POST, action: { kind: 'reset', after: true } });
    await world.create(virtualServer('web', retained));
    const parked = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    await world.delete('web');
    await world.visited('web');
    const held = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    expect(recordOf(held).attempt).toBe(recordOf(parked).attempt);
    const ordered = world.simulator.ledger.creates()[0]?.identifier ?? 'none';
    const [alive] = world.simulator.aliveServers();
    world.simulator.fleet.completeTask(alive?.task ?? 0);
    await world.annotate('web', { adopt: ordered });
    await expectLeft(world, 'web', ordered);
  });
});

describe('the annotation paused', () => {
  it('holds everything, including a deletion, until it is removed', async () => {
    const world = await createWorld({ flags: ['--resync-interval=100ms'] });
    await readyServer(world, 'web');
    await world.annotate('web', { paused: 'true' });
    const paused = await world.waitForReason('web', 'Paused', 'Paused');
    expect(paused.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
    await world.visited('web');
    const calls = world.simulator.ledger.requestCount;
    await world.delete('web');
    await world.visited('web');
    expect(world.simulator.ledger.requestCount).toBe(calls);
    expect((await world.get('web'))?.metadata.finalizers).toHaveLength(1);
    await world.annotate('web', { paused: null });
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('orders nothing while it is set, and orders when it is set to false', async () => {
    const world = await createWorld({ secret: false });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    await world.annotate('web', { paused: 'true' });
    await world.waitForReason('web', 'Paused', 'Paused');
    await world.putSecret('vps-api-key', { keyId: world.simulator.keyId, secret: world.simulator.secret });
    await world.visited('web');
    expect(world.simulator.ledger.requestCount).toBe(0);
    await world.annotate('web', { paused: 'false' });
    await world.waitForReason('web', 'Available', 'Ready');
  });
});
