/** The maximum number of servers per namespace: the operator's own limit. */
import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer } from '../support/records.ts';
import { condition, createWorld } from '../support/world.ts';

const NAMES = ['one', 'two', 'three', 'four', 'five'];
const TWO = ['--max-servers-per-namespace=2'];

describe('--max-servers-per-namespace', () => {
  it('orders two of five at once, and another when one is deleted', async () => {
    const world = await createWorld({ flags: TWO });
    await Promise.all(NAMES.map((name) => world.create(virtualServer(name))));
    const settled = await Promise.all(
      NAMES.map((name) =>
        world.waitFor(name, (object) =>
          ['Available', 'ServerLimit'].includes(condition(object, 'Ready')?.reason ?? ''),
        ),
      ),
    );
    const ready = settled.filter((object) => condition(object, 'Ready')?.status === 'True');
    expect(ready).toHaveLength(2);
    expect(world.simulator.ledger.creates()).toHaveLength(2);
    const parked = settled.filter((object) => !ready.includes(object));
    for (const object of parked) expect(condition(object, 'Stalled')?.message).toContain('--max-servers-per-namespace');
    await world.delete(ready[0]?.metadata.name ?? '');
    await world.until(() => world.simulator.ledger.creates().length === 3, 'a third order');
    for (const name of NAMES) if (name !== ready[0]?.metadata.name) await world.visited(name);
    expect(world.simulator.aliveServers()).toHaveLength(2);
  });

  it('counts servers from before a restart', async () => {
    const world = await createWorld({ flags: TWO });
    for (const name of ['one', 'two']) await readyServer(world, name);
    await world.stopOperator();
    await world.create(virtualServer('three'));
    await world.startOperator();
    await world.waitForReason('three', 'ServerLimit', 'Stalled');
    expect(world.simulator.ledger.creates()).toHaveLength(2);
  });

  it('counts an adopted server, but never prevents an adoption', async () => {
    const world = await createWorld({ flags: TWO });
    for (const name of ['one', 'two']) await readyServer(world, name);
    const { identifier } = world.simulator.fleet.addServer('default');
    await world.create(virtualServer('three', withAnnotations({ [ADOPT_ANNOTATION]: identifier })));
    await world.waitForReason('three', 'Available', 'Ready');
    await world.create(virtualServer('four'));
    await world.waitForReason('four', 'ServerLimit', 'Stalled');
    expect(world.simulator.ledger.creates()).toHaveLength(2);
  });

  it('counts a retained server until it is adopted again', async () => {
    const world = await createWorld({ flags: ['--max-servers-per-namespace=1'] });
    await world.create(virtualServer('one', withSpec({ deletionPolicy: 'Retain' })));
    const one = await world.waitForReason('one', 'Available', 'Ready');
    const identifier = one.status?.identifier ?? '';
    await world.delete('one');
    await world.waitGone('one');
    await world.create(virtualServer('two'));
    await world.waitForReason('two', 'ServerLimit', 'Stalled');
    expect(world.simulator.aliveServers()).toHaveLength(1);
    await world.create(virtualServer('three', withAnnotations({ [ADOPT_ANNOTATION]: identifier })));
    await world.waitForReason('three', 'Available', 'Ready');
    await world.delete('three');
    await world.waitForReason('two', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(2);
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });
});
