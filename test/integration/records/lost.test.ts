/** The record is kept twice and in the journal: any lost part is restored, and no second server is ordered. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { loseRecord, readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { startDetour } from '../support/process.ts';
import { condition, createWorld, type World } from '../support/world.ts';

/** Checks that the object is Ready again with the same server, which was ordered once. */
async function expectRestored(world: World, name: string, identifier: string | undefined): Promise<void> {
  const whole = await world.waitFor(
    name,
    ({ metadata, status }) =>
      status?.identifier === identifier &&
      status?.ipv6 !== undefined &&
      status.record?.identifier === identifier &&
      isDeepStrictEqual(JSON.parse(metadata.annotations?.[RECORD_ANNOTATION] ?? '{}'), status.record) &&
      metadata.finalizers?.includes(FINALIZER) === true,
    'record, mirror, finalizer and status to be restored',
  );
  expect(condition(whole, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
  await world.visited(name);
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect(world.simulator.ledger.cancels()).toEqual([]);
}

describe('a partly lost record', () => {
  it('is restored with the whole status after the status was wiped', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.patch('web', { status: null }, '/status');
    await expectRestored(world, 'web', before.status?.identifier);
    const after = await world.get('web');
    expect({ ...after?.status, conditions: [] }).toEqual({ ...before.status, conditions: [] });
  });

  it('is restored when the status was wiped while no operator ran', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.stopOperator();
    await world.patch('web', { status: null }, '/status');
    await world.startOperator({ journal: false });
    await expectRestored(world, 'web', before.status?.identifier);
  });

  it('is restored from its mirror when the annotation was removed', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.annotate('web', { record: null });
    await expectRestored(world, 'web', before.status?.identifier);
    expect((await world.get('web'))?.metadata.annotations?.[RECORD_ANNOTATION]).toBe(
      before.metadata.annotations?.[RECORD_ANNOTATION],
    );
  });

  it.for([true, false])('is restored with its finalizer after kubectl replace (operator runs: %s)', async (runs) => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    if (!runs) await world.stopOperator();
    const replaced = await world.replace('web', virtualServer('web'));
    expect(replaced.metadata.finalizers).toBeUndefined();
    if (!runs) await world.startOperator({ journal: false });
    await expectRestored(world, 'web', before.status?.identifier);
  });

  it('gets its finalizer back when only the finalizer was removed', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.patch('web', { metadata: { finalizers: null } });
    await expectRestored(world, 'web', before.status?.identifier);
  });

  it.for([
    ['the attempt without its task', ['task', 'identifier'], false],
    ['the attempt without its task, while the operator runs', ['task', 'identifier'], true],
    ['no attempt at all', ['attempt', 'attemptedAt', 'task', 'identifier'], false],
    ['no attempt at all, while the operator runs', ['attempt', 'attemptedAt', 'task', 'identifier'], true],
  ] as const)('is restored when it was rolled back to %s', async ([, lost, runs]) => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    if (!runs) await world.stopOperator();
    const older = Object.fromEntries(
      Object.entries(recordOf(before)).filter(([field]) => !(lost as readonly string[]).includes(field)),
    );
    await world.annotate('web', { record: JSON.stringify(older) });
    if (!runs) await world.startOperator({ journal: false });
    await expectRestored(world, 'web', before.status?.identifier);
  });
});

describe('a record that is lost from metadata and status', () => {
  it('is restored from memory while the process lives', async () => {
    const world = await createWorld({ operator: false });
    const detour = await startDetour(world);
    await world.startOperator({ flags: [detour.flag] });
    const before = await readyServer(world, 'web');
    // While cut off, the operator cannot restore one copy from the other.
    detour.cut();
    await loseRecord(world, 'web');
    detour.restore();
    await expectRestored(world, 'web', before.status?.identifier);
  });

  it('is restored from the journal after a restart', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.stopOperator();
    await loseRecord(world, 'web');
    await world.startOperator();
    await expectRestored(world, 'web', before.status?.identifier);
  });

  it('is RecordMissing without a journal, until an annotation names the server', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.stopOperator();
    await loseRecord(world, 'web');
    await world.startOperator({ journal: false });
    const parked = await world.waitForReason('web', 'RecordMissing', 'Stalled');
    expect(stalledMessage(parked)).toContain('vps-operator.dev/adopt=IDENTIFIER');
    await world.visited('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);

    await world.delete('web');
    await world.visited('web');
    expect(world.simulator.ledger.cancels()).toEqual([]);
    await world.annotate('web', { adopt: before.status?.identifier ?? '' });
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('orders a new server when a user removes the finalizer of an object without a record', async () => {
    const world = await createWorld();
    const manifest = virtualServer('web');
    await world.create({ ...manifest, metadata: { ...manifest.metadata, finalizers: [FINALIZER] } });
    await world.waitForReason('web', 'RecordMissing', 'Stalled');
    expect(world.simulator.ledger.creates()).toEqual([]);
    await world.patch('web', { metadata: { finalizers: null } });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});

describe('removing the finalizer by force while the object is being deleted', () => {
  it('is logged with identifier, task, attempt and total', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    const { attempt, task, identifier } = recordOf(before);
    await world.patch('web', { spec: { deletionProtection: true } });
    await world.delete('web');
    await world.waitForReason('web', 'DeletionProtected', 'Stalled');
    await world.patch('web', { metadata: { finalizers: null } });
    await world.waitGone('web');

    const isForced = (line: Record<string, unknown>): boolean =>
      String(line.msg).endsWith('a server may be left that no object refers to');
    await world.until(() => world.log.some(isForced), 'the line in the log');
    expect(world.log.find(isForced)).toMatchObject({
      level: 'error',
      name: 'web',
      attempt,
      task,
      identifier,
      total: 1,
    });
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });
});
