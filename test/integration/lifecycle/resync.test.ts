/** A Ready server is read again every resync interval: out-of-band changes show, and nothing is ordered again. */
import { describe, expect, it } from 'vitest';
import { withSpec } from '../../fixtures/virtual-server.ts';
import { startDetour } from '../support/process.ts';
import { readyServer, stalledMessage } from '../support/records.ts';
import { condition, createWorld, type World } from '../support/world.ts';

const OTHER_KEY = { keyId: 'other-key', secret: 'other-secret' };

const quick = () => createWorld({ flags: ['--resync-interval=150ms'] });

/** Waits until the server was read this many more times, each to the end of the reconcile. */
async function readAgain(world: World, times: number): Promise<void> {
  const reads = (): number => world.log.filter(({ step, error }) => step === 'look' && error === undefined).length;
  const before = reads();
  await world.until(() => reads() >= before + times, `${times} more reads`);
}

describe('a server that changes out of band', () => {
  it('has its fields refreshed', async () => {
    const world = await quick();
    const ready = await readyServer(world, 'web');
    world.simulator.fleet.updateServer(ready.status?.identifier ?? '', { ipv6: ['2001:db8::77'], price: 99 });
    const after = await world.waitFor('web', ({ status }) => status?.price === 99);
    expect(after.status?.ipv6).toEqual(['2001:db8::77']);
    expect(condition(after, 'Ready')).toEqual(condition(ready, 'Ready'));
  });

  it('is ServerMissing when it is gone, is not ordered again, and is Available when it is back', async () => {
    const world = await quick();
    const ready = await readyServer(world, 'web');
    const identifier = ready.status?.identifier ?? '';
    const gone = world.simulator.faults.inject({
      match: { route: '/beta/vps/servers/{identifier}' },
      times: Infinity,
      action: { kind: 'status', status: 404 },
    });
    const missing = await world.waitForReason('web', 'ServerMissing', 'Ready');
    expect(condition(missing, 'Ready')?.status).toBe('False');
    expect(stalledMessage(missing)).toContain(identifier);
    await world.visited('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    gone.remove();
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('is ServerNotVisible with the key of another account, and is neither ordered again nor released', async () => {
    const world = await createWorld({
      flags: ['--resync-interval=150ms'],
      simulator: {
        accounts: [
          { name: 'default', keys: [{ keyId: 'simulated-key', secret: 'simulated-secret' }] },
          { name: 'other', keys: [OTHER_KEY] },
        ],
      },
    });
    await readyServer(world, 'web');
    await world.putSecret('vps-api-key', OTHER_KEY);
    const invisible = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(condition(invisible, 'Ready')?.status).toBe('Unknown');
    await world.delete('web');
    await world.visited('web');
    expect((await world.get('web'))?.metadata.finalizers).toHaveLength(1);
    expect(world.simulator.ledger.creates()).toHaveLength(1);

    await world.putSecret('vps-api-key', { keyId: 'simulated-key', secret: 'simulated-secret' });
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('is ServerNotRunning with any other status, until it runs again', async () => {
    const world = await quick();
    const ready = await readyServer(world, 'web');
    world.simulator.fleet.updateServer(ready.status?.identifier ?? '', { status: 'stopped' });
    const stopped = await world.waitForReason('web', 'ServerNotRunning', 'Ready');
    expect(condition(stopped, 'Ready')).toMatchObject({ status: 'False' });
    expect(condition(stopped, 'Ready')?.message).toContain('"stopped"');
    expect(stopped.status?.serverStatus).toBe('stopped');
    world.simulator.fleet.updateServer(ready.status?.identifier ?? '', { status: 'running' });
    await world.waitForReason('web', 'Available', 'Ready');
  });

  it.for([
    ['product', { product: 'vps-8gb' }, 'product is vps-8gb instead of vps-1gb'],
    ['disk size', { specs: { cores: 1, ram: 1024, disk_size: 80, disk_type: 'ssd' } }, 'disk size is 80'],
    ['disk type', { specs: { cores: 1, ram: 1024, disk_size: 20, disk_type: 'hdd' } }, 'disk type is hdd'],
  ] as const)('is Drifted while its %s differs', async ([, patch, message]) => {
    const world = await quick();
    const ready = await readyServer(world, 'web');
    const identifier = ready.status?.identifier ?? '';
    world.simulator.fleet.updateServer(identifier, patch);
    const drifted = await world.waitForReason('web', 'Drifted', 'Drifted');
    expect(condition(drifted, 'Drifted')?.message).toContain(message);
    expect(condition(drifted, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    world.simulator.fleet.updateServer(identifier, {
      product: 'vps-1gb',
      specs: { cores: 1, ram: 1024, disk_size: 20, disk_type: 'ssd' },
    });
    await world.waitFor('web', (object) => condition(object, 'Drifted') === undefined);
  });
});

describe('a Ready server that does not change', () => {
  it('causes no write, however often it is read', async () => {
    const world = await createWorld({ operator: false });
    const { proxy, flag } = await startDetour(world);
    await world.startOperator({ flags: ['--resync-interval=150ms', flag] });
    const ready = await readyServer(world, 'web');
    // Events are written in the background, after the status.
    const told = async (): Promise<string[]> => (await world.events('web')).map(({ reason }) => reason);
    await expect.poll(told).toEqual(['Available']);
    await readAgain(world, 1);
    const from = proxy.requests.length;
    await readAgain(world, 4);
    const requests = proxy.requests.slice(from).filter((request) => !request.startsWith('GET '));
    expect(requests).toEqual([]);
    expect((await world.get('web'))?.metadata.resourceVersion).toBe(ready.metadata.resourceVersion);
  });

  it('is read at once when reconcile-at changes, and otherwise not before its time', async () => {
    const world = await createWorld();
    await readyServer(world, 'web', withSpec({ deletionPolicy: 'Retain' }));
    const reads = () => world.simulator.ledger.requests({ route: '/beta/vps/servers/{identifier}' }).length;
    const before = reads();
    await world.annotate('web', { 'reconcile-at': 'now' });
    await world.until(() => reads() === before + 1, 'the read');
    await world.visited('web');
    expect(reads()).toBe(before + 3);
  });
});
