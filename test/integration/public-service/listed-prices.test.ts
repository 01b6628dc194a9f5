/**
 * The provider's list of prices: a ServerCatalog shows it, the plugin estimates by it, and `--max-price-per-namespace` holds back
 * the first server of a product by it. A list that is missing, wrong or late holds up nothing.
 */
import { expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL } from '../../../src/api/names.ts';
import type { ServerCatalog } from '../../../src/api/server-catalog.ts';
import type { SimulatedProduct } from '../../../src/simulator/index.ts';
import { SSH_KEY, virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';
import { publicWorld, totals, WAYS } from '../support/public-service.ts';
import { readyServer } from '../support/records.ts';
import { condition, type World } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const folder = usePlugin();
const PRICING = '/beta/vps/pricing';
const MATCH = { method: 'GET', route: PRICING } as const;
/** With the disk of the usual manifest, 10240, a server costs 1100, and 1340 with an address. */
const products: SimulatedProduct[] = [
  { code: 'VPSX4', ram: 1024, cores: 1, price: 1000, diskPrice: 100 / 10240, ipv4Price: 240 },
  { code: 'VPSX8', ram: 2048, cores: 1, price: 2000, diskPrice: 100 / 10240, ipv4Price: 240 },
];
const money = (maximum: number) => ({ env: { VPS_MAX_PRICE_PER_NAMESPACE: String(maximum) } });
const limited = (maximum: number) => ({ simulator: { products }, ...money(maximum) });
const reads = ({ simulator }: World): number => simulator.ledger.requests({ route: PRICING }).length;

async function waits(world: World, name: string, ...changes: Parameters<typeof virtualServer>[1][]): Promise<string> {
  await world.create(virtualServer(name, ...(changes as [])));
  const object = await world.waitForReason(name, 'PriceLimit', 'Stalled');
  return condition(object, 'Stalled')?.message ?? '';
}

/** The catalog, once its status has this list of prices. */
async function catalogOf(world: World, priceList: string): Promise<ServerCatalog> {
  const path = `/apis/${API_VERSION}/namespaces/${world.namespace}/${CATALOG_PLURAL}`;
  const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
  await world.http.call({ method: 'POST', path, body });
  let last: ServerCatalog | undefined;
  await world.until(async () => {
    last = (await world.http.call({ path: `${path}/catalog` })) as ServerCatalog;
    return last.status?.provider?.priceList === priceList;
  }, `a catalog whose list of prices is ${priceList}`);
  return last as ServerCatalog;
}

it.concurrent.for(WAYS)(
  'orders no first server of a product that passes the limit by the list (%s)',
  async (orders, context) => {
    const world = await publicWorld(context, { ...limited(1339), orders });
    const text = await waits(world, 'dear', withSpec({ ipv4: true }));
    expect(text).toContain("product VPSX4, diskSize 10240 and ipv4 costs 1340.00 by the provider's list of prices");
    expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });
    await readyServer(world, 'web');
    expect(await waits(world, 'large', withSpec({ product: 'VPSX8' }))).toContain(
      'servers of the namespace cost 1100.00',
    );
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
    // One answer serves all of them.
    expect(reads(world)).toBe(1);
    await world.stopOperator();
    await world.startOperator(money(5000));
    for (const name of ['dear', 'large']) await world.waitForReason(name, 'Available', 'Ready');
    expect(totals(world).ordered).toBe(3);
  },
);

it.concurrent('believes what a server costs, and not the list', async (context) => {
  const world = await publicWorld(context, { ...limited(2200), variants: { priceList: 'higher' } });
  // By the list, a server costs 2200.
  await readyServer(world, 'one');
  await readyServer(world, 'two');
  expect(await waits(world, 'three')).toContain('diskSize 10240 costs 1100.00. ');
  expect(totals(world).ordered).toBe(2);
});

it.concurrent('lets no list that is too low order more than one server of unknown price', async (context) => {
  const world = await publicWorld(context, { ...limited(2000), variants: { priceList: 'lower' } });
  world.simulator.fleet.setTaskDuration(Infinity);
  await world.create(virtualServer('one'));
  await world.waitForReason('one', 'Creating');
  await world.create(virtualServer('two'));
  await world.waitForReason('two', 'PricePending');
  expect(totals(world).ordered).toBe(1);
});

