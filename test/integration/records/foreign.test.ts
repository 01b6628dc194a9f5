/**
 * A copied or restored object with another object's record: it orders nothing, cancels nothing, and is released at
 * once.
 */
import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

/** Creates `copy` with annotations and finalizer of `original`, as a restored backup under another name would. */
async function copyOf(
  world: World,
  original: VirtualServer,
  more: Record<string, string> = {},
): Promise<VirtualServer> {
  const record = original.metadata.annotations?.[RECORD_ANNOTATION] ?? '';
  const manifest = virtualServer('copy', withAnnotations({ [RECORD_ANNOTATION]: record, ...more }));
  return world.create({ ...manifest, metadata: { ...manifest.metadata, finalizers: [FINALIZER] } });
}

describe('a copied object', () => {
  it('is RecordMismatch, and its deletion releases it at once without any call', async () => {
    const world = await createWorld();
    const original = await readyServer(world, 'web');
    const copy = await copyOf(world, original);
    const parked = await world.waitForReason('copy', 'RecordMismatch', 'Stalled');
    expect(stalledMessage(parked)).toContain(`vps-operator.dev/start-over=${copy.metadata.uid}`);
    expect(stalledMessage(parked)).toContain(original.metadata.uid);
    const calls = world.simulator.ledger.requestCount;

    await world.delete('copy');
    await world.waitGone('copy');
    expect(world.simulator.ledger.requestCount).toBe(calls);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toHaveLength(1);
    await world.visited('web');
    expect((await world.get('web'))?.status).toEqual(original.status);
  });

  it('cannot adopt the server while the original holds it, but can once the original releases it', async () => {
    const world = await createWorld();
    const original = await readyServer(world, 'web', withSpec({ deletionPolicy: 'Retain' }));
    const { identifier = '' } = recordOf(original);
    await copyOf(world, original, { 'vps-operator.dev/adopt': identifier });
    const parked = await world.waitForReason('copy', 'IdentifierInUse', 'Stalled');
    expect(stalledMessage(parked)).toContain(`is held by ${world.namespace}/web`);
    await world.visited('copy');
    expect((await world.get('copy'))?.status?.identifier).toBeUndefined();

    await world.delete('web');
    await world.waitGone('web');
    const adopted = await world.waitForReason('copy', 'Available', 'Ready');
    expect(recordOf(adopted)).toMatchObject({ owner: adopted.metadata.uid, mode: 'adopt', identifier });
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('orders another server when start-over names its own uid, and only then', async () => {
    const world = await createWorld();
    const original = await readyServer(world, 'web');
    const copy = await copyOf(world, original, { 'vps-operator.dev/start-over': original.metadata.uid });
    await world.waitForReason('copy', 'RecordMismatch', 'Stalled');
    await world.annotate('copy', { 'start-over': 'true' });
    await world.visited('copy');
    expect(world.simulator.ledger.creates()).toHaveLength(1);

    await world.annotate('copy', { 'start-over': copy.metadata.uid });
    const startedOver = await world.waitForReason('copy', 'Available', 'Ready');
    expect(recordOf(startedOver).owner).toBe(copy.metadata.uid);
    expect(startedOver.status?.identifier).not.toBe(original.status?.identifier);
    expect(world.simulator.ledger.creates()).toHaveLength(2);

    await world.delete('copy');
    await world.waitGone('copy');
    expect(world.simulator.ledger.cancels().map(({ identifier }) => identifier)).toEqual([
      startedOver.status?.identifier,
    ]);
  });
});

describe('annotations that stay in Git', () => {
  it('have no effect when they are seen again after restarts, with and without the journal', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.annotate('web', {
      adopt: before.status?.identifier ?? '',
      'not-created': recordOf(before).attempt ?? '',
      'start-over': before.metadata.uid,
      paused: 'false',
    });
    await world.visited('web');
    const settled = await world.get('web');
    for (const journal of [true, false]) {
      await world.stopOperator();
      await world.startOperator({ journal });
      await world.visited('web');
    }
    const after = await world.get('web');
    expect(after?.status).toEqual(settled?.status);
    expect(recordOf(after as VirtualServer)).toEqual(recordOf(before));
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });
});
