/** The limit that stops runaway loops: a maximum number of creates per namespace and hour. */
import { describe, expect, it } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { condition, createWorld } from '../support/world.ts';

const NAMES = ['one', 'two', 'three', 'four'];

describe('--max-creates-per-hour', () => {
  it('lets two of four objects order and reports CreateLimit on the others', async () => {
    const world = await createWorld({ flags: ['--max-creates-per-hour=2'] });
    await Promise.all(NAMES.map((name) => world.create(virtualServer(name))));
    const settled = await Promise.all(
      NAMES.map((name) =>
        world.waitFor(name, (object) =>
          ['Available', 'CreateLimit'].includes(condition(object, 'Ready')?.reason ?? ''),
        ),
      ),
    );
    const reasons = settled.map((object) => condition(object, 'Ready')?.reason).sort();
    expect(reasons).toEqual(['Available', 'Available', 'CreateLimit', 'CreateLimit']);
    for (const name of NAMES) await world.visited(name);
    expect(world.simulator.ledger.creates()).toHaveLength(2);
  });

  it('does not count creates that the provider refused', async () => {
    const world = await createWorld({ flags: ['--max-creates-per-hour=2'] });
    const refusal = world.simulator.faults.inject({
      match: { method: 'POST', route: '/beta/vps/servers' },
      times: 2,
      action: { kind: 'status', status: 400 },
    });
    for (const name of ['one', 'two']) await world.create(virtualServer(name));
    for (const name of ['one', 'two']) await world.waitForReason(name, 'CreateRejected', 'Stalled');
    await refusal.met;
    for (const name of ['three', 'four']) await world.create(virtualServer(name));
    for (const name of ['three', 'four']) await world.waitForReason(name, 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(2);
  });

  it('counts a create whose server was deleted at once', async () => {
    const world = await createWorld({ flags: ['--max-creates-per-hour=1'] });
    await world.create(virtualServer('one'));
    await world.waitForReason('one', 'Available', 'Ready');
    await world.delete('one');
    await world.waitGone('one');
    await world.create(virtualServer('one'));
    await world.waitForReason('one', 'CreateLimit', 'Ready');
    await world.visited('one');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});
