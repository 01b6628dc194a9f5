/** Servers that the public service denies with a 403: gone, never there, or not readable while their tasks run. */
import { describe, expect, it, vi } from 'vitest';
import { CHOICES } from '../../../src/simulator/index.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { named, publicWorld, totals } from '../support/public-service.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { condition } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const SOON = { flags: ['--resync-interval=150ms'] };

describe.concurrent('a server that vanishes under its object', () => {
  it.for(CHOICES.readDenied)(
    'is missing after two denials with %s that the list confirms',
    async (readDenied, context) => {
      const world = await publicWorld(context, { ...SOON, variants: { readDenied } });
      const { status } = await readyServer(world, 'web');
      world.simulator.fleet.removeServer(status?.identifier ?? '');
      const missing = await world.waitForReason('web', 'ServerMissing', 'Stalled');
      expect(recordOf(missing).missingAt).toBeDefined();
      const told = async (): Promise<string[]> => (await world.events('web')).map(({ reason }) => reason);
      await world.until(async () => (await told()).includes('ServerMissing'), 'the Events');
      const reasons = await told();
      expect(reasons.indexOf('AbsenceUnproven')).toBeGreaterThanOrEqual(0);
      expect(reasons.indexOf('AbsenceUnproven')).toBeLessThan(reasons.indexOf('ServerMissing'));
      const lists = world.simulator.ledger.requests({ method: 'GET', route: '/beta/vps/servers', status: 200 });
      expect(lists.length).toBeGreaterThanOrEqual(2);

      await world.delete('web');
      await world.waitGone('web');
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 0 });
    },
  );

  it('stays, and its deletion waits, while the list of servers still has it', async (context) => {
    const world = await publicWorld(context, SOON);
    await readyServer(world, 'web');
    world.simulator.provider.falsify({ route: '/beta/vps/servers/{identifier}', status: 403, says: 'does-not-exist' });
    const unseen = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(condition(unseen, 'Stalled')?.message).toContain('list of servers');
    await world.delete('web');
    await world.visited('web');
    const kept = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(recordOf(kept).missingAt).toBeUndefined();
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
    world.simulator.provider.endLies();
    await world.waitGone('web');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 1, alive: 0 });
  });

  it('counts as cancelled when its object is deleted afterwards', async (context) => {
    const world = await publicWorld(context);
    const { status } = await readyServer(world, 'web');
    world.simulator.fleet.removeServer(status?.identifier ?? '');
    await world.delete('web');
    await world.waitGone('web');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 0 });
    await world.until(
      async () => (await world.events('web')).some(({ reason }) => reason === 'ServerGone'),
      'the Event that the server was gone',
    );
  });
});

describe.concurrent('the annotation adopt', () => {
  it('waits for a server that the provider denies, and adopts the right one', async (context) => {
    const world = await publicWorld(context);
    const { identifier } = world.simulator.fleet.addServer('default');
    await world.create(
      virtualServer('web', withAnnotations({ 'vps-operator.dev/adopt': 'nope' }), withSpec({ diskSize: 5120 })),
    );
    const parked = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(parked.status?.record?.identifier).toBeUndefined();
    await world.annotate('web', { adopt: identifier });
    const adopted = await world.waitForReason('web', 'Available', 'Ready');
    expect(recordOf(adopted)).toMatchObject({ mode: 'adopt', identifier });
    expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 1 });
    await world.delete('web');
    await world.waitGone('web');
    expect(totals(world)).toEqual({ ordered: 0, cancelled: 1, alive: 0 });
  });
});

describe.concurrent('a server whose task runs', () => {
  it.for(CHOICES.readDuringTask)(
    'is waited for when its task is forgotten and its reads answer %s, until it is Ready',
    async (readDuringTask, context) => {
      const world = await publicWorld(context, {
        variants: { readDuringTask },
        simulator: { taskDurationMs: Infinity },
      });
      await world.create(virtualServer('web'));
      const { task = 0, identifier: param = '' } = await named(world, 'web');
      const { fleet, ledger } = world.simulator;
      fleet.vanishTask(Number(task));
      const reads = () => ledger.requests({ method: 'GET', route: '/beta/vps/servers/{identifier}', param });
      await world.until(() => reads().length >= 3, 'reads of the server');
      expect((await world.get('web'))?.status?.record?.missingAt).toBeUndefined();
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
      fleet.completeTask(Number(task));
      await world.waitForReason('web', 'Available', 'Ready');
      await world.delete('web');
      await world.waitGone('web');
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 1, alive: 0 });
    },
  );

  it.for(CHOICES.deleteDuringTask)(
    'is cancelled once its task has ended, where a DELETE before that gets %s',
    async (deleteDuringTask, context) => {
      const world = await publicWorld(context, { variants: { deleteDuringTask } });
      world.simulator.fleet.setTaskDuration(Infinity);
      await world.create(virtualServer('web'));
      await world.waitForReason('web', 'Creating');
      await world.delete('web');
      await world.waitForReason('web', 'Deleting');
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
      world.simulator.fleet.completeTask(world.simulator.ledger.creates()[0]?.task ?? 0);
      await world.waitGone('web');
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 1, alive: 0 });
    },
  );
});
