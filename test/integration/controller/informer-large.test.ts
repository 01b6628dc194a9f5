/** Objects that are too large to read together must not keep the informer from reading them. */
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { collectionOf } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { observe, until, type Observed } from './informer-support.ts';
import { isListLine, startProxy, type FaultProxy } from '../kube/proxy.ts';
import { adminHttp, create, createNamespace, edit, manifest, remove } from '../kube/support.ts';

const KIB = 1024;

let admin: KubeHttp;
let http: KubeHttp;
let proxy: FaultProxy;
let namespace: string;
let observed: Observed;

beforeEach(async () => {
  admin = adminHttp();
  proxy = await startProxy(loadCluster(inject('kubeconfigPath')));
  http = createKubeHttp({ cluster: proxy.cluster });
  namespace = await createNamespace(admin);
});
afterEach(async () => {
  await observed.informer.stop();
  // Other test files use the same API server.
  await admin.call({ method: 'DELETE', path: collectionOf(VIRTUAL_SERVERS, namespace) });
  await Promise.all([http.close(), admin.close()]);
  await proxy.close();
});

const note = (kib: number) => ({ annotations: { 'example.org/note': 'x'.repeat(kib * KIB) } });
const createLarge = (name: string, kib: number) =>
  create(admin, namespace, { ...manifest(name), metadata: { name, ...note(kib) } });
/** Labels of this size in JSON; their total is not limited, unlike that of annotations. */
const labels = (mib: number) =>
  Object.fromEntries(
    Array.from({ length: Math.floor((mib * KIB * KIB) / 64) }, (_, index) => [
      `label-${index}`.padEnd(20, 'x'),
      'x'.repeat(39),
    ]),
  );
const createWithLabels = (name: string, mib: number) =>
  create(admin, namespace, { ...manifest(name), metadata: { name, labels: labels(mib) } });
const limits = () => proxy.requests.filter(isListLine).map((line) => Number(/limit=(\d+)/.exec(line)?.[1]));

function start(options: Partial<Parameters<typeof observe>[1]>): void {
  observed = observe(http, { namespaces: [namespace], ...options });
  observed.informer.start();
}

describe('an informer whose page is too large to read', () => {
  it('continues with smaller pages, and tries larger ones later', async () => {
    const objects: VirtualServer[] = [];
    for (let index = 10; index < 14; index += 1) objects.push(await createLarge(`a${index}`, 250));
    for (let index = 10; index < 40; index += 1) objects.push(await createLarge(`b${index}`, 0));
    // A page with three objects of 250 KiB exceeds the limit.
    start({ pageSize: 16, pageBytes: 700 * KIB });
    await observed.informer.synced();
    expect(observed.holds(...objects)).toBe(true);
    expect(observed.seen).toHaveLength(objects.length);
    // Two pages with the 4 large objects, then small ones: the page size doubles after four pages, and again after four
    // more.
    expect(limits()).toEqual([16, 8, 4, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8]);
    expect(observed.logged).toEqual([]);
  });

  it('does not keep the annotations that make it large', async () => {
    await createLarge('a', 250);
    start({});
    await observed.informer.synced();
    expect(JSON.stringify(observed.informer.list()).length).toBeLessThan(2 * KIB);
  });
});

describe('the largest object that the API server stores', () => {
  it('is less than 2 MiB, so the operator can read every object', async () => {
    const large = createWithLabels('large', 1.4);
    const { metadata } = await large;
    expect(metadata.name).toBe('large');
    await expect(createWithLabels('larger', 2)).rejects.toMatchObject({
      status: 500,
      message: /too large|larger than/,
    });
    start({});
    await observed.informer.synced();
    expect(observed.holds(await large)).toBe(true);
  });

  it('is followed when it grows, changes, shrinks and goes', async () => {
    const a = await createLarge('a', 0);
    const b = await createLarge('b', 0);
    start({ pageSize: 4, pageBytes: 700 * KIB });
    await observed.informer.synced();
    const grown = await edit(admin, a, { metadata: { labels: labels(1.2) } });
    const changed = await edit(admin, b, { spec: { deletionProtection: true } });
    await until(() => observed.holds(grown, changed));
    const renewed = await edit(admin, a, { spec: { deletionProtection: true } });
    await until(() => observed.holds(renewed, changed));
    const shrunk = await edit(admin, a, { metadata: { labels: null } });
    await until(() => observed.holds(shrunk, changed));
    expect(observed.seen.filter(({ kind }) => kind === 'gone')).toEqual([]);
    await remove(admin, a);
    await until(() => observed.holds(changed));
  });
});
