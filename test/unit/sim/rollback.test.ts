/** The simulation's model of an etcd that is restored from a backup under a running operator. */
import { describe, expect, it } from 'vitest';
import { ApiServer, keyOf } from '../../sim/api-server.ts';
import { SimInformer } from '../../sim/informer.ts';
import { Random } from '../../sim/random.ts';
import { Scheduler } from '../../sim/scheduler.ts';
import { CALM } from '../../sim/weather.ts';
import { virtualServer } from '../../gen/virtual-server.ts';

const MINUTE = 60_000;

/** Versions, by name, of an object that is there in the backup and changes later, of one that goes, and of one that comes. */
function setUp() {
  const scheduler = new Scheduler(0);
  const random = new Random(1);
  const api = new ApiServer(() => scheduler.now);
  const network = { scheduler, random, kube: { ...CALM }, service: { ...CALM }, silentSsh: 0 };
  const told: string[] = [];
  const informer = new SimInformer(network, api, {}, 0);
  informer.subscribe({
    onUpsert: (key, { metadata }) => told.push(`upsert ${key} ${metadata.resourceVersion}`),
    onGone: (key) => told.push(`gone ${key}`),
    onList: () => (version) => told.push(`listed ${version}`),
  });
  for (const name of ['changes', 'goes']) api.create('a', virtualServer(name));
  const backup = api.changes.length;
  const atBackup = api.list();
  api.secrets.create({ metadata: { namespace: 'a', name: 'late' }, type: 'Opaque', data: {} }, 'person');
  api.annotate('a', 'changes', { x: 'y' });
  api.delete('a', 'goes');
  api.create('a', virtualServer('comes'));
  informer.start();
  const pass = (ms: number): Promise<void> => scheduler.run(scheduler.now + ms, () => undefined);
  return { api, informer, backup, atBackup, told, pass };
}

describe('a restore of etcd', () => {
  it('brings objects, Secrets and versions back', () => {
    const { api, backup, atBackup } = setUp();
    api.rollBack(backup);
    expect(api.list()).toEqual(atBackup);
    expect(api.listAt(api.changes.length)).toEqual(atBackup);
    expect(api.secrets.list()).toEqual([]);
    expect(api.version).toBe('102');
    expect(api.annotate('a', 'changes', { x: 'z' }).metadata.resourceVersion).toBe('103');
    expect(api.create('a', virtualServer('comes')).metadata.uid).toBe('uid-4');
  });

  it('shows in the cache after a list, within three minutes, and not before', async () => {
    const { api, informer, backup, told, pass } = setUp();
    await pass(MINUTE);
    told.length = 0;
    api.rollBack(backup);
    await pass(3 * MINUTE);
    expect(told.slice(0, 4)).toEqual(['listed 102', 'gone a/comes', 'upsert a/changes 101', 'upsert a/goes 102']);
    const keys = (objects: ReturnType<typeof api.list>): string[] => objects.map(keyOf).sort();
    expect(keys(informer.list())).toEqual(keys(api.list()));
    api.annotate('a', 'changes', { x: 'z' });
    await pass(MINUTE);
    expect(informer.get('a/changes')?.metadata.resourceVersion).toBe('103');
  });
});
