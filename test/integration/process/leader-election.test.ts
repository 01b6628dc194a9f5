/** Two operators with one real Lease: one is active, the other stands by and takes over. */
import { describe, expect, it } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createWorld } from '../support/world.ts';

describe('leader election', () => {
  it('lets one of two operators work, and the other continue when the first has ended', async () => {
    const world = await createWorld({ operator: false });
    const flags = ['--leader-elect', `--operator-namespace=${world.namespace}`, '--lease-duration=3s'];
    await world.startOperator({ flags });
    const second = await world.joinOperator({ flags });
    await world.create(virtualServer('one'));
    await world.waitForReason('one', 'Available', 'Ready');
    expect(second.started()).toBe(false);

    await world.stopOperator();
    await world.create(virtualServer('two'));
    await world.waitForReason('two', 'Available', 'Ready');
    expect(second.started()).toBe(true);
    expect(world.simulator.ledger.creates()).toHaveLength(2);
  });
});
