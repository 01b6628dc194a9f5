import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { realTimers } from '../../../src/base/timers.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { observe, until, type Observed } from './informer-support.ts';
import { answerStatus, isList, isListLine, isWatch, startProxy, type FaultProxy } from '../kube/proxy.ts';
import { adminHttp, create, createNamespace, edit, manifest, remove } from '../kube/support.ts';

let admin: KubeHttp;
let http: KubeHttp;
let proxy: FaultProxy;
let namespace: string;
const running: Observed[] = [];

beforeEach(async () => {
  admin = adminHttp();
  proxy = await startProxy(loadCluster(inject('kubeconfigPath')));
  // No effective deadline: a call that stop() does not end would never end.
  http = createKubeHttp({ cluster: proxy.cluster, timeoutMs: 3_600_000 });
  namespace = await createNamespace(admin);
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(({ informer }) => informer.stop()));
  await Promise.all([http.close(), admin.close()]);
  await proxy.close();
});

async function start(...[options, handler]: [options?: Partial<Parameters<typeof observe>[1]>, handler?: object]) {
  const observed = observe(http, { namespaces: [namespace], ...options }, handler);
  running.push(observed);
  observed.informer.start();
  await observed.informer.synced();
  return observed;
}

const createMany = (...names: string[]) => Promise.all(names.map((name) => create(admin, namespace, manifest(name))));
const lists = () => proxy.requests.filter(isListLine);
const watches = () => proxy.requests.filter((line) => line.includes('watch=true'));
const fromVersion = (line: string | undefined) => Number(/resourceVersion=(\d+)/.exec(line ?? '')?.[1]);

