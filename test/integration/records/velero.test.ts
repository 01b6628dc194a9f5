/** Objects after a restore with Velero: the tests change them as Velero 1.17 does. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { withSpec, type Manifest } from '../../fixtures/virtual-server.ts';
import { sent } from '../support/creates.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

/** What `resetMetadata` in Velero's pkg/restore/restore.go removes; it also removes the status. */
const REMOVED = [
  ...['generateName', 'selfLink', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp'],
  ...['deletionGracePeriodSeconds', 'ownerReferences', 'namespace'],
];

function restorable({ apiVersion, kind, metadata, spec }: VirtualServer): Manifest {
  const kept = Object.entries(metadata).filter(([key]) => !REMOVED.includes(key));
  const labels = { 'velero.io/backup-name': 'nightly', 'velero.io/restore-name': 'nightly-1' };
  return { apiVersion, kind, metadata: { ...Object.fromEntries(kept), labels }, spec } as unknown as Manifest;
}

/** Loses the object, with its server running, and restores it. */
async function restore(world: World, backup: VirtualServer): Promise<VirtualServer> {
  const { name } = backup.metadata;
  if ((await world.get(name)) !== undefined) await world.delete(name);
  await world.waitGone(name);
  return world.create(restorable(backup));
}

const RETAINED = withSpec({ deletionPolicy: 'Retain' });

describe('an object that Velero restores', () => {
  it('keeps finalizer and record, loses uid and status, and orders nothing', async () => {
    const world = await createWorld();
    const backup = await readyServer(world, 'web', RETAINED);
    const created = await restore(world, backup);
    expect(created.metadata.uid).not.toBe(backup.metadata.uid);
    expect(created.metadata.finalizers).toEqual(backup.metadata.finalizers);
    expect(created.status?.record).toBeUndefined();
    expect(recordOf(created)).toEqual(recordOf(backup));
    await world.waitForReason('web', 'RecordMismatch', 'Stalled');
    expect(sent(world)).toHaveLength(1);

    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('orders nothing either if Velero restores the status too, without the guards', async () => {
    const world = await createWorld();
    const backup = await readyServer(world, 'web', RETAINED);
    await world.stopOperator();
    await world.patch('web', { metadata: { finalizers: [] } });
    await restore(world, backup);
    await world.patch('web', { status: backup.status ?? {} }, '/status');
    expect((await world.get('web'))?.status?.record?.owner).toBe(backup.metadata.uid);
    await world.startOperator({ journal: false });
    await world.waitForReason('web', 'RecordMismatch', 'Stalled');
    expect(sent(world)).toHaveLength(1);
  });

  it('is no longer being deleted, although it was at the time of the backup', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    await world.stopOperator();
    await world.delete('web');
    const backup = (await world.get('web')) as VirtualServer;
    expect(backup.metadata.deletionTimestamp).toBeDefined();
    await world.patch('web', { metadata: { finalizers: [] } });
    const created = await restore(world, backup);
    expect(created.metadata.deletionTimestamp).toBeUndefined();
    await world.startOperator({ journal: false });
    await world.waitForReason('web', 'RecordMismatch', 'Stalled');
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });
});
