/** Deletes an object at every stage of its life: its server is cancelled once, and nothing is left behind unnoticed. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { condition, createWorld } from '../support/world.ts';

const SERVER = '/beta/vps/servers/{identifier}';

describe('deleting an object before a server was ordered', () => {
  it('releases it without credentials', async () => {
    const world = await createWorld({ secret: false });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.requestCount).toBe(0);
  });

  it('releases it while its spec is invalid', async () => {
    const world = await createWorld();
    await world.create(virtualServer('web', withSpec({ product: 'vps-1bg' })));
    await world.waitForReason('web', 'InvalidSpec', 'Stalled');
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.creates()).toEqual([]);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });
});

describe('deleting an object while the task runs', () => {
  it('follows the task to its end, then cancels the server once', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    await world.create(virtualServer('web'));
    const running = await world.waitFor('web', ({ status }) => status?.record?.identifier !== undefined);
    await world.delete('web');
    const deleting = await world.waitForReason('web', 'Deleting', 'Ready');
    expect(condition(deleting, 'Ready')?.message).toContain('cancels the server as soon as its task ends');
    await world.visited('web');
    expect(world.simulator.ledger.requests({ method: 'DELETE' })).toEqual([]);

    world.simulator.fleet.completeTask(recordOf(running).task ?? 0);
    await world.waitGone('web');
    expect(world.simulator.ledger.requests({ method: 'DELETE' })).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('cancels the server when the task has vanished and the server can be read', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    await world.create(virtualServer('web'));
    const running = await world.waitFor('web', ({ status }) => status?.record?.identifier !== undefined);
    const { task = 0 } = recordOf(running);
    await world.delete('web');
    await world.waitForReason('web', 'Deleting', 'Ready');
    world.simulator.fleet.completeTask(task);
    world.simulator.fleet.vanishTask(task);
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('holds the object when the task has vanished without an identifier, until a user resolves it', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    world.simulator.faults.inject({
      match: { route: '/beta/queue/vps/{task}' },
      times: Infinity,
      action: { kind: 'status', status: 404 },
    });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'TaskNotFound', 'Stalled');
    await world.delete('web');
    await world.visited('web');
    const held = await world.waitForReason('web', 'TaskNotFound', 'Stalled');
    const { attempt = '' } = recordOf(held);
    expect(stalledMessage(held)).toContain(`vps-operator.dev/not-created=${attempt}`);
    expect(held.metadata.finalizers).toHaveLength(1);

    await world.annotate('web', { 'not-created': attempt });
    await world.waitGone('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.requests({ method: 'DELETE' })).toEqual([]);
  });
});

describe('deleting an object whose server is ready', () => {
  it('releases it when the server is already gone and the provider proves it', async () => {
    const world = await createWorld();
    const ready = await readyServer(world, 'web');
    world.simulator.fleet.removeServer(ready.status?.identifier ?? '');
    await world.delete('web');
    await world.waitGone('web');
    // No DELETE for a server that was read before: another server may have its identifier by now.
    expect(world.simulator.ledger.requests({ method: 'DELETE', route: SERVER })).toEqual([]);
    expect(world.simulator.ledger.requests({ method: 'GET', route: SERVER, status: 404 }).length).toBeGreaterThan(2);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('holds it when the provider answers 404 but fails otherwise', async () => {
    const world = await createWorld();
    const ready = await readyServer(world, 'web');
    world.simulator.fleet.removeServer(ready.status?.identifier ?? '');
    const sick = world.simulator.faults.inject({
      match: { route: '/beta/vps/products' },
      times: Infinity,
      action: { kind: 'status', status: 503 },
    });
    await world.delete('web');
    await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
    expect((await world.get('web'))?.metadata.finalizers).toHaveLength(1);
    sick.remove();
    await world.waitGone('web');
  });

  it.for([
    ['answered with 500', { kind: 'status', status: 500 }],
    ['reset', { kind: 'reset' }],
    ['not answered in time', { kind: 'hang' }],
    ['processed and its answer lost', { kind: 'drop', after: true }],
  ] as const)('cancels the server once when the first DELETE is %s', async ([, action]) => {
    const world = await createWorld({ flags: ['--provider-timeout=1s'] });
    await readyServer(world, 'web');
    const fault = world.simulator.faults.inject({ match: { method: 'DELETE', route: SERVER }, action });
    await world.delete('web');
    await fault.met;
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('uses the last good key when the Secret is gone, as in a namespace that is being deleted', async () => {
    const world = await createWorld({ flags: ['--resync-interval=200ms'] });
    await readyServer(world, 'web');
    await world.deleteSecret('vps-api-key');
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('says what to do when there is neither Secret nor remembered key, and cancels once it is back', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    await world.stopOperator();
    await world.deleteSecret('vps-api-key');
    await world.delete('web');
    await world.startOperator({ flags: ['--operator-namespace=vps-operator-system'] });
    const parked = await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    expect(stalledMessage(parked)).toContain(`${world.namespace}.vps-api-key in vps-operator-system`);
    expect(parked.metadata.finalizers).toHaveLength(1);
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });
});
