/** What can be edited and when: typos before the create, nothing that was sent after it, everything after a refusal. */
import { describe, expect, it } from 'vitest';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { orderIn, publicWorld, WAYS } from '../support/public-service.ts';
import { readyServer, stalledMessage } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

describe('a spec that the provider does not offer', () => {
  it('gets the nearest valid values, and is ordered once it is fixed', async () => {
    const world = await createWorld();
    await world.create(virtualServer('web', withSpec({ product: 'VPXS4' })));
    const parked = await world.waitForReason('web', 'InvalidSpec', 'Stalled');
    expect(stalledMessage(parked)).toMatch(/spec\.product "VPXS4" is not offered.*VPSX4/);
    expect(parked.metadata.finalizers).toBeUndefined();
    await world.visited('web');
    expect(world.simulator.ledger.requests({ route: '/beta/vps/servers' })).toEqual([]);

    await world.patch('web', { spec: { product: 'VPSX4' } });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});

describe('a spec whose server was ordered', () => {
  it.for(WAYS)('is locked before its status shows the order: %s', async (orders, context) => {
    const world = await publicWorld(context, { orders });
    const hang = world.simulator.faults.inject({ match: orderIn(orders), action: { kind: 'hang' } });
    const { uid } = (await world.create(virtualServer('web'))).metadata;
    await expect.poll(() => hang.count).toBe(1);
    const edit = world.patch('web', { spec: { image: 'debian-12/full' } });
    await expect(edit).rejects.toThrow(': spec.image, which the order sent, cannot be changed');
    const asked = await world.get('web');
    expect([asked?.metadata.uid, asked?.status?.record]).toEqual([uid, undefined]);
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
    await world.patch('web', { spec: { product: 'VPSX8' } });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toMatchObject([{ body: { product: 'VPSX8' } }]);
  });
});
