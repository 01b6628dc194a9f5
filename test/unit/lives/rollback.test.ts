/** The simulation's model of an etcd that is restored from a backup while an operator runs. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { Timers } from '../../../src/base/timers.ts';
import { createInformer } from '../../../src/controller/informer.ts';
import { ApiServer } from '../../lives/api-server.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { SimKubeHttp } from '../../lives/kube-http.ts';
import { keyOf } from '../../lives/object-store.ts';
import { Random } from '../../lives/random.ts';
import { Scheduler } from '../../lives/scheduler.ts';
import { CALM } from '../../lives/weather.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';

const MINUTE = 60_000;

/**
 * Three objects: one that exists in the backup and changes later, one that is deleted later, and one that is created
 * later.
 */
function setUp() {
  const scheduler = new Scheduler(0);
  const random = new Random(1);
  const api = new ApiServer(() => scheduler.now);
  const network = { scheduler, random, kube: { ...CALM }, provider: { ...CALM }, silentSsh: 0 };
  const told: string[] = [];
  const timers: Timers = {
    now: () => scheduler.now,
    monotonic: () => scheduler.now,
    set: (fn, ms) => scheduler.after(ms, fn),
    clear: (handle) => scheduler.cancel(handle as object),
    random: random.next,
  };
  const http = new SimKubeHttp({ network, api, owner: {}, staleBy: 0 });
  const informer = createInformer(VIRTUAL_SERVERS, { http, namespaces: 'all', timers });
  informer.subscribe({
    onUpsert: (key, { metadata }) => told.push(`upsert ${key} ${metadata.resourceVersion}`),
    onGone: (key) => told.push(`gone ${key}`),
    onList: () => (version, listed) => told.push(`listed ${version} ${listed.length}`),
  });
  for (const name of ['changes', 'goes']) api.create('a', virtualServer(name));
  const backup = api.servers.changes.length;
  const atBackup = api.servers.list();
  api.secrets.create({ metadata: { namespace: 'a', name: 'late' }, type: 'Opaque', data: {} }, 'person');
  api.servers.annotate('a', 'changes', { x: 'y' });
  api.servers.delete('a', 'goes');
  api.create('a', virtualServer('comes'));
  informer.start();
  const pass = (ms: number): Promise<void> => scheduler.run(scheduler.now + ms, () => undefined);
  return { api, informer, backup, atBackup, told, pass };
}

describe('a restore of etcd', () => {
  it('restores objects, Secrets and versions', () => {
    const { api, backup, atBackup } = setUp();
    api.rollBack(backup);
    expect(api.servers.list()).toEqual(atBackup);
    expect(api.servers.listAt(api.servers.changes.length)).toEqual(atBackup);
    expect(api.secrets.list()).toEqual([]);
    expect(api.version).toBe('102');
    expect(api.servers.annotate('a', 'changes', { x: 'z' }).metadata.resourceVersion).toBe('103');
    expect(api.create('a', virtualServer('comes')).metadata.uid).toBe('uid-4');
  });

  it('shows in the cache after a list, within three minutes, and not before', async () => {
    const { api, informer, backup, told, pass } = setUp();
    await pass(MINUTE);
    told.length = 0;
    api.rollBack(backup);
    await pass(3 * MINUTE);
    // One of the lists only read the version.
    const changed = ['gone a/comes', 'upsert a/changes 101', 'upsert a/goes 102'];
    expect(told.slice(told.indexOf('listed 102 2')).slice(0, 4)).toEqual(['listed 102 2', ...changed]);
    const keys = (objects: VirtualServer[]): string[] => objects.map(keyOf).sort();
    expect(keys(informer.list())).toEqual(keys(api.servers.list()));
    api.servers.annotate('a', 'changes', { x: 'z' });
    await pass(MINUTE);
    expect(informer.get('a/changes')?.metadata.resourceVersion).toBe('103');
  });
});
