/** What the API server refuses to the operator's own token, and what the roles for users grant. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { API_VERSION, SERVER_PLURAL, SET_PLURAL } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type CallOptions, type KubeHttp } from '../../../src/kube/http.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { adminHttp } from '../kube/support.ts';
import { ask } from '../support/broker.ts';
import { guardedIn, succeed, type Guarded, type GuardedPaths } from '../support/guards.ts';

let guarded: Guarded;
let http: KubeHttp;
let operator: KubeHttp;

beforeAll(async () => {
  guarded = guardedIn(await ask<GuardedPaths>(inject('broker'), 'guarded'), 'team');
  http = adminHttp(guarded.kubeconfigPath);
  operator = createKubeHttp({ cluster: loadCluster(guarded.operatorKubeconfigPath) });
  await succeed(guarded.root, ['create', 'namespace', 'team']);
  await succeed(guarded.root, ['create', 'secret', 'generic', 'key', '--from-literal=keyId=me']);
  await http.call({ method: 'POST', path: SERVERS, body: virtualServer('web') });
});
afterAll(() => Promise.all([operator.close(), http.close()]));

const SERVERS = `/apis/${API_VERSION}/namespaces/team/${SERVER_PLURAL}`;
const SETS = `/apis/${API_VERSION}/namespaces/team/${SET_PLURAL}`;
const SYSTEM = '/api/v1/namespaces/vps-operator-system';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';

const get = (path: string) => ({ path });
const remove = (path: string) => ({ method: 'DELETE', path }) as const;
const post = (path: string, body: object = {}) => ({ method: 'POST', path, body }) as const;
const put = (path: string, body: object = {}) => ({ method: 'PUT', path, body }) as const;
const patch = (path: string, body: object = {}) =>
  ({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' }) as const;
const watch = (path: string) => ({ path, query: { watch: true, timeoutSeconds: 1 } });

const REFUSED: [words: string, call: CallOptions][] = [
  ['cannot list resource "secrets"', get('/api/v1/secrets')],
  ['cannot list resource "secrets"', get('/api/v1/namespaces/team/secrets')],
  ['cannot list resource "secrets"', get(`${SYSTEM}/secrets`)],
  ['cannot watch resource "secrets"', watch('/api/v1/secrets')],
  ['cannot create resource "secrets"', post('/api/v1/namespaces/team/secrets', { metadata: { name: 'x' } })],
  ['cannot patch resource "secrets"', patch('/api/v1/namespaces/team/secrets/key')],
  ['cannot update resource "secrets"', put('/api/v1/namespaces/team/secrets/key')],
  ['cannot delete resource "secrets"', remove('/api/v1/namespaces/team/secrets/key')],
  ['the operator may create no VirtualServer but members', post(SERVERS, virtualServer('more'))],
  ['cannot update resource "virtualservers"', put(`${SERVERS}/web`, virtualServer('web'))],
  ['the operator may delete no VirtualServer but members', remove(`${SERVERS}/web`)],
  ['cannot deletecollection resource "virtualservers"', remove(SERVERS)],
  ['cannot get resource "virtualservers/status"', get(`${SERVERS}/web/status`)],
  ['cannot update resource "virtualservers/status"', put(`${SERVERS}/web/status`, virtualServer('web'))],
  ['cannot create resource "virtualserversets"', post(SETS, { metadata: { name: 'x' } })],
  ['cannot patch resource "virtualserversets"', patch(`${SETS}/x`)],
  ['cannot update resource "virtualserversets"', put(`${SETS}/x`)],
  ['cannot delete resource "virtualserversets"', remove(`${SETS}/x`)],
  ['cannot deletecollection resource "virtualserversets"', remove(SETS)],
  ['cannot patch resource "virtualserversets/scale"', patch(`${SETS}/x/scale`, { spec: { replicas: 9 } })],
  ['cannot update resource "virtualserversets/status"', put(`${SETS}/x/status`)],
  ['cannot list resource "pods"', get('/api/v1/pods')],
  ['cannot get resource "pods"', get(`${SYSTEM}/pods/x`)],
  ['cannot get resource "pods/log"', get(`${SYSTEM}/pods/x/log`)],
  ['cannot create resource "pods/exec"', post(`${SYSTEM}/pods/x/exec?command=sh`)],
  ['cannot create resource "pods"', post(`${SYSTEM}/pods`, { metadata: { name: 'x' } })],
  ['cannot get resource "configmaps"', get(`${SYSTEM}/configmaps/vps-operator-config`)],
  [
    'cannot patch resource "deployments"',
    patch('/apis/apps/v1/namespaces/vps-operator-system/deployments/vps-operator'),
  ],
  ['cannot list resource "events"', get('/apis/events.k8s.io/v1/events')],
  ['cannot create resource "events" in API group ""', post('/api/v1/namespaces/team/events')],
  ['cannot list resource "namespaces"', get('/api/v1/namespaces')],
  ['cannot delete resource "namespaces"', remove('/api/v1/namespaces/team')],
  ['cannot list resource "nodes"', get('/api/v1/nodes')],
  ['cannot get resource "leases"', get(`${LEASES}/kube-system/leases/vps-operator`)],
  ['cannot create resource "leases"', post(`${LEASES}/kube-system/leases`, { metadata: { name: 'vps-operator' } })],
  ['cannot get resource "leases"', get(`${LEASES}/vps-operator-system/leases/another`)],
  ['cannot update resource "leases"', put(`${LEASES}/vps-operator-system/leases/another`)],
  ['cannot list resource "leases"', get(`${LEASES}/vps-operator-system/leases`)],
  ['cannot delete resource "leases"', remove(`${LEASES}/vps-operator-system/leases/vps-operator`)],
  ['cannot get resource "customresourcedefinitions"', get(`${CRDS}/servercatalogs.vps-operator.dev`)],
  ['cannot list resource "customresourcedefinitions"', get(CRDS)],
  ['cannot create resource "customresourcedefinitions"', post(CRDS)],
  ['cannot patch resource "customresourcedefinitions"', patch(`${CRDS}/virtualservers.vps-operator.dev`)],
  ['cannot delete resource "customresourcedefinitions"', remove(`${CRDS}/virtualservers.vps-operator.dev`)],
  ['cannot delete resource "validatingadmissionpolicies"', remove(`${POLICIES}/vps-operator-record`)],
  ['cannot patch resource "clusterroles"', patch(`${RBAC}/clusterroles/vps-operator`)],
  ['cannot create resource "clusterroles"', post(`${RBAC}/clusterroles`)],
  ['cannot create resource "clusterrolebindings"', post(`${RBAC}/clusterrolebindings`)],
  ['cannot create resource "roles"', post(`${RBAC}/namespaces/vps-operator-system/roles`)],
  ['cannot create resource "rolebindings"', post(`${RBAC}/namespaces/vps-operator-system/rolebindings`)],
  ['cannot create resource "serviceaccounts/token"', post(`${SYSTEM}/serviceaccounts/vps-operator/token`)],
  ['cannot get path "/metrics"', get('/metrics')],
];

describe('the token of the operator', () => {
  it.each(REFUSED)('%s ($path)', async (words, call) => {
    const error: unknown = await operator.call(call).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 403, message: expect.stringContaining(words) as string });
  });

  it.each([
    ['user', 'impersonate-user', 'admin'],
    ['group', 'impersonate-group', 'system:masters'],
  ])('cannot impersonate a %s', async (_what, header, value) => {
    const own = loadCluster(guarded.operatorKubeconfigPath);
    const credentials = async () => {
      const { headers, tls } = await own.credentials();
      return { tls, headers: { ...headers, 'impersonate-user': 'jane', [header]: value } };
    };
    const another = createKubeHttp({ cluster: { ...own, credentials } });
    await expect(another.call({ path: `${SERVERS}/web` })).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('cannot impersonate') as string,
    });
    await another.close();
  });

  it.each([
    ['spec', { spec: { product: 'vps-64gb' } }, 'the operator may not change spec'],
    ['labels', { metadata: { labels: { team: 'x' } } }, 'the operator may not change labels'],
    ["a user's annotation", { metadata: { annotations: { 'vps-operator.dev/adopt': 'x' } } }, 'any annotation but'],
  ])('cannot change %s', async (_what, body, words) => {
    const call = patch(`${SERVERS}/web`, body);
    // A policy takes effect some time after its creation.
    await expect
      .poll(() => operator.call({ ...call, query: { dryRun: 'All' } }).catch((error: unknown) => error))
      .toMatchObject({ status: 403, message: expect.stringContaining(words) as string });
    const before = await http.call({ path: `${SERVERS}/web` });
    await expect(operator.call(call)).rejects.toMatchObject({ status: 403 });
    expect(await http.call({ path: `${SERVERS}/web` })).toEqual(before);
  });

  it('can read what it needs', async () => {
    const object = (await operator.call({ path: `${SERVERS}/web` })) as VirtualServer;
    expect(object.spec).toMatchObject(virtualServer('web').spec);
    expect(await operator.call({ path: '/api/v1/namespaces/team/secrets/key' })).toMatchObject({ kind: 'Secret' });
  });
});

describe("the cluster's own user roles", () => {
  const READ = ['get', 'list', 'watch'];
  const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'];

  /** Verbs of a user with this role in the namespace. */
  async function verbsOf(role: string, resource: string, subresource = ''): Promise<string[]> {
    const user = `${role}-of-the-team`;
    const verbs: string[] = [];
    for (const verb of [...READ, ...WRITE]) {
      const what = [`${resource}.vps-operator.dev`, ...(subresource === '' ? [] : [`--subresource=${subresource}`])];
      const { text } = await guarded.root(['auth', 'can-i', verb, ...what, `--as=${user}`]);
      if (text === 'yes') verbs.push(verb);
    }
    return verbs;
  }

  it.each([
    ['view', READ, ['get']],
    ['edit', [...READ, ...WRITE], ['get', 'update', 'patch']],
    ['admin', [...READ, ...WRITE], ['get', 'update', 'patch']],
  ])('%s', async (role, verbs, ofScale) => {
    await succeed(guarded.root, [
      'wait',
      `clusterrole/${role}`,
      '--for=jsonpath={.rules[0].verbs[0]}',
      '--timeout=30s',
    ]);
    const user = `${role}-of-the-team`;
    await succeed(guarded.root, ['create', 'rolebinding', user, `--clusterrole=${role}`, `--user=${user}`]);
    for (const resource of [SERVER_PLURAL, SET_PLURAL]) {
      expect(await verbsOf(role, resource), resource).toEqual(verbs);
      expect(await verbsOf(role, resource, 'status'), resource).toEqual([]);
    }
    expect(await verbsOf(role, SET_PLURAL, 'scale')).toEqual(ofScale);
  });
});