describe('an informer', () => {
  it('lists in pages, and keeps what it needs of every object', async () => {
    const objects = await createMany('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
    const { informer, seen, holds } = await start({ pageSize: 3 });
    expect(holds(...objects)).toBe(true);
    expect(lists()).toHaveLength(3);
    expect(seen.map(({ kind, key, previous }) => [kind, key, previous])).toEqual(
      objects.map(({ metadata }) => ['upsert', `${namespace}/${metadata.name}`, undefined]),
    );
    expect(informer.get(`${namespace}/a`)?.spec).toEqual(objects[0]?.spec);
    for (const object of informer.list()) expect(object.metadata).not.toHaveProperty('managedFields');
  });

  it('reports every change with the version before it', async () => {
    const { informer, seen } = await start();
    const created = await create(admin, namespace, manifest('a'));
    const changed = await edit(admin, created, { spec: { deletionProtection: true } });
    await remove(admin, changed);
    await until(() => seen.length === 3);
    expect(seen.map(({ kind, previous }) => [kind, previous?.metadata.resourceVersion])).toEqual([
      ['upsert', undefined],
      ['upsert', created.metadata.resourceVersion],
      ['gone', undefined],
    ]);
    expect(seen[1]?.object.spec.deletionProtection).toBe(true);
    for (const { object } of seen) expect(object.metadata).not.toHaveProperty('managedFields');
    expect(informer.list()).toEqual([]);
  });

  it('follows all namespaces, or only the given ones', async () => {
    const [second, third] = [await createNamespace(admin), await createNamespace(admin)];
    const before = [await create(admin, namespace, manifest('x')), await create(admin, second, manifest('x'))];
    const all = await start({ namespaces: 'all' });
    const some = await start({ namespaces: [namespace, second, second] });
    expect(some.holds(...before)).toBe(true);
    const foreign = await create(admin, third, manifest('x'));
    const after = [await create(admin, namespace, manifest('y')), await create(admin, second, manifest('y'))];
    await until(() => all.informer.get(`${third}/x`)?.metadata.uid === foreign.metadata.uid);
    await until(() => some.holds(...before, ...after));
    expect(some.seen.map(({ kind }) => kind)).toEqual(['upsert', 'upsert', 'upsert', 'upsert']);
    expect(lists()).toHaveLength(3);
  });

  it('reports an object recreated under the same name as gone and new', async () => {
    const old = await create(admin, namespace, manifest('a'));
    const { seen } = await start();
    await remove(admin, old);
    const recreated = await create(admin, namespace, manifest('a'));
    await until(() => seen.length === 3);
    expect(seen.map(({ kind, object }) => [kind, object.metadata.uid])).toEqual([
      ['upsert', old.metadata.uid],
      ['gone', old.metadata.uid],
      ['upsert', recreated.metadata.uid],
    ]);
  });

  it('counts every event as a sign of life of the API server', async () => {
    let clock = 0;
    const { informer, seen } = await start({ timers: { ...realTimers, monotonic: () => clock } });
    await createMany('a');
    // The watch is open.
    await until(() => seen.length === 1);
    clock = 2_000;
    expect(informer.silentForMs()).toBe(2_000);
    await createMany('b');
    await until(() => informer.silentForMs() === 0);
  });

  it('survives a handler that throws', async () => {
    const handler = {
      onUpsert: () => {
        throw new Error('a bug');
      },
    };
    const { logged, holds } = await start({}, handler);
    const objects = await createMany('a', 'b');
    await until(() => holds(...objects));
    expect(logged).toEqual(['error informer handler failed', 'error informer handler failed']);
    expect(lists()).toHaveLength(1);
  });

  it('shares few connections with other calls', async () => {
    await start();
    await until(() => watches().length === 1);
    await Promise.all(Array.from({ length: 100 }, () => http.call({ path: '/version' })));
    expect(proxy.connections.mostOpen).toBeLessThanOrEqual(9);
  });
});

describe('an informer whose watch is closed by the API server', () => {
  it('resumes from the last version it saw, and misses nothing', async () => {
    const { seen, holds, logged } = await start({ watchSeconds: () => 1 });
    const first = await create(admin, namespace, manifest('first'));
    await until(() => seen.length === 1);
    const before = watches().length;
    await until(() => watches().length >= before + 2);
    expect(fromVersion(watches().at(-1))).toBeGreaterThanOrEqual(Number(first.metadata.resourceVersion));
    const second = await create(admin, namespace, manifest('second'));
    await until(() => holds(first, second));
    expect(seen).toHaveLength(2);
    expect(lists()).toHaveLength(1);
    expect(logged).toEqual([]);
  });

  it('resumes from a bookmark when only other namespaces changed', async () => {
    const elsewhere = await createNamespace(admin);
    await start({ watchSeconds: () => 4 });
    await until(() => watches().length === 1);
    // The API server sends a bookmark two seconds before it closes a watch.
    const other = await create(admin, elsewhere, manifest('other'));
    await until(() => watches().some((line) => fromVersion(line) >= Number(other.metadata.resourceVersion)));
    expect(lists()).toHaveLength(1);
  });
});

describe('stop', () => {
  it('stops an informer that was never started', async () => {
    const { informer } = observe(http, { namespaces: 'all' });
    await informer.stop();
    informer.start();
    await expect(informer.synced()).rejects.toThrow('the informer was stopped');
    expect(proxy.requests).toEqual([]);
  });

  it.each(['the list', 'the watch'])('stops an informer that waits for the headers of %s', async (what) => {
    proxy.intercept = (request) => (what === 'the list' ? isList : isWatch)(request);
    const observed = observe(http, { namespaces: [namespace] });
    observed.informer.start();
    await until(() => (what === 'the list' ? lists() : watches()).length === 1);
    await observed.informer.stop();
    await until(() => proxy.connections.open <= 1);
  });

  it('stops an informer between two pages, without calling a handler', async () => {
    await createMany('a', 'b', 'c');
    proxy.intercept = (request) => isList(request) && request.url?.includes('continue=') === true;
    const { informer, seen } = observe(http, { namespaces: [namespace], pageSize: 1 });
    informer.start();
    await until(() => lists().length === 2);
    await informer.stop();
    expect(seen).toEqual([]);
  });

  it('stops an informer that pauses after a failure', async () => {
    proxy.intercept = (_, response) => answerStatus(response, 500);
    const hour = { baseMs: 3_600_000, maxMs: 3_600_000 };
    const { informer, logged } = observe(http, { namespaces: [namespace], backoff: hour });
    informer.start();
    await until(() => logged.length === 1);
    await informer.stop();
    expect(proxy.requests).toHaveLength(1);
  });

  it('stops an informer that watches, without reporting anything afterwards', async () => {
    const { informer, seen } = await start();
    await until(() => watches().length === 1);
    await informer.stop();
    await create(admin, namespace, manifest('late'));
    await until(() => proxy.connections.open <= 1);
    expect(seen).toEqual([]);
    expect(watches()).toHaveLength(1);
  });

  it('delivers no further event to a handler that calls it', async () => {
    await createMany('a', 'b', 'c');
    const stops: Promise<void>[] = [];
    const observed: Observed = observe(
      http,
      { namespaces: [namespace] },
      { onUpsert: () => void stops.push(observed.informer.stop()) },
    );
    observed.informer.start();
    await until(() => stops.length > 0);
    await Promise.all(stops);
    expect(observed.seen).toHaveLength(1);
  });
});
