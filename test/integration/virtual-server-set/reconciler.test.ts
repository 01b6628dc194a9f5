/** The reconciler of sets against a real API server, without an operator: the test acts as the operator of single servers. */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { virtualServerSetCrd } from '../../../src/api/crd.ts';
import { API_VERSION, SET_KIND, SET_LABEL } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { createClient } from '../../../src/kube/client.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { collectionOf, pathOf } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { createMembers, type Members } from '../../../src/virtual-server-set/members.ts';
import { SetReconciler } from '../../../src/virtual-server-set/reconciler.ts';
import { VIRTUAL_SERVER_SETS } from '../../../src/virtual-server-set/resource.ts';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { CRD_FILE, crdYaml } from '../../../tools/crds.ts';
import { adminHttp, createNamespace, manifest } from '../kube/support.ts';

const MERGE_PATCH = 'application/merge-patch+json';

let controlPlane: ControlPlane;
let http: KubeHttp;

beforeAll(async () => {
  const crds = await mkdtemp(join(tmpdir(), 'vps-operator-crds-'));
  await writeFile(join(crds, 'sets.yaml'), crdYaml(virtualServerSetCrd()));
  await copyFile(CRD_FILE, join(crds, 'servers.yaml'));
  controlPlane = await startControlPlane({ crds });
  await rm(crds, { recursive: true });
  http = adminHttp(controlPlane.kubeconfigPath);
}, 120_000);
afterAll(async () => {
  await http.close();
  await controlPlane.stop();
});

/** The set `web` in its own namespace; `change` may replace what the reconciler uses of the API server. */
async function setWorld(spec: object, change: (members: Members) => Members = (members) => members) {
  const namespace = await createNamespace(http);
  const stopping = new AbortController().signal;
  const client = createClient(http, VIRTUAL_SERVER_SETS);
  const real = createMembers(http, VIRTUAL_SERVERS, stopping);
  let clock = 0;
  const reconciler = new SetReconciler({
    // An empty cache, so that every step has to look live.
    known: () => [],
    sets: client,
    members: change(real),
    saw: () => undefined,
    leads: () => true,
    timers: { now: () => Date.now(), monotonic: () => (clock += 1_000) },
    log: createLogger({ level: 'fatal' }),
    stopping,
  });
  const path = pathOf(VIRTUAL_SERVER_SETS, namespace, 'web');
  const body = {
    apiVersion: API_VERSION,
    kind: SET_KIND,
    metadata: { name: 'web' },
    spec: { template: { spec: manifest('x').spec }, ...spec },
  };
  await http.call({ method: 'POST', path: collectionOf(VIRTUAL_SERVER_SETS, namespace), body });
  const get = async (): Promise<VirtualServerSet> => (await http.call({ path })) as VirtualServerSet;
  const reconcile = async (): Promise<VirtualServerSet> => {
    await reconciler.reconcile(`${namespace}/web`, await client.get(namespace, 'web'));
    return get();
  };
  const names = async (): Promise<string[]> => (await real.list(namespace)).map(({ metadata }) => metadata.name).sort();
  const patch = (name: string, change: object, subresource = ''): Promise<unknown> => {
    const target = name === 'web' ? path : pathOf(VIRTUAL_SERVERS, namespace, name);
    return http.call({ method: 'PATCH', path: target + subresource, body: change, contentType: MERGE_PATCH });
  };
  const makeReady = async (...members: string[]): Promise<void> => {
    const condition = { type: 'Ready', status: 'True', reason: 'Available', message: 'It runs' };
    const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
    for (const name of members) await patch(name, { status: { conditions } }, '/status');
  };
  const member = async (name: string): Promise<VirtualServer> =>
    (await http.call({ path: pathOf(VIRTUAL_SERVERS, namespace, name) })) as VirtualServer;
  return { namespace, reconcile, names, patch, makeReady, member };
}

it('scales up and down, and never creates a member twice, however old its cache is', async () => {
  const { reconcile, names, patch, makeReady, member } = await setWorld({ replicas: 3 });
  await reconcile();
  await reconcile();
  expect(await names()).toEqual(['web-0', 'web-1', 'web-2']);
  const { metadata } = await member('web-0');
  expect(metadata.labels?.[SET_LABEL]).toBe('web');
  expect(metadata.ownerReferences).toMatchObject([{ kind: SET_KIND, controller: true, blockOwnerDeletion: true }]);
  await makeReady('web-0', 'web-1', 'web-2');
  // From an empty cache, each plan wants to create, so each visit looks live.
  expect((await reconcile()).status).toMatchObject({ replicas: 3, availableReplicas: 3, unavailableReplicas: 0 });
  await patch('web', { spec: { replicas: 1 } });
  await reconcile();
  expect(await names()).toHaveLength(1);
  await reconcile();
  expect(await names()).toHaveLength(1);
});