it.concurrent.for([
  ['missing', 'Unavailable', undefined],
  ['forbidden', 'Forbidden', { kind: 'status', status: 403 }],
  ['refused with 401', 'Unknown', { kind: 'status', status: 401 }],
  ['failing', 'Unknown', { kind: 'status', status: 500 }],
  ['no JSON', 'Unknown', { kind: 'body', body: (): unknown => 'soon' }],
  ['an error in an object', 'Unknown', { kind: 'body', body: (): unknown => ({ error: 'maintenance' }) }],
] as const)(
  'orders as before where the list is %s, asks once, and a catalog shows it',
  async ([, told, action], context) => {
    const variants = action === undefined ? ({ priceList: 'missing' } as const) : {};
    const world = await publicWorld(context, { ...limited(1), variants });
    if (action !== undefined) world.simulator.faults.inject({ match: MATCH, times: Infinity, action });
    await readyServer(world, 'web');
    expect(await waits(world, 'more')).not.toContain('list of prices');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
    expect(reads(world)).toBe(1);
    const { status } = await catalogOf(world, told);
    expect(status?.conditions?.map(({ type, status: value }) => [type, value])).toEqual([['Ready', 'True']]);
    expect([status?.prices, status?.products?.[0]?.price]).toEqual([undefined, undefined]);
  },
);

it.concurrent('asks for no list without a limit, nor for a server whose price is known', async (context) => {
  const world = await publicWorld(context, { simulator: { products } });
  await readyServer(world, 'one');
  await world.stopOperator();
  await world.startOperator(money(5000));
  await world.visited('one');
  await readyServer(world, 'two');
  expect([totals(world).ordered, reads(world)]).toEqual([2, 0]);
});

it('shows the prices in a catalog, and estimates by them before an order', async (context) => {
  // A plan also learns prices from the namespaces of other tests.
  const own = products.map((product) => ({ ...product, code: `LISTED-${product.code}` }));
  const world = await publicWorld(context, { simulator: { products: own } });
  const { status } = await catalogOf(world, 'Available');
  expect(status?.products).toEqual([
    { code: 'LISTED-VPSX4', ram: 1024, period: 'on-demand', price: 1000 },
    { code: 'LISTED-VPSX8', ram: 2048, period: 'on-demand', price: 2000 },
  ]);
  const disk = { price: 50, extent: 5 };
  expect(status?.prices).toEqual({ ipv4: 240, disks: ['hdd', 'ssd'].map((type) => ({ type, ...disk })) });

  const plugin = await createPlugin(folder(), world.namespace);
  const shown = await plugin.kubectl(['vps', 'catalog']);
  expect(shown.stdout).toMatch(/^LISTED-VPSX8 +2048 +2000\.00 +on-demand$/m);
  expect(shown.stdout).toMatch(/^each 5 GB of ssd +50\.00$/m);
  expect(shown.stdout).toMatch(/^an IPv4 address +240\.00$/m);
  const image = 'cloudinit-debian-trixie.raw.gz';
  const words = [
    'web',
    '--product=LISTED-VPSX4',
    `--image=${image}`,
    '--disk-size=10240',
    '--ipv4',
    '--ssh-key',
    SSH_KEY,
  ];
  const made = await plugin.kubectl(['vps', 'new', ...words]);
  expect(made.stderr).toMatch(/^price: about 1340\.00, an estimate by the provider's list of prices/);
  const planned = await plugin.shell(
    `kubectl vps new ${words.map((word) => `'${word}'`).join(' ')} | kubectl vps plan -f -`,
  );
  expect(planned.stdout).toMatch(/^order +VirtualServer \S+ +about \+1340\.00 /m);
  expect(planned.stdout).toContain('0.00 before, about 1340.00 after');
  expect(planned.stdout).toContain('note: about: an estimate by the provider');

  world.simulator.fleet.setTaskDuration(Infinity);
  await world.create(parse(made.stdout) as Parameters<World['create']>[0]);
  await world.waitForReason('web', 'Creating');
  const cost = await plugin.kubectl(['vps', 'cost']);
  expect(cost.stdout).toMatch(/^\(total\) +0 +0\.00 +about 1340\.00 more$/m);
});
