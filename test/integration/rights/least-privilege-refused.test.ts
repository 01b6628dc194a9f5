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
const patch = (path: string, body: object = {}) =>
  ({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' }) as const;

/**
 * What would do most harm, and what admission policies refuse. The least-privilege tests show that no right is granted that
 * the operator does not use.
 */
const REFUSED: [words: string, call: CallOptions][] = [
  ['cannot list resource "secrets"', get('/api/v1/secrets')],
  ['cannot create resource "secrets"', post('/api/v1/namespaces/team/secrets', { metadata: { name: 'x' } })],
  ['cannot patch resource "secrets"', patch('/api/v1/namespaces/team/secrets/key')],
  ['the operator may create no VirtualServer but members', post(SERVERS, virtualServer('more'))],
  ['the operator may delete no VirtualServer but members', remove(`${SERVERS}/web`)],
  ['cannot deletecollection resource "virtualservers"', remove(SERVERS)],
  ['cannot deletecollection resource "virtualserversets"', remove(SETS)],
  ['cannot create resource "pods/exec"', post(`${SYSTEM}/pods/x/exec?command=sh`)],
  ['cannot delete resource "namespaces"', remove('/api/v1/namespaces/team')],
  ['cannot get resource "leases"', get(`${LEASES}/vps-operator-system/leases/another`)],
  ['cannot delete resource "customresourcedefinitions"', remove(`${CRDS}/virtualservers.vps-operator.dev`)],
  ['cannot delete resource "validatingadmissionpolicies"', remove(`${POLICIES}/vps-operator-record`)],
  ['cannot patch resource "clusterroles"', patch(`${RBAC}/clusterroles/vps-operator`)],
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
    ['spec', { spec: { product: 'VPSX256' } }, 'the operator may not change spec'],
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
