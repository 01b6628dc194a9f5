/** The record is kept twice and in the journal: any lost part is restored, and no second server is ordered. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { loseRecord, readyServer, recordOf, stalledMessage } from '../support/records.ts';
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
  it.each<[string, (world: World) => Promise<unknown>]>([
    ['the status was wiped', (world) => world.patch('web', { status: null }, '/status')],
    [
      'its mirror has invalid contents',
      (world) =>
        world.patch(
          'web',
          { status: { record: { task: 'x', readyAt: 'yesterday', orphans: {}, mode: 7 } } },
          '/status',
        ),
    ],
    ['the annotation was removed', (world) => world.annotate('web', { record: null })],
    ['only the finalizer was removed', (world) => world.patch('web', { metadata: { finalizers: null } })],
    [
      'kubectl replaced the object, without finalizer and record',
      (world) => world.replace('web', virtualServer('web')),
    ],
  ])('is restored whole after %s', async (_what, lose) => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await lose(world);
    await expectRestored(world, 'web', before.status?.identifier);
    const after = await world.get('web');
    expect(after && recordOf(after)).toEqual(recordOf(before));
    expect({ ...after?.status, conditions: [] }).toEqual({ ...before.status, conditions: [] });
  });

  it('is a conflict if the mirror is wrong, until the command of the message has removed that', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.patch('web', { status: { record: { identifier: 'vs4711' } } }, '/status');
    const parked = await world.waitForReason('web', 'RecordConflict', 'Stalled');
    expect(stalledMessage(parked)).toContain(`--subresource status --type merge -p '{"status":{"record":null}}'`);
    await world.patch('web', { status: { record: null } }, '/status');
    await expectRestored(world, 'web', before.status?.identifier);
  });
});

describe('a record that is lost from metadata and status', () => {
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
