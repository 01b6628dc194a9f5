/** A task of an attempt that is no longer in the record is never dropped: the operator reports it until a user handles it. */
import { describe, expect, it } from 'vitest';
import { readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { condition, createWorld } from '../support/world.ts';

describe('an object whose record and mirror were both forced to another attempt', () => {
  it("shows the journal's task as OrphanedServer and is held until it is handled", async () => {
    const world = await createWorld({ flags: ['--create-timeout=300ms', '--takeover-grace=100ms'] });
    const ready = await readyServer(world, 'web');
    const { owner, task } = recordOf(ready);
    await world.stopOperator();
    const other = { owner, mode: 'create', attempt: 'other' };
    await world.patch('web', { status: null }, '/status');
    await world.patch('web', { status: { record: other } }, '/status');
    await world.annotate('web', { record: JSON.stringify(other) });
    await world.startOperator();

    const orphaned = await world.waitForReason('web', 'OrphanedServer', 'OrphanedServer');
    expect(condition(orphaned, 'OrphanedServer')?.message).toContain(`vps-operator.dev/orphan-handled=${task}`);
    expect(recordOf(orphaned).orphans).toMatchObject([{ task }]);
    await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    expect(world.simulator.ledger.creates()).toHaveLength(1);

    await world.delete('web');
    await world.annotate('web', { 'not-created': 'other' });
    const held = await world.waitForReason('web', 'OrphanedServer', 'Stalled');
    expect(stalledMessage(held)).toContain(String(task));
    await world.visited('web');
    expect((await world.get('web'))?.metadata.finalizers).toHaveLength(1);
    await world.annotate('web', { 'orphan-handled': String(task) });
    await world.waitGone('web');
    expect(world.simulator.ledger.requests({ method: 'DELETE' })).toEqual([]);
  });
});
