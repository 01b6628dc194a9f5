/**
 * A provider that answers nonsense: the operator reports it, loses nothing, and continues once the answers are valid.
 */
import { describe, expect, it } from 'vitest';
import type { FaultAction, Route } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { records, sent, stalled } from '../support/creates.ts';
import { condition, createWorld, type World } from '../support/world.ts';

const POLL = { method: 'GET', route: '/beta/queue/vps/{task}' } as const;
const READ = { method: 'GET', route: '/beta/vps/servers/{identifier}' } as const;
const DELETE = { method: 'DELETE', route: '/beta/vps/servers/{identifier}' } as const;

const NONSENSE: { name: string; action: FaultAction }[] = [
  { name: 'a page of HTML', action: { kind: 'garbage', form: 'html' } },
  { name: 'JSON that breaks off', action: { kind: 'garbage', form: 'text', text: '{"identifier": "vs' } },
  { name: 'a body of 50 MB', action: { kind: 'garbage', form: 'oversized', megabytes: 50 } },
  { name: 'an array', action: { kind: 'body', body: [] } },
  { name: 'a redirect', action: { kind: 'status', status: 302, headers: { location: 'http://127.0.0.1:9/' } } },
];

/** An object whose task runs until `finish` ends it. */
async function creatingWorld(): Promise<{ world: World; finish: () => void }> {
  const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
  await world.create(virtualServer('web'));
  const { status } = await world.waitFor('web', (object) => object.status?.record?.identifier !== undefined);
  return { world, finish: () => world.simulator.fleet.completeTask(status?.record?.task ?? 0) };
}

async function readyWorld(): Promise<World> {
  const world = await createWorld({ flags: ['--resync-interval=100ms'] });
  await world.create(virtualServer('web'));
  await world.waitForReason('web', 'Available', 'Ready');
  return world;
}

describe('a nonsense answer', () => {
  it.for(NONSENSE)('to a poll loses nothing: $name', async ({ action }) => {
    const { world, finish } = await creatingWorld();
    const before = await world.get('web');
    const fault = world.simulator.faults.inject({ match: POLL, times: Infinity, action });
    const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
    expect(records(parked)).toEqual(before && records(before));
    fault.remove();
    await world.annotate('web', { 'reconcile-at': 'now' });
    finish();
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });

  it.for(NONSENSE)('to a read leaves a Ready server Ready: $name', async ({ action }) => {
    const world = await readyWorld();
    const before = await world.get('web');
    const fault = world.simulator.faults.inject({ match: READ, times: Infinity, action });
    const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
    expect(condition(parked, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    const { conditions: _before, ...fields } = before?.status ?? {};
    expect(parked.status).toMatchObject(fields);
    fault.remove();
    await world.annotate('web', { 'reconcile-at': 'now' });
    await world.waitFor('web', (object) => condition(object, 'Stalled') === undefined, 'recovery');
  });

  it.for(NONSENSE.filter(({ action }) => action.kind !== 'status'))(
    'to a DELETE with status 200 counts as a cancellation: $name',
    async ({ action }) => {
      const world = await readyWorld();
      world.simulator.faults.inject({ match: DELETE, action });
      await world.delete('web');
      await world.waitGone('web');
      expect(world.simulator.ledger.cancels()).toHaveLength(1);
    },
  );

  it.for<Route>(['/beta/vps/products', '/beta/vps/images', '/beta/vps/disk-sizes'])(
    'to a list claims nothing: %s',
    async (route) => {
      const world = await createWorld();
      const action = { kind: 'garbage', form: 'html' } as const;
      const fault = world.simulator.faults.inject({ match: { route }, times: Infinity, action });
      await world.create(virtualServer('web'));
      const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
      expect(parked.metadata.finalizers).toBeUndefined();
      fault.remove();
      await world.waitForReason('web', 'Available', 'Ready');
      expect(sent(world)).toHaveLength(1);
    },
  );

  it('to the list that would confirm a missing server proves nothing', async () => {
    const world = await readyWorld();
    const action = { kind: 'status', status: 500 } as const;
    const fault = world.simulator.faults.inject({ match: { route: '/beta/vps/products' }, times: Infinity, action });
    world.simulator.fleet.removeServer((await world.get('web'))?.status?.identifier ?? '');
    await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
    await world.delete('web');
    await world.visited('web');
    const held = await world.waitForReason('web', 'ProviderUnavailable', 'Reconciling');
    expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
    fault.remove();
    await world.annotate('web', { 'reconcile-at': 'now' });
    await world.waitGone('web');
  });
});

describe('an implausible identifier', () => {
  it('of 1 KB is not stored, not even shortened, and the next valid one is stored', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    const long = (body: unknown): object => ({ ...(body as object), identifier: 'x'.repeat(1024) });
    const fault = world.simulator.faults.inject({ match: POLL, times: Infinity, action: { kind: 'body', body: long } });
    await world.create(virtualServer('web'));
    const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
    expect(stalled(parked).message).toContain('1024 characters');
    expect(records(parked).annotation.identifier).toBeUndefined();
    expect(records(parked).annotation.task).toBe(1001);
    fault.remove();
    world.simulator.fleet.completeTask(1001);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });

  it('that changes between two polls parks the order, and the operator keeps the first one', async () => {
    const { world, finish } = await creatingWorld();
    const before = await world.get('web');
    const other = (body: unknown): object => ({ ...(body as object), identifier: 'vs-of-others' });
    const fault = world.simulator.faults.inject({
      match: POLL,
      times: Infinity,
      action: { kind: 'body', body: other },
    });
    const parked = await world.waitForReason('web', 'TaskInUse', 'Stalled');
    expect(stalled(parked).message).toContain('now names server vs-of-others. Before, it named server vs1001');
    expect(records(parked)).toEqual(before && records(before));
    fault.remove();
    finish();
    await world.waitForReason('web', 'Available', 'Ready');
    expect((await world.get('web'))?.status?.identifier).toBe('vs1001');
  });

  it('in the answer of a completed task does not replace the one that the task named before', async () => {
    const { world, finish } = await creatingWorld();
    world.simulator.fleet.addServer('default', { identifier: 'vs-of-others' });
    const fault = world.simulator.faults.inject({
      match: { ...POLL, status: 303 },
      times: Infinity,
      action: {
        kind: 'status',
        status: 303,
        body: { identifier: 'vs-of-others' },
        headers: { location: `${world.simulator.baseUrl}/beta/vps/servers/vs-of-others` },
        after: true,
      },
    });
    finish();
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(ready.status?.identifier).toBe('vs1001');
    await world.delete('web');
    await world.waitGone('web');
    fault.remove();
    expect(world.simulator.aliveServers().map(({ identifier }) => identifier)).toEqual(['vs-of-others']);
  });

  it('in the answer to a read does not replace the identifier of the server', async () => {
    const world = await readyWorld();
    const other = (body: unknown): object => ({ ...(body as object), identifier: 'vs-of-others' });
    const fault = world.simulator.faults.inject({
      match: READ,
      times: Infinity,
      action: { kind: 'body', body: other },
    });
    const parked = await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
    expect(parked.status?.identifier).toBe('vs1001');
    fault.remove();
    await world.waitFor('web', (object) => condition(object, 'Stalled') === undefined, 'recovery');
  });

  it('with characters that are special in a path reaches the provider unchanged', async () => {
    const identifier = 'vs/../1?a=b#c%2F 名';
    const world = await createWorld({ simulator: { newIdentifier: () => identifier } });
    await world.create(virtualServer('web'));
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(ready.status?.identifier).toBe(identifier);
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels({ identifier })).toHaveLength(1);
  });
});
