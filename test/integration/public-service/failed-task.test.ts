/** Orders that the provider accepts and that fail later: no second server, and no server without an object. */
import { describe, expect, it, vi } from 'vitest';
import type { FaultAction } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { attemptOf, stalled } from '../support/creates.ts';
import { named, orderIn, publicWorld, TASK, totals, WAYS, type Way } from '../support/public-service.ts';
import { recordOf } from '../support/records.ts';
import { condition, createWorld, type World } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const TEXT = 'No host has room for this product';

type Failure = Omit<Extract<FaultAction, { kind: 'failTask' }>, 'kind'>;

/** Orders the server of `web`, whose task names the server and then fails. Tasks of later orders end. */
async function orderFails(world: World, options: Failure = {}): Promise<void> {
  const { fleet } = world.simulator;
  fleet.setTaskDuration(Infinity);
  await world.create(virtualServer('web'));
  const { task = 0 } = await named(world, 'web');
  fleet.setTaskDuration(100);
  fleet.failTask(Number(task), { text: TEXT, ...options });
}

/** Orders the server of `web`, whose task fails before an answer. */
async function orderFailsAtOnce(world: World, way: Way, options: Failure): Promise<void> {
  world.simulator.faults.inject({ match: orderIn(way), action: { kind: 'failTask', text: TEXT, ...options } });
  await world.create(virtualServer('web'));
}

const reasonsOf = async (world: World): Promise<string[]> => (await world.events('web')).map(({ reason }) => reason);
const fates = ({ simulator }: World): string[] => simulator.fleet.history().map(({ state }) => state);

async function deleted(world: World): Promise<void> {
  await world.delete('web');
  await world.waitGone('web');
}

