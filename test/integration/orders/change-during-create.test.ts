/**
 * Changes to an object while its create is in flight: no edit, loss or deletion causes a second create or hides the
 * first.
 */
import { describe, expect, it } from 'vitest';
import type { FaultHandle } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { recordOf } from '../support/records.ts';
import { startDetour } from '../support/process.ts';
import { condition, createWorld, type World } from '../support/world.ts';

/** An object whose create hangs at the provider, which has already acted on it. */
async function creating(): Promise<{ world: World; hang: FaultHandle }> {
  const world = await createWorld();
  const hang = world.simulator.faults.inject({
    match: { method: 'POST', route: '/beta/vps/servers' },
    action: { kind: 'hang', after: true },
  });
  await world.create(virtualServer('web'));
  await hang.met;
  return { world, hang };
}

describe('an object that is changed while its create is in flight', () => {
  it('gets its task recorded although another client wrote to it', async () => {
    const { world, hang } = await creating();
    await world.patch('web', { metadata: { labels: { team: 'blue' } } });
    hang.release();
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    const [created] = world.simulator.ledger.creates();
    expect(recordOf(ready)).toMatchObject({ task: created?.task, identifier: created?.identifier });
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('gets its record restored although another client removed it', async () => {
    const { world, hang } = await creating();
    await world.replace('web', virtualServer('web'));
    hang.release();
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(recordOf(ready).task).toBe(world.simulator.ledger.creates()[0]?.task);
    expect(ready.metadata.finalizers).toHaveLength(1);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('is Drifted after an edit that came before the lock', async () => {
    const { world, hang } = await creating();
    await world.patch('web', { spec: { product: 'vps-8gb' } });
    hang.release();
    const drifted = await world.waitForReason('web', 'Drifted', 'Drifted');
    expect(condition(drifted, 'Drifted')?.message).toContain('product is vps-1gb instead of vps-8gb');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('is cancelled when it was deleted before the answer', async () => {
    const { world, hang } = await creating();
    await world.delete('web');
    hang.release();
    await world.waitGone('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
  });
});

describe('a claim whose answer is lost', () => {
  it('causes no order, so the operator claims again and orders once', async () => {
    const world = await createWorld({ operator: false });
    const detour = await startDetour(world);
    await world.startOperator({ flags: [detour.flag, '--kube-timeout=2s'] });
    const { proxy } = detour;
    proxy.intercept = ({ method }) => {
      proxy.silent ||= method === 'PATCH';
      return false;
    };
    await world.create(virtualServer('web'));
    const claimed = await world.waitFor('web', ({ metadata }) => metadata.finalizers?.length === 1);
    proxy.intercept = undefined;
    proxy.cut();
    proxy.silent = false;
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(recordOf(ready).attempt).not.toBe(recordOf(claimed).attempt);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});
