/** spec.changePolicy: what a change of spec does to the server, against a real API server and the public API. */
import { describe, expect, it, vi } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { withSpec } from '../../fixtures/virtual-server.ts';
import { SERVER, publicWorld } from '../support/public-service.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { condition, createWorld, type World } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const SOON = { flags: ['--resync-interval=1s', '--poll-interval=1s'] };
const ONLINE = { changePolicy: 'Online' } as const;
const STOP = { changePolicy: 'AllowStop' } as const;

const identifierOf = ({ status }: VirtualServer): string => status?.identifier ?? '';
const pending = (object: VirtualServer): string | undefined => condition(object, 'ChangePending')?.reason;
const sentTo = ({ simulator }: World): unknown[] => simulator.ledger.changes().map(({ body }) => body);
const switches = ({ simulator }: World): string[] => simulator.ledger.power().map(({ call }) => call);

/** Waits until a new process of the operator has read the server twice. */
async function readByNewProcess(world: World): Promise<void> {
  await world.stopOperator();
  const reads = (): number => world.simulator.ledger.requests({ method: 'GET', route: SERVER }).length;
  const before = reads();
  await world.startOperator();
  await world.until(() => reads() >= before + 2, 'the reads');
}

/** Waits until server and spec agree, the server runs, and the record is clear. */
const settled = (world: World, holds: (object: VirtualServer) => boolean): Promise<VirtualServer> =>
  world.waitFor(
    'web',
    (object) =>
      holds(object) &&
      pending(object) === undefined &&
      condition(object, 'Ready')?.reason === 'Available' &&
      recordOf(object).change === undefined,
  );

/** The notes of its Events with this reason. */
async function told({ http, namespace }: World, reason: string): Promise<string[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const { items } = (await http.call({ path })) as { items: { reason: string; note: string }[] };
  return items.filter((event) => event.reason === reason).map(({ note }) => note);
}

