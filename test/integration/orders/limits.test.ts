/** The operator's own limits: creates per namespace and hour, which stops runaway loops, and servers per namespace. */
import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { condition, createWorld, type World } from '../support/world.ts';

const NAMES = ['one', 'two', 'three', 'four'];

it.each([
  { flag: '--max-creates-per-hour', reason: 'CreateLimit' },
  { flag: '--max-servers-per-namespace', reason: 'ServerLimit' },
])('$flag lets two of four objects order at once, and reports $reason on the others', async ({ flag, reason }) => {
  const world = await createWorld({ flags: [`${flag}=2`] });
  await Promise.all(NAMES.map((name) => world.create(virtualServer(name))));
  const settled = await Promise.all(
    NAMES.map((name) =>
      world.waitFor(name, (object) => ['Available', reason].includes(condition(object, 'Ready')?.reason ?? '')),
    ),
  );
  const parked = settled.filter((object) => condition(object, 'Ready')?.reason === reason);
  expect(parked).toHaveLength(2);
  for (const object of parked) expect(condition(object, 'Ready')?.message).toContain(flag);
  for (const name of NAMES) await world.visited(name);
  expect(world.simulator.ledger.creates()).toHaveLength(2);
});

it('--max-servers-per-namespace counts a retained server until an object adopts it, and no longer than it exists', async () => {
  const world = await createWorld({ flags: ['--max-servers-per-namespace=1'] });
  const one = await readyServer(world, 'one', withSpec({ deletionPolicy: 'Retain' }));
  const identifier = one.status?.identifier ?? '';
  await world.delete('one');
  await world.waitGone('one');
  await world.create(virtualServer('two'));
  await world.waitForReason('two', 'ServerLimit', 'Stalled');
  expect(world.simulator.aliveServers()).toHaveLength(1);
  // The limit never prevents an adoption.
  await readyServer(world, 'three', withAnnotations({ [ADOPT_ANNOTATION]: identifier }));
  await world.delete('three');
  await world.waitForReason('two', 'Available', 'Ready');
  expect(world.simulator.ledger.creates()).toHaveLength(2);
  expect(world.simulator.aliveServers()).toHaveLength(1);
});

it('--max-servers-per-namespace counts an orphan until you have handled it', async () => {
  const world = await createWorld({ flags: ['--max-servers-per-namespace=2'] });
  const record = { ...recordOf(await readyServer(world, 'web')), orphans: [{ attempt: 'lost', task: 900_001 }] };
  await world.stopOperator();
  await world.annotate('web', { record: JSON.stringify(record) });
  await world.startOperator();
  await world.create(virtualServer('next'));
  await world.waitForReason('next', 'ServerLimit', 'Stalled');
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  await world.annotate('web', { 'orphan-handled': '900001' });
  await world.waitForReason('next', 'Available', 'Ready');
  expect(world.simulator.ledger.creates()).toHaveLength(2);
});

describe('--max-creates-per-hour after a restart', () => {
  /** Of two orders, the object of one is gone; the operator has stopped. */
  async function afterTwoOrders(): Promise<World> {
    const world = await createWorld({ flags: ['--max-creates-per-hour=2'] });
    await readyServer(world, 'kept');
    await readyServer(world, 'gone');
    await world.delete('gone');
    await world.waitGone('gone');
    await world.stopOperator();
    return world;
  }

  it('counts the orders of the last hour, also those of objects that are gone', async () => {
    const world = await afterTwoOrders();
    await world.startOperator();
    await world.create(virtualServer('next'));
    await world.waitForReason('next', 'CreateLimit', 'Reconciling');
    expect(world.simulator.ledger.creates()).toHaveLength(2);
  });

  it('counts those of the objects that exist if the journal is lost', async () => {
    const world = await afterTwoOrders();
    await world.startOperator({ journal: false });
    await readyServer(world, 'next');
    await world.create(virtualServer('last'));
    await world.waitForReason('last', 'CreateLimit', 'Reconciling');
    expect(world.simulator.ledger.creates()).toHaveLength(3);
  });
});
