/** Objects that are deleted without their servers. */
import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord } from '../../../src/api/record.ts';
import { API_NAMES } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { lostOrder } from '../support/creates.ts';
import { readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const retained = withSpec({ deletionPolicy: 'Retain' });

/** Checks that the object is gone, its server is not, and an Event names the server. */
async function expectLeft(world: World, name: string, identifier: string): Promise<void> {
  await world.waitGone(name);
  await world.until(
    async () =>
      (await world.events(name)).some((event) => event.reason === 'RetainedServer' && event.note.includes(identifier)),
    `an Event that names ${identifier}`,
  );
  expect(world.simulator.aliveServers()).toMatchObject([{ identifier }]);
}

describe('the message of a deletion that waits', () => {
  it.each([
    // A spec with an expiry does not allow Retain, so the command removes the expiry too.
    { reason: 'DeletionProtected', spec: { deletionProtection: true, ttl: '72h' } },
    { reason: 'CancellationUnconfirmed', spec: {} },
  ])('names a command that keeps the server ($reason)', async ({ reason, spec }) => {
    const world = await createWorld();
    const { status } = await readyServer(world, 'web', withSpec(spec));
    // The provider answers a DELETE as documented, and cancels nothing.
    world.simulator.provider.answerCancels({ body: 'message' });
    await world.delete('web');
    const parked = await world.waitForReason('web', reason, 'Stalled');
    const [, change = ''] =
      /run `kubectl patch vps web .* -p '(\{[^']*Retain[^']*\})'`/.exec(stalledMessage(parked)) ?? [];
    await world.patch('web', JSON.parse(change) as object);
    await expectLeft(world, 'web', status?.identifier ?? 'none');
  });
});

describe('deletionPolicy Retain', () => {
  it.each(API_NAMES)('(%s API) leaves a ready server behind and names it, even without a key', async (api) => {
    const world = await createWorld({ simulator: { api } });
    const ready = await readyServer(world, 'web', retained);
    await world.stopOperator();
    await world.deleteSecret('vps-api-key');
    await world.delete('web');
    await world.startOperator();
    await expectLeft(world, 'web', ready.status?.identifier ?? 'none');
    expect(world.simulator.ledger.requests({ method: 'DELETE' })).toEqual([]);
  });

  it('holds the object while the outcome of its order is unknown, then leaves the adopted server', async () => {
    const world = await createWorld();
    const parked = await lostOrder(world, 'web', true, retained);
    await world.delete('web');
    await world.visited('web');
    const held = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    expect(recordOf(held).attempt).toBe(recordOf(parked).attempt);
    const [alive] = world.simulator.aliveServers();
    world.simulator.fleet.completeTask(alive?.task ?? 0);
    await world.annotate('web', { adopt: alive?.identifier ?? '' });
    await expectLeft(world, 'web', alive?.identifier ?? 'none');
    expect(world.simulator.ledger.requests({ method: 'DELETE' })).toEqual([]);
  });

  it('leaves a server that was just taken over, although its first object is still there and asks for its cancellation', async () => {
    // One worker visits the objects in the order of their names.
    const world = await createWorld({ flags: ['--max-concurrent-reconciles=1'] });
    const first = await readyServer(world, 'web', withSpec({ deletionDelay: '24h' }));
    await world.delete('web');
    await world.waitForReason('web', 'DeletionDelayed');
    await world.stopOperator();
    const { attempt: _, attemptedAt: __, task: ___, ...held } = recordOf(first);
    await world.create(virtualServer('again', retained));
    const owner = (await world.get('again'))?.metadata.uid ?? '';
    const takenFrom = { name: 'web', uid: first.metadata.uid, identifier: held.identifier ?? '' };
    // As an operator that died right after the hand-over has left it.
    const record = formatRecord({ ...held, owner, mode: 'adopt', takenFrom });
    await world.patch('again', { metadata: { finalizers: [FINALIZER], annotations: { [RECORD_ANNOTATION]: record } } });
    await world.patch('web', { spec: { deletionDelay: null } });
    await world.delete('again');
    await world.startOperator();
    await expectLeft(world, 'again', held.identifier ?? 'none');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });
});