describe.concurrent('with changePolicy Online', () => {
  it('product, disk and name change while the server runs', async (context) => {
    const world = await publicWorld(context, SOON);
    await readyServer(world, 'web', withSpec(ONLINE));
    await world.patch('web', { spec: { product: 'VPSX8', diskSize: 20480, serverName: 'shop' } });
    const changed = await settled(world, ({ status }) => status?.product === 'VPSX8');
    expect(changed.status).toMatchObject({ specs: { diskSize: 20480, ram: 2048 }, name: 'shop', price: 1631 });
    expect(sentTo(world)).toEqual([{ product: 'VPSX8', name: 'shop', specs: { disk_size: 20480 } }]);
    expect(switches(world)).toEqual([]);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    const says = `The change of server ${identifierOf(changed)} (product VPSX8, serverName shop, diskSize 20480) has ended. The provider shows product VPSX8, diskSize 20480, price 1631.00`;
    await vi.waitFor(async () => expect(await told(world, 'ServerChanged')).toEqual([says]), 30_000);
  });

  it('a change of the policy and of a field in one write counts', async (context) => {
    const world = await publicWorld(context, SOON);
    await readyServer(world, 'web');
    await expect(world.patch('web', { spec: { product: 'VPSX8' } })).rejects.toThrow(
      '. spec.changePolicy: Online lets spec.product change in place',
    );
    await world.patch('web', { spec: { product: 'VPSX8', ...ONLINE } });
    await settled(world, ({ status }) => status?.product === 'VPSX8');
  });

  it('what needs the server off stays locked, and so does a smaller disk', async (context) => {
    const world = await publicWorld(context, SOON);
    await readyServer(world, 'web', withSpec(ONLINE));
    await expect(world.patch('web', { spec: { diskSize: 5120 } })).rejects.toThrow('. A disk can only get larger');
    await expect(world.patch('web', { spec: { advanced: { tablet: false } } })).rejects.toThrow(
      '. spec.changePolicy: AllowStop lets spec.advanced change in place',
    );
    await expect(world.patch('web', { spec: { zone: 'lon' } })).rejects.toThrow('spec.zone, which the order sent');
    expect(sentTo(world)).toEqual([]);
  });

  it('a change is not sent again while the provider takes its time', async (context) => {
    const world = await publicWorld(context, { ...SOON, variants: { changeTakesMs: 4_000 } });
    await readyServer(world, 'web', withSpec(ONLINE));
    await world.patch('web', { spec: { product: 'VPSX8' } });
    const waiting = await world.waitFor('web', (object) => pending(object) === 'Changing');
    expect(condition(waiting, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    await settled(world, ({ status }) => status?.product === 'VPSX8');
    expect(sentTo(world)).toEqual([{ product: 'VPSX8' }]);
  });

  it('a refusal is quoted, and not repeated until the change is another one', async (context) => {
    const world = await publicWorld(context, SOON);
    await readyServer(world, 'web', withSpec(ONLINE));
    await world.patch('web', { spec: { product: 'unknown' } });
    const refused = await world.waitFor('web', (object) => pending(object) === 'ChangeRefused');
    expect(condition(refused, 'ChangePending')?.message).toContain('Invalid product');
    const patches = () => world.simulator.ledger.requests({ method: 'PATCH' }).length;
    expect(patches()).toBe(1);
    await readByNewProcess(world);
    await world.patch('web', { spec: { product: 'VPSX8' } });
    await settled(world, ({ status }) => status?.product === 'VPSX8');
    expect(patches()).toBe(2);
  });

  it('a resize that waits for a restart is told', async (context) => {
    const world = await publicWorld(context, { ...SOON, variants: { changes: 'at-restart' } });
    const before = await readyServer(world, 'web', withSpec(ONLINE));
    await world.patch('web', { spec: { product: 'VPSX16' } });
    await world.waitFor('web', (object) => pending(object) === 'RestartPending');
    expect(switches(world)).toEqual([]);
    world.simulator.fleet.switch('default', identifierOf(before), 'reboot');
    await settled(world, ({ status }) => status?.product === 'VPSX16');
    expect(sentTo(world)).toHaveLength(1);
  });

  it('the price limit holds the change, and the server is not touched', async (context) => {
    const flags = [...SOON.flags, '--max-price-per-namespace=2000'];
    const world = await publicWorld(context, { flags });
    await readyServer(world, 'web', withSpec(ONLINE));
    await world.patch('web', { spec: { product: 'VPSX16' } });
    const held = await world.waitFor('web', (object) => pending(object) === 'ChangeLimited');
    expect(condition(held, 'ChangePending')?.message).toContain('--max-price-per-namespace');
    expect(sentTo(world)).toEqual([]);
    await world.patch('web', { spec: { product: 'VPSX8' } });
    await settled(world, ({ status }) => status?.product === 'VPSX8');
  });

  it('a provider with the documented calls only cannot change servers, which is told', async (context) => {
    const world = await createWorld({ ...SOON, onTestFinished: context.onTestFinished });
    await readyServer(world, 'web', withSpec(ONLINE));
    await world.patch('web', { spec: { product: 'VPSX8' } });
    await world.waitFor('web', (object) => pending(object) === 'ChangeUnavailable');
    await world.patch('web', { spec: { product: 'VPSX4' } });
    await settled(world, ({ status }) => status?.product === 'VPSX4');
    expect(world.simulator.ledger.requests({ method: 'PATCH' })).toHaveLength(1);
  });
});

describe.concurrent('with changePolicy AllowStop', () => {
  it('the server is shut down, changed and started again', async (context) => {
    const world = await publicWorld(context, { ...SOON, variants: { shutdownMs: 300 } });
    await readyServer(world, 'web', withSpec(STOP));
    await world.patch('web', { spec: { product: 'VPSX8', advanced: { cpuMode: 'Compatibility', tablet: false } } });
    await settled(world, ({ status }) => status?.product === 'VPSX8');
    expect(sentTo(world)).toEqual([{ product: 'VPSX8', cpu_mode: 'compatibility', tablet: false }]);
    expect(switches(world)).toEqual(['shutdown', 'power-on']);
  });

  it('what needs no stop causes none', async (context) => {
    const world = await publicWorld(context, SOON);
    await readyServer(world, 'web', withSpec(STOP));
    await world.patch('web', { spec: { diskSize: 20480 } });
    await settled(world, ({ status }) => status?.specs?.diskSize === 20480);
    expect(switches(world)).toEqual([]);
  });

  it('a resize that waits for a restart gets one', async (context) => {
    const world = await publicWorld(context, { ...SOON, variants: { changes: 'at-restart' } });
    await readyServer(world, 'web', withSpec(STOP));
    await world.patch('web', { spec: { product: 'VPSX16' } });
    await settled(world, ({ status }) => status?.product === 'VPSX16');
    expect(switches(world)).toEqual(['shutdown', 'power-on']);
    expect(sentTo(world)).toHaveLength(1);
  });

  it('a server whose change is refused runs again, and is not stopped a second time', async (context) => {
    const world = await publicWorld(context, SOON);
    const before = await readyServer(world, 'web', withSpec(STOP));
    await world.patch('web', { spec: { product: 'unknown', advanced: { tablet: false } } });
    await world.waitFor(
      'web',
      (object) => pending(object) === 'ChangeRefused' && condition(object, 'Ready')?.reason === 'Available',
    );
    await readByNewProcess(world);
    await world.waitFor('web', (object) => recordOf(object).change?.phase === undefined);
    expect(switches(world)).toEqual(['shutdown', 'power-on']);
    expect(world.simulator.fleet.find('default', identifierOf(before))?.object.status).toBe('running');
  });

  it('a guest that ignores the shutdown is told, and never forced', async (context) => {
    const world = await publicWorld(context, { ...SOON, variants: { shutdown: 'ignored' } });
    const before = await readyServer(world, 'web', withSpec(STOP));
    await world.patch('web', { spec: { advanced: { tablet: false } } });
    const waiting = await world.waitFor('web', (object) => recordOf(object).change?.phase === 'stop');
    expect(condition(waiting, 'Ready')?.status).toBe('True');
    await world.until(() => switches(world).length === 1, 'the shutdown');
    expect(sentTo(world)).toEqual([]);
    // You shut it down from inside.
    world.simulator.fleet.updateServer(identifierOf(before), { status: 'shut down' });
    await settled(world, () => true);
    expect(switches(world)).toEqual(['shutdown', 'power-on']);
    expect(sentTo(world)).toEqual([{ tablet: false }]);
  });

  it('a retained server runs again before its object goes', async (context) => {
    const world = await publicWorld(context, { ...SOON, variants: { shutdownMs: 3_000 } });
    const before = await readyServer(world, 'web', withSpec({ ...STOP, deletionPolicy: 'Retain' }));
    await world.patch('web', { spec: { advanced: { tablet: false } } });
    await world.until(() => switches(world).length === 1, 'the shutdown');
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.fleet.find('default', identifierOf(before))?.object.status).toBe('running');
    expect(sentTo(world)).toEqual([]);
  });
});
