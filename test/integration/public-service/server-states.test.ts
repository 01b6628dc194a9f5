/** What the public service says of a server that does not run. */
import { expect, it, vi } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { publicWorld, totals } from '../support/public-service.ts';
import { readyServer } from '../support/records.ts';
import { condition } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

it.concurrent.for(['shut down', 'paused', 'Shutting Down'])(
  'a server with status "%s" is not Ready, and is again once it runs',
  async (status, context) => {
    const world = await publicWorld(context, { flags: ['--resync-interval=150ms'] });
    const { status: shown } = await readyServer(world, 'web');
    world.simulator.fleet.updateServer(shown?.identifier ?? '', { status });
    const stopped = await world.waitForReason('web', 'ServerNotRunning', 'Ready');
    expect(stopped.status?.serverStatus).toBe(status);
    expect(condition(stopped, 'Ready')).toMatchObject({ status: 'False' });
    expect(condition(stopped, 'Ready')?.message).toContain(`status "${status}"`);
    world.simulator.fleet.updateServer(shown?.identifier ?? '', { status: 'Running' });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  },
);

it.concurrent('a new server that is paused before it runs is Ready once it runs', async (context) => {
  const world = await publicWorld(context, { variants: { pausedMs: 1_000 } });
  await world.create(virtualServer('web'));
  await world.waitForReason('web', 'ServerNotRunning', 'Ready');
  await world.waitForReason('web', 'Available', 'Ready');
  expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
});
