/** `--max-price-per-namespace` while a price is not known: not known never counts as 0. */
import { expect, it, vi } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { SimulatedProduct } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { SERVER } from '../support/public-service.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { condition, createWorld, type World, type WorldOptions } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

type Body = Record<string, unknown>;

const products: SimulatedProduct[] = [{ code: 'VPSX4', ram: 1024, cores: 1, price: 8.5 }];
const WAITING = ['PriceLimit', 'PricePending', 'PriceUnknown'];
const TEN = Array.from({ length: 10 }, (_, index) => `more-${index}`);

const limited = (maximum: string) => ({ env: { VPS_MAX_PRICE_PER_NAMESPACE: maximum } });
const worldWith = (context: Pick<WorldOptions, 'onTestFinished'>, maximum: string): Promise<World> =>
  createWorld({ ...limited(maximum), onTestFinished: context.onTestFinished, simulator: { products } });
const orders = (world: World): number => world.simulator.ledger.creates().length;
const reason = (object: VirtualServer | undefined): string | undefined => object && condition(object, 'Ready')?.reason;

/** From now on, reads of servers show this price. */
const priced = (world: World, price: (server: Body) => Body) =>
  world.simulator.faults.inject({
    match: { method: 'GET', route: SERVER },
    times: Infinity,
    action: { kind: 'body', body: (server: Body) => ({ ...server, ...price(server) }) },
  });

/** Creates the objects at once, and waits until each of them has a server or waits for money. */
async function createAll(world: World, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => world.create(virtualServer(name))));
  for (const name of names)
    await world.waitFor(name, (object) => ['Available', ...WAITING].includes(reason(object) ?? ''));
  for (const name of names) await world.visited(name);
}

async function held(world: World, names: readonly string[]): Promise<void> {
  for (const name of names) expect(WAITING).toContain(reason(await world.get(name)));
}

it.concurrent.for<[string, (server: Body) => Body]>([
  ['a decimal text', () => ({ price: '8.5' })],
  ['null', () => ({ price: null })],
  ['missing', () => ({ price: undefined })],
  ['an object', () => ({ price: { amount: 8.5, currency: 'GBP' } })],
  ['negative', () => ({ price: -8.5 })],
  ['a negative text', () => ({ price: '-8.5' })],
  ['huge', () => ({ price: 1e300 })],
  ['words', () => ({ price: 'about 8.5' })],
  ['missing, with product and disk', () => ({ price: undefined, product: undefined, specs: undefined })],
])('a price that becomes %s opens no limit, also if the status is lost', async ([, body], context) => {
  const world = await worldWith(context, '18');
  for (const name of ['one', 'two']) await readyServer(world, name);
  priced(world, body);
  for (const name of ['one', 'two']) await world.visited(name);
  await world.stopOperator();
  for (const name of ['one', 'two']) await world.patch(name, { status: null }, '/status');
  await world.startOperator({ journal: false });
  await createAll(world, TEN);
  for (const name of ['one', 'two']) await world.visited(name);
  for (const name of TEN) await world.visited(name);
  await held(world, TEN);
  expect(orders(world)).toBe(2);
});

it.concurrent('reads the decimal text of a price', async (context) => {
  const world = await worldWith(context, '26');
  priced(world, () => ({ price: '8.5' }));
  expect((await readyServer(world, 'one')).status?.price).toBe(8.5);
  await createAll(world, TEN);
  await world.until(() => orders(world) === 3, 'three orders');
  for (const name of TEN) await world.visited(name);
  expect(orders(world)).toBe(3);
});

it.concurrent(
  'orders nothing while a price is gone, reports it, also after a restart, and then continues',
  async (context) => {
    const world = await worldWith(context, '100');
    await readyServer(world, 'one');
    const fault = priced(world, () => ({ price: null }));
    await world.visited('one');
    const { status } = await world.waitFor('one', (object) => recordOf(object).price?.unstatedSince !== undefined);
    expect(status?.price).toBe(8.5);
    await createAll(world, ['two']);
    await world.stopOperator();
    await world.startOperator({ journal: false });
    await world.visited('two');
    const two = await world.waitForReason('two', 'PriceUnknown', 'Stalled');
    for (const words of ['the server of one', '--max-price-per-namespace', '100.00', `,${world.namespace}=0`])
      expect(condition(two, 'Stalled')?.message).toContain(words);
    expect(orders(world)).toBe(1);
    fault.remove();
    await world.visited('one');
    await world.waitForReason('two', 'Available', 'Ready');
  },
);

it.concurrent('orders one server of a new product, and the others once its price is known', async (context) => {
  const world = await worldWith(context, '18');
  await createAll(world, TEN);
  await world.until(() => orders(world) === 2, 'two orders');
  for (const name of TEN) await world.visited(name);
  expect(orders(world)).toBe(2);
});

it.concurrent(
  'orders one server of a provider that never states a price, until the limit is lifted',
  async (context) => {
    const world = await worldWith(context, '18');
    priced(world, () => ({ price: undefined }));
    const names = TEN.slice(0, 3);
    await createAll(world, names);
    const settled = await Promise.all(
      names.map((name) =>
        world.waitFor(name, (object) => ['Available', 'PriceUnknown'].includes(reason(object) ?? '')),
      ),
    );
    expect(settled.map(reason).sort()).toEqual(['Available', 'PriceUnknown', 'PriceUnknown']);
    expect(orders(world)).toBe(1);
    await world.stopOperator();
    await world.startOperator(limited(`18,${world.namespace}=0`));
    await world.until(() => orders(world) === 3, 'an order for each object');
  },
);

it.concurrent('remembers the price of a model after its last server is gone', async (context) => {
  const world = await worldWith(context, '8');
  await readyServer(world, 'one');
  await world.delete('one');
  await world.waitGone('one');
  await createAll(world, ['two']);
  expect(reason(await world.get('two'))).toBe('PriceLimit');
  expect(orders(world)).toBe(1);
});
