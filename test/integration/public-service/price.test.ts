/** A price that the public service no longer states: the last known one counts, and the object reports that. */
import { expect, it, vi } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { publicWorld, SERVER, totals } from '../support/public-service.ts';
import { readyServer } from '../support/records.ts';
import { condition } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

type Body = Record<string, unknown>;

it.concurrent.for([
  ['words', (server: Body) => ({ ...server, price: 'on request' })],
  ['an object', (server: Body) => ({ ...server, price: { pence: 1018 } })],
  ['huge', (server: Body) => ({ ...server, price: 1e15 })],
  ['null', (server: Body) => ({ ...server, price: null })],
  ['negative', (server: Body) => ({ ...server, price: -1 })],
  ['missing', ({ price: _, ...server }: Body) => server],
] as const)('a price that becomes %s counts as before, also after a restart', async ([, body], context) => {
  const flags = ['--resync-interval=150ms', '--max-price-per-namespace=2035'];
  const world = await publicWorld(context, { flags });
  const before = await readyServer(world, 'web');
  expect(before.status?.price).toBe(1018);
  const match = { method: 'GET', route: SERVER, param: before.status?.identifier ?? '' } as const;
  const fault = world.simulator.faults.inject({ match, times: Infinity, action: { kind: 'body', body } });

  const says = /The provider states no price for it; the last known price, 1018\.00, counts/;
  const unpriced = await world.waitFor('web', (object) => says.test(condition(object, 'Ready')?.message ?? ''));
  expect(condition(unpriced, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
  expect(unpriced.status?.price).toBe(1018);
  await world.stopOperator();
  await world.startOperator({ journal: false });
  await world.visited('web');
  await world.create(virtualServer('second'));
  const parked = await world.waitForReason('second', 'PriceLimit', 'Stalled');
  expect(condition(parked, 'Stalled')?.message).toContain('cost 1018.00');
  expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });

  fault.remove();
  const after = await world.waitFor('web', (object) => !says.test(condition(object, 'Ready')?.message ?? ''));
  expect(after.status?.price).toBe(1018);
});
