/** `--max-price-per-namespace`: no order passes the limit by a known price, whatever restarts, fails over or gets lost. */
import { expect, it } from 'vitest';
import { ADOPT_ANNOTATION } from '../../../src/api/names.ts';
import type { SimulatedProduct } from '../../../src/simulator/index.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { lostOrder } from '../support/creates.ts';
import { readyServer } from '../support/records.ts';
import { createSet } from '../support/sets.ts';
import { condition, createWorld, type World } from '../support/world.ts';

/** With the disk of the usual manifest, 10240, a server costs 5. */
const products: SimulatedProduct[] = [{ code: 'VPSX4', ram: 1024, cores: 1, price: 4, diskPrice: 1 / 10240 }];
const limit = (text: string) => ({ env: { VPS_MAX_PRICE_PER_NAMESPACE: text } });

/** Creates the object and waits until it is parked at the limit. */
async function parked(world: World, name: string, ...words: string[]): Promise<void> {
  await world.create(virtualServer(name));
  const object = await world.waitForReason(name, 'PriceLimit', 'Stalled');
  for (const word of words) expect(condition(object, 'Stalled')?.message).toContain(word);
}

const orders = (world: World): number => world.simulator.ledger.creates().length;

it('orders up to the limit, also with several orders at once, and again after a server is gone', async () => {
  const world = await createWorld({ ...limit('10'), simulator: { products } });
  await readyServer(world, 'first');
  const names = ['one', 'two', 'three', 'four'];
  await Promise.all(names.map((name) => world.create(virtualServer(name))));
  const settled = await Promise.all(
    names.map((name) =>
      world.waitFor(name, (object) => ['Available', 'PriceLimit'].includes(condition(object, 'Ready')?.reason ?? '')),
    ),
  );
  const waiting = settled.filter((object) => condition(object, 'Ready')?.reason === 'PriceLimit');
  expect(waiting).toHaveLength(3);
  for (const name of names) await world.visited(name);
  expect(orders(world)).toBe(2);
  await world.delete('first');
  await world.waitGone('first');
  await world.until(() => orders(world) === 3, 'one of the waiting objects to order');
  for (const name of names) await world.visited(name);
  expect(orders(world)).toBe(3);
  expect(world.simulator.aliveServers()).toHaveLength(2);
});

it('reports the sum of the namespace and the price, and ignores prices of other disk sizes', async () => {
  const world = await createWorld({ ...limit('9.99'), simulator: { products } });
  await readyServer(world, 'first');
  await parked(world, 'second', 'cost 5.00', 'allows 9.99', 'product VPSX4 and diskSize 10240 costs 5.00');
  await readyServer(world, 'larger', withSpec({ diskSize: 20480 }));
  expect(orders(world)).toBe(2);
  // The sum has passed the limit by a price that was unknown, so that nothing more is ordered, whatever it costs.
  await world.create(virtualServer('unknown', withSpec({ diskSize: 5120 })));
  const unknown = await world.waitForReason('unknown', 'PriceLimit', 'Stalled');
  expect(condition(unknown, 'Stalled')?.message).toMatch(
    /cost 11\.00.*diskSize 5120 costs is unknown, since none runs/,
  );
  expect(orders(world)).toBe(2);
});

it('counts an order whose task runs after a restart, and one whose outcome is unknown', async () => {
  const world = await createWorld({ ...limit('14.99'), simulator: { products } });
  await readyServer(world, 'first');
  world.simulator.fleet.setTaskDuration(Infinity);
  await world.create(virtualServer('second'));
  await world.waitForReason('second', 'Creating');
  await world.stopOperator();
  await world.startOperator({ journal: false });
  await parked(world, 'third', 'cost 10.00');
  await world.delete('third');
  await world.waitGone('third');
  await world.stopOperator();
  await world.startOperator(limit('15'));
  await lostOrder(world, 'third', false);
  await parked(world, 'fourth', 'cost 15.00');
  expect(orders(world)).toBe(2);
});

it('counts orders of the leader before it', async () => {
  const world = await createWorld({ ...limit('10'), simulator: { products }, operator: false });
  const flags = ['--leader-elect', `--operator-namespace=${world.namespace}`];
  await world.startOperator({ flags });
  await readyServer(world, 'first');
  world.simulator.fleet.setTaskDuration(Infinity);
  await world.create(virtualServer('second'));
  await world.waitForReason('second', 'Creating');
  const second = await world.joinOperator({ flags });
  await world.stopOperator();
  await world.until(() => second.started(), 'the second operator to lead');
  await parked(world, 'third', 'cost 10.00');
  expect(orders(world)).toBe(2);
  await world.stopJoined();
});

it('never stops an adoption, counts a retained server, and orders again under a higher limit', async () => {
  const world = await createWorld({ ...limit('5'), simulator: { products } });
  await readyServer(world, 'first', withSpec({ deletionPolicy: 'Retain' }));
  const { identifier } = world.simulator.fleet.addServer('default', { price: 7 });
  const adopting = withAnnotations({ [ADOPT_ANNOTATION]: identifier });
  await readyServer(world, 'adopted', adopting, withSpec({ deletionPolicy: 'Retain' }));
  for (const name of ['first', 'adopted']) {
    await world.delete(name);
    await world.waitGone(name);
  }
  await parked(world, 'second', 'cost 12.00');
  expect(orders(world)).toBe(1);
  await world.stopOperator();
  await world.startOperator(limit(`0.01,${world.namespace}=5`));
  await world.waitForReason('second', 'Available', 'Ready');
  expect(orders(world)).toBe(2);
});

it('shows in a set that a member waits', async () => {
  const world = await createWorld({ ...limit('10'), simulator: { products } });
  await readyServer(world, 'first');
  const set = await createSet(world, { replicas: 2 });
  const { status } = await set.waitForReason('MemberBlocked');
  expect(JSON.stringify(status?.conditions)).toContain('PriceLimit');
  // The other member has its place from before its order is sent.
  await world.until(() => orders(world) === 2, 'the order of the other member');
  for (const name of ['web-0', 'web-1']) await world.visited(name);
  expect(orders(world)).toBe(2);
});