describe.for(WAYS)(
  'the task of a %s order that fails, at a service with a list of servers',
  { concurrent: true },
  (orders) => {
    it.for(['error', 'error-then-denied'] as const)(
      'as %s is followed by one more order without a user',
      async (as, context) => {
        const world = await publicWorld(context, { orders });
        await orderFails(world, { as });
        const failed = await world.waitForReason('web', 'CreateFailed', 'Stalled');
        expect(stalled(failed).message.startsWith(`${TEXT}. The order failed (task 1001).`)).toBe(true);
        const waiting = await world.waitForReason('web', 'CreateBackOff', 'Reconciling');
        expect(condition(waiting, 'Reconciling')?.message).toContain(TEXT);
        expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 0 });

        await world.waitForReason('web', 'Available', 'Ready');
        const ready = await world.waitFor('web', (object) => recordOf(object).fingerprint !== undefined);
        const [first, second] = world.simulator.ledger.creates();
        expect(recordOf(ready)).toMatchObject({
          task: second?.task,
          identifier: second?.identifier,
          failed: [{ task: first?.task, identifier: first?.identifier, said: TEXT }],
        });
        expect(fates(world)).toEqual(['failed', 'running']);
        await deleted(world);
        expect(totals(world)).toEqual({ ordered: 2, cancelled: 1, alive: 0 });
      },
    );

    it.for([
      ['a reconcile request', (world: World) => world.annotate('web', { 'reconcile-at': 'now' })],
      ['a change of spec', (world: World) => world.patch('web', { spec: { product: 'VPSX8' } })],
    ] as const)('is followed by one more order at once after %s', async ([, ask], context) => {
      const world = await publicWorld(context, { orders });
      await orderFails(world);
      const waiting = await world.waitForReason('web', 'CreateBackOff', 'Reconciling');
      const retryAt = Date.parse(recordOf(waiting).failed?.at(-1)?.retryAt ?? '');
      await ask(world);
      await world.until(() => totals(world).ordered === 2, 'the next order');
      expect(world.simulator.ledger.creates()[1]?.at).toBeLessThan(retryAt);
      await world.waitForReason('web', 'Available', 'Ready');
      expect(fates(world)).toEqual(['failed', 'running']);
    });

    it('is remembered, and its server is an orphan if it appears after all', async (context) => {
      const world = await publicWorld(context, { orders, flags: ['--resync-interval=150ms'] });
      await orderFails(world);
      await world.waitForReason('web', 'CreateBackOff', 'Reconciling');
      await world.annotate('web', { 'reconcile-at': 'now' });
      await world.waitForReason('web', 'Available', 'Ready');
      const [first, second] = world.simulator.ledger.creates();
      world.simulator.fleet.reuseIdentifier(first?.identifier ?? '');
      const found = await world.waitForReason('web', 'OrphanedServer', 'OrphanedServer');
      expect(recordOf(found)).toMatchObject({
        identifier: second?.identifier,
        orphans: [{ task: first?.task, identifier: first?.identifier }],
      });
      expect(condition(found, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
      expect(totals(world)).toEqual({ ordered: 2, cancelled: 0, alive: 2 });
    });

    it('takes its server after all if the server appears before the next order', async (context) => {
      const world = await publicWorld(context, { orders });
      await orderFails(world);
      await world.waitForReason('web', 'CreateBackOff', 'Reconciling');
      const { identifier } = world.simulator.fleet.reuseIdentifier(
        world.simulator.ledger.creates()[0]?.identifier ?? '',
      );
      await world.annotate('web', { 'reconcile-at': 'now' });
      const ready = await world.waitForReason('web', 'Available', 'Ready');
      expect(ready.status?.identifier).toBe(identifier);
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
    });

    it('only seems to fail if its task continues after one error', async (context) => {
      const world = await publicWorld(context, { orders });
      await orderFailsAtOnce(world, orders, { as: 'error-then-pending' });
      await world.waitForReason('web', 'Available', 'Ready');
      expect(await reasonsOf(world)).not.toContain('CreateFailed');
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
    });

    it('orders nothing while the list still has the server, whatever the task says', async (context) => {
      const world = await publicWorld(context, { orders, simulator: { taskDurationMs: Infinity } });
      await world.create(virtualServer('web'));
      await named(world, 'web');
      world.simulator.provider.falsify({ route: TASK, status: 500 });
      const failed = await world.waitForReason('web', 'CreateFailed', 'Stalled');
      expect(stalled(failed).message).toMatch(/^Something went wrong\..*list of servers/);
      await world.visited('web');
      await world.waitForReason('web', 'CreateFailed', 'Stalled');
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
      world.simulator.provider.endLies();
      world.simulator.fleet.completeTask(world.simulator.ledger.creates()[0]?.task ?? 0);
      await world.annotate('web', { 'reconcile-at': 'again' });
      const ready = await world.waitForReason('web', 'Available', 'Ready');
      expect(recordOf(ready).createFailure).toBeUndefined();
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
    });

    it('asks you if it has named no server, and believes not-created at once', async (context) => {
      const world = await publicWorld(context, { orders });
      await orderFailsAtOnce(world, orders, { identifier: false });
      const failed = await world.waitForReason('web', 'CreateFailed', 'Stalled');
      const attempt = attemptOf(failed);
      expect(stalled(failed).message).toContain(`vps-operator.dev/not-created=${attempt}`);
      await world.visited('web');
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 0 });
      await world.annotate('web', { 'not-created': attempt ?? '' });
      await world.waitForReason('web', 'Available', 'Ready');
      expect(fates(world)).toEqual(['failed', 'running']);
    });

    it('ends the deletion of its object, which cancels nothing', async (context) => {
      const world = await publicWorld(context, { orders });
      await orderFails(world);
      await world.waitForReason('web', 'CreateFailed', 'Stalled');
      await deleted(world);
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 0 });
    });
  },
);

describe.concurrent('a task that fails, at a provider without a list of servers', () => {
  const documented = ({ onTestFinished }: Parameters<typeof publicWorld>[0]): Promise<World> =>
    createWorld({ onTestFinished, simulator: { variants: { failedTask: 'error' } }, flags: ['--absence-grace=2s'] });

  it('asks you, and orders again only after not-created', async (context) => {
    const world = await documented(context);
    await orderFails(world);
    const failed = await world.waitFor('web', (object) =>
      (condition(object, 'Stalled')?.message ?? '').includes('has no list of servers'),
    );
    const { message, reason } = stalled(failed);
    expect(reason).toBe('CreateFailed');
    expect(message.startsWith(`${TEXT}. The order failed (task 1001).`)).toBe(true);
    const attempt = attemptOf(failed);
    expect(message).toContain(`vps-operator.dev/not-created=${attempt}`);
    await world.annotate('web', { 'reconcile-at': 'now' });
    await world.visited('web');
    await world.waitForReason('web', 'CreateFailed', 'Stalled');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 0 });
    await world.annotate('web', { 'not-created': attempt ?? '' });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(fates(world)).toEqual(['failed', 'running']);
  });

  it('ends the deletion of its object once the absence of the server is proven', async (context) => {
    const world = await documented(context);
    await orderFails(world);
    await world.waitForReason('web', 'CreateFailed', 'Stalled');
    await deleted(world);
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 0 });
  });
});
