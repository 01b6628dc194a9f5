/** What can be edited and when: typos before the create, nothing that was sent after it, everything after a refusal. */
import { describe, expect, it } from 'vitest';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, stalledMessage } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

describe('a spec that the provider does not offer', () => {
  it.for([
    ['product', { product: 'vps-1bg' }, { product: 'vps-1gb' }, 'spec.product "vps-1bg" is not offered', 'vps-1gb'],
    [
      'image',
      { image: 'debian-13/minimal' },
      { image: 'debian-13.qcow2/minimal' },
      'spec.image',
      'debian-13.qcow2/min',
    ],
    ['disk size', { diskSize: 30 }, { diskSize: 40 }, 'spec.diskSize 30 is not offered', '20, 40'],
  ] as const)('gets the nearest valid values of the %s, and is ordered once it is fixed', async (row) => {
    const [, wrong, right, message, nearest] = row;
    const world = await createWorld();
    await world.create(virtualServer('web', withSpec(wrong)));
    const parked = await world.waitForReason('web', 'InvalidSpec', 'Stalled');
    expect(stalledMessage(parked)).toContain(message);
    expect(stalledMessage(parked)).toContain(nearest);
    expect(parked.metadata.finalizers).toBeUndefined();
    await world.visited('web');
    expect(world.simulator.ledger.requests({ route: '/beta/vps/servers' })).toEqual([]);

    await world.patch('web', { spec: right });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});

describe('a spec whose server was ordered', () => {
  it.for([
    ['spec.product', { product: 'vps-2gb' }],
    ['spec.image, spec.diskSize', { image: 'debian-13.qcow2/docker', diskSize: 40 }],
    ['spec.sshKeys, spec.sshKeysFrom', { sshKeys: null, sshKeysFrom: [{ name: 'keys', key: 'id' }] }],
  ] as const)('is locked in %s, with a message that says what to do instead', async ([fields, spec]) => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'Creating', 'Ready');
    await expect(world.patch('web', { spec })).rejects.toThrow(
      `: ${fields}, which the order sent, cannot be changed after the server was ordered: make a new VirtualServer with the new values, then delete this one`,
    );
  });

  it('accepts changes of fields that are not sent', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    await world.patch('web', { spec: { deletionPolicy: 'Retain', deletionProtection: true } });
    const after = await world.waitForReason('web', 'Available', 'Ready');
    expect(after.status?.observedGeneration).toBe(2);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('takes effect at once in an operator that was not running during the edit', async () => {
    const world = await createWorld();
    const { status } = await readyServer(world, 'web');
    await world.stopOperator();
    await world.patch('web', { spec: { deletionProtection: true } });
    world.simulator.fleet.updateServer(status?.identifier ?? '', { price: 99 });
    await world.startOperator({ flags: ['--resync-interval=24h'] });
    const after = await world.waitFor('web', ({ status }) => status?.observedGeneration === 2);
    expect(after.status?.price).toBe(99);
  });

  it('can be edited again after a refusal, and is tried at once', async () => {
    const world = await createWorld();
    world.simulator.faults.inject({
      match: { method: 'POST', route: '/beta/vps/servers' },
      action: { kind: 'status', status: 422, body: { error: 'no room for this product' } },
    });
    await world.create(virtualServer('web'));
    const refused = await world.waitForReason('web', 'CreateRejected', 'Stalled');
    expect(stalledMessage(refused)).toContain('no room for this product');
    await world.passedBy('web');
    expect(world.simulator.ledger.creates()).toEqual([]);
    await world.patch('web', { spec: { product: 'vps-2gb' } });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toMatchObject([{ body: { product: 'vps-2gb' } }]);
  });
});
