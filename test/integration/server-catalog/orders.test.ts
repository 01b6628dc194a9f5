/** Which way orders go, told wherever you may look: status of a ServerCatalog, doctor, metrics, log and the waiting object. */
import { expect, it, type TestContext } from 'vitest';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, RECONCILE_AT_ANNOTATION } from '../../../src/api/names.ts';
import type { ServerCatalog } from '../../../src/api/server-catalog.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';
import { pageUrl, scrape, valueOf } from '../support/scrape.ts';
import { publicWorld, SERVER } from '../support/public-service.ts';
import { condition, createWorld, type World, type WorldOptions } from '../support/world.ts';

const folder = usePlugin();
const LIST = '/beta/vps/servers';
const METRICS = ['--metrics-bind-address=127.0.0.1:0'];

const documentedWorld = ({ onTestFinished }: TestContext, options: WorldOptions) =>
  createWorld({ ...options, onTestFinished });

/** A catalog in this world, and what is told of it. */
async function told(world: World) {
  const path = `/apis/${API_VERSION}/namespaces/${world.namespace}/${CATALOG_PLURAL}`;
  const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
  await world.http.call({ method: 'POST', path, body });
  const plugin = await createPlugin(folder(), world.namespace);
  const read = async () => (await world.http.call({ path: `${path}/catalog` })) as ServerCatalog;
  return {
    orders: async (orders: string) => {
      await world.until(async () => (await read()).status?.provider?.orders === orders, `orders: ${orders}`);
      return (await read()).status?.conditions?.find(({ type }) => type === 'Ready')?.message;
    },
    again: async () => {
      const patch = { metadata: { annotations: { [RECONCILE_AT_ANNOTATION]: 'again' } } };
      const contentType = 'application/merge-patch+json';
      await world.http.call({ method: 'PATCH', path: `${path}/catalog`, body: patch, contentType });
    },
    doctor: async () => (await plugin.kubectl(['vps', 'doctor'])).stdout,
    metric: async (way: string) =>
      valueOf(await scrape(await pageUrl(world, '/metrics')), 'vps_operator_accounts', { orders: way }),
    /** The lines of the log about it. */
    lines: () =>
      world.log.filter(({ msg }) => /^orders (go|wait)/.test(String(msg))).map(({ level, msg }) => [level, msg]),
  };
}

it.for([
  ['the documented API', documentedWorld, [], 'Anonymous', 'orders go without an identifier; '],
  ['the public service', publicWorld, [], 'Named', 'orders go under an identifier'],
  ['the documented API and --orders=named', documentedWorld, ['--orders=named'], 'Named', 'orders go under'],
  [
    'the public service and --orders=anonymous',
    publicWorld,
    ['--orders=anonymous'],
    'Anonymous',
    'although the provider lists servers: --orders=anonymous is set',
  ],
] as const)('which way orders go is told: %s', async ([, worldOf, flags, orders, says], context) => {
  const world = await worldOf(context, { flags: [...METRICS, ...flags] });
  const catalog = await told(world);
  expect(await catalog.orders(orders)).toMatch(/^\d+ products, \d+ images, \d+ disk sizes(, \d+ zones)?$/);
  expect(await catalog.doctor()).toContain(says);
  expect(await catalog.metric(orders.toLowerCase())).toBe(1);
  expect(catalog.lines()).toHaveLength(flags.length === 0 ? 1 : 0);
});

it('the first order under an identifier that the provider refuses is told once, for all objects', async (context) => {
  const world = await publicWorld(context, { flags: METRICS });
  const catalog = await told(world);
  await catalog.orders('Named');
  world.simulator.faults.inject({
    match: { method: 'POST', route: SERVER },
    action: { kind: 'status', status: 405, body: { error: 'Method not allowed' } },
    times: Infinity,
  });
  for (const name of ['one', 'two', 'three']) await world.create(virtualServer(name));
  for (const name of ['one', 'two', 'three']) await world.waitForReason(name, 'Available', 'Ready');
  expect(await catalog.orders('Anonymous')).toContain('has refused an order under an identifier');
  expect(await catalog.metric('anonymous')).toBe(1);
  expect(catalog.lines()).toEqual([
    ['info', 'orders go under an identifier'],
    ['warn', expect.stringContaining('takes no order under one')],
  ]);
});

it('an order that waits for the list of servers names --orders', async (context) => {
  const world = await publicWorld(context, { flags: METRICS });
  const outage = world.simulator.provider.falsify({ route: LIST, status: 500 });
  const catalog = await told(world);
  await world.create(virtualServer('web'));
  const waiting = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
  expect(condition(waiting, 'Reconciling')?.message).toMatch(
    /list of servers .*With --orders=auto, this list decides .*--orders=anonymous/,
  );
  expect(await catalog.orders('Unknown')).toContain('New orders wait');
  expect(await catalog.doctor()).toMatch(/✗ .*new orders wait, because the list of servers/);
  expect(await catalog.metric('unknown')).toBe(1);
  outage.remove();
  await world.waitForReason('web', 'Available', 'Ready');
  // Without a request: the catalog is told too.
  await catalog.orders('Named');
});
