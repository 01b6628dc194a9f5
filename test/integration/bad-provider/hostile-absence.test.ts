/** A 404 for something that exists: for one call, for all calls, for a task, temporarily or permanently. */
import { expect, it, vi } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { sent, stalled, triesWithGrowingPauses } from '../support/creates.ts';
import { condition, createWorld, type World, type WorldOptions } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const POLL = { route: '/beta/queue/vps/{task}' } as const;
const READ = { method: 'GET', route: '/beta/vps/servers/{identifier}' } as const;
const DELETE = { method: 'DELETE', route: '/beta/vps/servers/{identifier}' } as const;
const NOT_FOUND = { kind: 'status', status: 404 } as const;

async function readyWorld(options: WorldOptions): Promise<World> {
  const world = await createWorld(options);
  await world.create(virtualServer('web'));
  await world.waitForReason('web', 'Available', 'Ready');
  return world;
}

async function expectCancelledOnce(world: World): Promise<void> {
  await world.waitGone('web');
  expect(world.simulator.ledger.cancels()).toHaveLength(1);
  expect(world.simulator.aliveServers()).toEqual([]);
  expect(sent(world)).toHaveLength(1);
}

it.concurrent(
  'holds an object when every DELETE answers 404 but the server can be read',
  async ({ onTestFinished }) => {
    const world = await readyWorld({ onTestFinished });
    const from = Date.now();
    const fault = world.simulator.faults.inject({ match: DELETE, times: Infinity, action: NOT_FOUND });
    await world.delete('web');
    const held = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
    expect(condition(held, 'Reconciling')?.message).toContain('answered 404 for a server that it shows');
    expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
    await world.until(() => fault.count > 1, 'another try');
    expect(fault.count).toBeLessThanOrEqual(triesWithGrowingPauses(world, from));
    fault.remove();
    await expectCancelledOnce(world);
  },
);

it.concurrent('does not release an object when a 404 ends before the list is read', async ({ onTestFinished }) => {
  const world = await readyWorld({ onTestFinished });
  world.simulator.faults.inject({ match: DELETE, action: NOT_FOUND });
  await world.delete('web');
  await expectCancelledOnce(world);
});

it.concurrent('does not report a single 404 for a running server', async ({ onTestFinished }) => {
  const world = await readyWorld({ flags: ['--resync-interval=100ms'], onTestFinished });
  const fault = world.simulator.faults.inject({ match: READ, action: NOT_FOUND });
  await fault.met;
  await world.visited('web');
  expect(condition(await world.waitForReason('web', 'Available', 'Ready'), 'Stalled')).toBeUndefined();
  expect(world.log.filter(({ reason }) => reason === 'AbsenceUnproven')).toEqual([]);
});

it.concurrent(
  'holds a deleted object while everything answers 404, until the URL is right again',
  async ({ onTestFinished }) => {
    const world = await readyWorld({ onTestFinished });
    const fault = world.simulator.faults.inject({ times: Infinity, action: NOT_FOUND });
    await world.delete('web');
    const held = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(stalled(held).message).toContain('Check the base URL');
    expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
    fault.remove();
    await expectCancelledOnce(world);
  },
);

it.concurrent('adopts the server of a task that vanished for good once it can be read', async ({ onTestFinished }) => {
  const world = await createWorld({ simulator: { taskDurationMs: Infinity }, onTestFinished });
  await world.create(virtualServer('web'));
  await world.waitFor('web', ({ status }) => status?.record?.identifier !== undefined);
  const asked = (): number => world.simulator.ledger.requests({ ...POLL, status: 404 }).length;
  world.simulator.fleet.vanishTask(1001);
  const lost = await world.waitForReason('web', 'TaskNotFound', 'Stalled');
  expect(stalled(lost).message).toContain('The provider no longer knows task 1001');
  const [from, before] = [Date.now(), asked()];
  await world.until(() => asked() > before, 'another poll');
  // Each 404 is verified by a second call.
  expect(asked() - before).toBeLessThanOrEqual(2 * triesWithGrowingPauses(world, from));
  world.simulator.fleet.completeTask(1001);
  await world.waitForReason('web', 'Available', 'Ready');
  await world.delete('web');
  await expectCancelledOnce(world);
});

it.concurrent('follows a task that never ends, also for a deleted object', async ({ onTestFinished }) => {
  const world = await createWorld({ simulator: { taskDurationMs: Infinity }, onTestFinished });
  await world.create(virtualServer('web'));
  await world.waitFor('web', ({ status }) => status?.task?.message !== undefined);
  await world.delete('web');
  const held = await world.waitForReason('web', 'Deleting', 'Reconciling');
  expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
  await world.visited('web');
  expect(world.simulator.ledger.requests(DELETE)).toEqual([]);
  world.simulator.fleet.completeTask(1001);
  await expectCancelledOnce(world);
});
