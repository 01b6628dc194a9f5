/** GitOps tools apply annotations again and again, also those that resolved something long ago. */
import { expect, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

it('annotations that stay in Git have no effect when they are seen again after restarts, with and without the journal', async () => {
  const world = await createWorld();
  const before = await readyServer(world, 'web');
  await world.annotate('web', {
    adopt: before.status?.identifier ?? '',
    'not-created': recordOf(before).attempt ?? '',
    'start-over': before.metadata.uid,
    paused: 'false',
  });
  await world.visited('web');
  const settled = await world.get('web');
  for (const journal of [true, false]) {
    await world.stopOperator();
    await world.startOperator({ journal });
    await world.visited('web');
  }
  const after = await world.get('web');
  expect(after?.status).toEqual(settled?.status);
  expect(recordOf(after as VirtualServer)).toEqual(recordOf(before));
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect(world.simulator.ledger.cancels()).toEqual([]);
});
