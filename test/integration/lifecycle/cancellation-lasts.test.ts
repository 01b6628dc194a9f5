/** A provider that answers a DELETE with 200 while the server keeps running. */
import { expect, it } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { readyServer } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

it('keeps the object until the server is gone, and hands the server to no other object, also after a restart', async () => {
  const world = await createWorld();
  await readyServer(world, 'web');
  world.simulator.fleet.setCancelTakes(Infinity);
  await world.delete('web');
  const asked = await world.waitForReason('web', 'Deleting');
  expect(asked.status?.cancelRequestedAt).toBeDefined();
  await world.stopOperator();
  await world.annotate('web', { 'hand-over': 'next' });
  await world.startOperator();
  await world.create(virtualServer('next'));
  await world.waitForReason('next', 'HandOverRefused');
  const kept = await world.waitForReason('web', 'CancellationUnconfirmed', 'Stalled');
  expect(kept.status?.cancelRequestedAt).toBe(asked.status?.cancelRequestedAt);
  expect(world.simulator.aliveServers()).toHaveLength(1);
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  // A person takes the hand-over back, and cancels the server in the panel.
  await world.annotate('web', { 'hand-over': null });
  world.simulator.fleet.removeServer(asked.status?.identifier ?? '');
  await world.waitGone('web');
});
