/** A record that contradicts its mirror or is invalid: nothing is ordered or cancelled until a person decides. */
import { describe, expect, it } from 'vitest';
import { readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { condition, createWorld } from '../support/world.ts';

describe('a record that contradicts its mirror', () => {
  it.for([
    ['attempt', 'another'],
    ['task', 4711],
    ['identifier', 'vs4711'],
  ] as const)('parks the object when its %s differs, until it is corrected', async ([field, value]) => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.annotate('web', { record: JSON.stringify({ ...recordOf(before), [field]: value }) });
    const parked = await world.waitForReason('web', 'RecordConflict', 'Stalled');
    expect(stalledMessage(parked)).toContain(`${field} is ${value} in the annotation and`);
    expect(condition(parked, 'Ready')?.status).toBe('True');

    await world.delete('web');
    await world.visited('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toEqual([]);

    await world.annotate('web', { record: null });
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels().map(({ identifier }) => identifier)).toEqual([before.status?.identifier]);
  });

  it('is restored to the mirror when the mirror is the one that is wrong', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    const record = recordOf(before);
    await world.patch('web', { status: { record: { ...record, identifier: 'vs4711' } } }, '/status');
    const parked = await world.waitForReason('web', 'RecordConflict', 'Stalled');
    expect(stalledMessage(parked)).toContain(`--subresource status --type merge -p '{"status":{"record":null}}'`);
    await world.patch('web', { status: { record: null } }, '/status');
    const after = await world.waitFor('web', ({ status }) => status?.record?.identifier === record.identifier);
    expect(recordOf(after)).toEqual(record);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('is accepted again when the annotation gets its earlier text back', async () => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    const record = recordOf(before);
    await world.annotate('web', { record: JSON.stringify({ ...record, identifier: 'vs4711' }) });
    await world.waitForReason('web', 'RecordConflict', 'Stalled');
    await world.annotate('web', { record: JSON.stringify(record) });
    const after = await world.waitFor('web', (object) => condition(object, 'Stalled') === undefined);
    expect(recordOf(after)).toEqual(record);
    expect(after.status?.identifier).toBe(record.identifier);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});

describe('an annotation that is not a record', () => {
  it.for([
    ['not JSON', '{"owner": "me'],
    ['of another shape', '{"owner": 7}'],
  ])('parks the object and names the annotation when it is %s, also during a deletion', async ([, text]) => {
    const world = await createWorld();
    const before = await readyServer(world, 'web');
    await world.annotate('web', { record: text ?? '' });
    const parked = await world.waitForReason('web', 'RecordInvalid', 'Stalled');
    expect(stalledMessage(parked)).toContain('vps-operator.dev/record');
    expect(parked.status?.record).toEqual(before.status?.record);
    expect(parked.metadata.annotations?.['vps-operator.dev/record']).toBe(text);
    expect(world.simulator.ledger.creates()).toHaveLength(1);

    await world.delete('web');
    await world.visited('web');
    expect(world.simulator.ledger.cancels()).toEqual([]);
    expect((await world.get('web'))?.metadata.finalizers).toHaveLength(1);

    await world.annotate('web', { record: null });
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toEqual([]);
  });
});