it('creates nothing twice if its list of members is old too', async () => {
  const { reconcile, names } = await setWorld({ replicas: 2 }, (members) => ({
    ...members,
    list: () => Promise.resolve([]),
  }));
  await reconcile();
  await reconcile();
  expect(await names()).toEqual(['web-0', 'web-1']);
});

it('does not delete a member that has changed since it was listed', async () => {
  let change = (): Promise<unknown> => Promise.resolve();
  const { reconcile, names, patch, makeReady } = await setWorld({ replicas: 2 }, (members) => ({
    ...members,
    perform: async (set, action) => {
      if (action.type === 'delete') await change();
      await members.perform(set, action);
    },
  }));
  await reconcile();
  await makeReady('web-0', 'web-1');
  await patch('web', { spec: { replicas: 1 } });
  change = () => patch('web-1', { spec: { deletionProtection: true } });
  await reconcile();
  expect(await names()).toEqual(['web-0', 'web-1']);
  change = () => Promise.resolve();
  await reconcile();
  expect(await names()).toEqual(['web-1']);
});

it('rolls a changed template out, one member after the other', async () => {
  const { reconcile, names, patch, makeReady } = await setWorld({ replicas: 2 });
  await reconcile();
  await makeReady('web-0', 'web-1');
  await patch('web', { spec: { template: { spec: { image: 'debian-13/minimal' } } } });
  const rolling = await reconcile();
  expect(await names()).toEqual(['web-0', 'web-1', 'web-2']);
  expect(rolling.status?.currentRevision).not.toBe(rolling.status?.updateRevision);
  await reconcile();
  expect(await names()).toEqual(['web-0', 'web-1', 'web-2']);
  await makeReady('web-2');
  await reconcile();
  expect(await names()).toEqual(['web-0', 'web-2']);
  await reconcile();
  expect(await names()).toEqual(['web-0', 'web-1', 'web-2']);
  await makeReady('web-1');
  await reconcile();
  const done = await reconcile();
  expect(await names()).toEqual(['web-1', 'web-2']);
  expect(done.status).toMatchObject({ updatedReplicas: 2, availableReplicas: 2, replicas: 2 });
  expect(done.status?.revisions?.map(({ spec }) => spec.image)).toEqual(['debian-13/minimal', 'debian-12/minimal']);
});

it('releases a member without its label, keeps its other owners, and adopts it again', async () => {
  const { reconcile, names, patch, member } = await setWorld({ replicas: 1, paused: false });
  await reconcile();
  const { metadata } = await member('web-0');
  const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'notes', uid: 'uid-of-notes' };
  await patch('web-0', { metadata: { labels: null, ownerReferences: [other, ...(metadata.ownerReferences ?? [])] } });
  await reconcile();
  expect((await member('web-0')).metadata.ownerReferences).toMatchObject([other]);
  expect(await names()).toEqual(['web-0', 'web-1']);
  await patch('web', { spec: { replicas: 2 } });
  await patch('web-0', { metadata: { labels: { [SET_LABEL]: 'web' }, ownerReferences: null } });
  await reconcile();
  expect((await member('web-0')).metadata.ownerReferences).toMatchObject([{ kind: SET_KIND, name: 'web' }]);
  expect(await names()).toEqual(['web-0', 'web-1']);
});

it('writes changes of the template to the members, but keeps what you set on one of them', async () => {
  const { reconcile, patch, member, makeReady } = await setWorld({ replicas: 1 });
  await reconcile();
  await makeReady('web-0');
  await patch('web-0', { spec: { deletionProtection: true } });
  await patch('web', { spec: { template: { metadata: { labels: { tier: 'web' } }, spec: { sshCheck: 'Proxy' } } } });
  await reconcile();
  const { metadata, spec } = await member('web-0');
  expect(spec).toMatchObject({ sshCheck: 'Proxy', deletionProtection: true });
  expect(metadata.labels).toMatchObject({ tier: 'web', [SET_LABEL]: 'web' });
});
