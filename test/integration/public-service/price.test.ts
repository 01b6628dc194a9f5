/** A price that the public service no longer states: the last known one counts, and the object reports that. */
import { expect, it, vi } from 'vitest';
import { ADOPT_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
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

it.concurrent(
  'a dormant server counts with its price awake, also after a restart, and wakes as it was',
  async (context) => {
    const flags = ['--max-price-per-namespace=2035'];
    const world = await publicWorld(context, { flags, variants: { asleep: 'renamed' } });
    await readyServer(world, 'web');
    await world.patch('web', { spec: { power: 'Dormant' } });
    const asleep = await world.waitForReason('web', 'Dormant', 'Ready');
    expect(asleep.status).toMatchObject({ product: 'DORMANT', price: 112 });
    await world.stopOperator();
    await world.startOperator({ journal: false });
    await world.visited('web');
    await world.create(virtualServer('second'));
    const parked = await world.waitForReason('second', 'PriceLimit', 'Stalled');
    expect(condition(parked, 'Stalled')?.message).toContain('cost 1018.00');
    await world.patch('web', { spec: { power: 'On' } });
    const awake = await world.waitForReason('web', 'Available', 'Ready');
    expect(awake.status).toMatchObject({ product: 'VPSX4', price: 1018 });
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  },
);

it.concurrent('a server that was only read dormant holds orders back until it has woken', async (context) => {
  const flags = ['--max-price-per-namespace=10000'];
  const world = await publicWorld(context, { flags, variants: { asleep: 'cheaper', priceList: 'missing' } });
  const { identifier } = world.simulator.fleet.addServer('default', { status: 'shut down', dormant: true });
  await world.create(
    virtualServer('asleep', withAnnotations({ [ADOPT_ANNOTATION]: identifier }), withSpec({ power: 'Dormant' })),
  );
  await world.waitForReason('asleep', 'Dormant', 'Ready');
  await world.create(virtualServer('web'));
  const parked = await world.waitForReason('web', 'PriceUnknown', 'Stalled');
  expect(condition(parked, 'Stalled')?.message).toContain('cannot tell what the server of asleep costs');
  await world.patch('asleep', { spec: { power: 'On' } });
  await world.waitForReason('web', 'Available', 'Ready');
});

it.concurrent(
  'a server that is paid by the year counts as it is, and raises the price of no order',
  async (context) => {
    const flags = ['--max-price-per-namespace=13000'];
    const world = await publicWorld(context, { flags, variants: { priceList: 'missing' } });
    const { identifier } = world.simulator.fleet.addServer('default', { price: 12_216, period: 'year' });
    await readyServer(world, 'yearly', withAnnotations({ [ADOPT_ANNOTATION]: identifier }));
    await readyServer(world, 'web');
    await world.create(virtualServer('second'));
    const parked = await world.waitForReason('second', 'PriceLimit', 'Stalled');
    expect(condition(parked, 'Stalled')?.message).toMatch(
      /cost 13234\.00.* costs 1018\.00.*The server of yearly is billed for another period/,
    );
  },
);
