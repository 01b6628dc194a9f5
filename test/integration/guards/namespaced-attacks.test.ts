/** Attacks on the overlay `namespaced`: by owners of other namespaces, and with forged objects in watched ones. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION, FINALIZER, SERVER_PLURAL, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord } from '../../../src/api/record.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { virtualServer, type Manifest } from '../../fixtures/virtual-server.ts';
import { startGuardedCluster, type GuardedCluster } from '../support/guarded-cluster.ts';
import { readyServer, recordOf } from '../support/records.ts';
import type { World } from '../support/world.ts';

/** A namespace that the operator does not watch. */
const OTHER = 'other-team';
const OTHERS = `/apis/${API_VERSION}/namespaces/${OTHER}/${SERVER_PLURAL}`;

let cluster: GuardedCluster;
let operator: KubeHttp;

beforeAll(async () => {
  cluster = await startGuardedCluster('overlays/namespaced');
  operator = createKubeHttp({ cluster: loadCluster(cluster.operatorKubeconfigPath) });
  await cluster.kubectl('create', 'namespace', OTHER);
  await cluster.kubectl(
    'create',
    'secret',
    'generic',
    'vps-api-key',
    `--namespace=${OTHER}`,
    '--from-literal=keyId=me',
  );
});
afterAll(async () => {
  await operator.close();
  await cluster.stop();
});

async function watchedWorld(): Promise<World> {
  const world = await cluster.createWorld({});
  await cluster.addRights('overlays/namespaced/watched', world.namespace);
  await world.startOperator();
  return world;
}

const withMetadata = (name: string, changes: object): Manifest => {
  const { metadata, ...manifest } = virtualServer(name);
  return { ...manifest, metadata: { ...metadata, ...changes } };
};

describe('the operator in other namespaces', () => {
  it.each([
    ['read a Secret', { path: `/api/v1/namespaces/${OTHER}/secrets/vps-api-key` }],
    ['list Secrets', { path: `/api/v1/namespaces/${OTHER}/secrets` }],
    ['read a Secret of the cluster', { path: '/api/v1/namespaces/kube-system/secrets/any' }],
    ['list VirtualServers', { path: OTHERS }],
    ['list VirtualServers of all namespaces', { path: `/apis/${API_VERSION}/${SERVER_PLURAL}` }],
    ['take a finalizer off', { method: 'PATCH', path: `${OTHERS}/web`, body: { metadata: { finalizers: null } } }],
    ['write a status', { method: 'PATCH', path: `${OTHERS}/web/status`, body: { status: null } }],
  ] as const)('may not %s', async (_what, call) => {
    const contentType = 'application/merge-patch+json';
    await expect(operator.call({ ...call, contentType })).rejects.toMatchObject({ code: 'Forbidden' });
  });
});

describe("a ServiceAccount with the operator's name in a foreign namespace", () => {
  it('has only the rights of a user under the guards, whatever its RBAC grants', async () => {
    await cluster.http.call({ method: 'POST', path: OTHERS, body: virtualServer('impostor') });
    const as = [
      `--as=system:serviceaccount:${OTHER}:vps-operator`,
      '--as-group=system:masters',
      `--namespace=${OTHER}`,
    ];
    const refused = async (...args: string[]): Promise<void> => {
      await expect(cluster.kubectl(...args, ...as)).rejects.toThrow(/only the operator may/);
    };
    const patch = (body: object): string[] => ['patch', 'vps', 'impostor', '--type=merge', '-p', JSON.stringify(body)];
    await refused(...patch({ metadata: { finalizers: [FINALIZER] } }));
    await refused('annotate', 'vps', 'impostor', `${RECORD_ANNOTATION}={}`);
    await refused(...patch({ status: { identifier: 'v1' } }), '--subresource=status');
  });
});

describe('a forged record of a server that another object holds', () => {
  it('in a watched namespace has no effect, and its object can be deleted', async () => {
    const world = await watchedWorld();
    const record = recordOf(await readyServer(world, 'web'));
    const annotations = { [RECORD_ANNOTATION]: formatRecord({ ...record, owner: 'forged' }) };
    await world.create(withMetadata('forged', { finalizers: [FINALIZER], annotations }));
    await world.waitForReason('forged', 'RecordMismatch', 'Stalled');
    await world.delete('forged');
    await world.waitGone('forged');
    await world.visited('web');
    expect((await world.get('web'))?.status?.identifier).toBe(record.identifier);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  // Must run last: it deletes the other namespace.
  it('in another namespace has no effect, and its object can be deleted once the operator watches that namespace too', async () => {
    const world = await watchedWorld();
    const record = recordOf(await readyServer(world, 'web'));
    const annotations = { [RECORD_ANNOTATION]: formatRecord({ ...record, owner: 'forged' }) };
    const forged = withMetadata('forged', { finalizers: [FINALIZER], annotations });
    await cluster.http.call({ method: 'POST', path: OTHERS, body: forged });
    await cluster.kubectl('delete', 'namespace', OTHER, '--wait=false');
    await world.visited('web');
    await cluster.kubectl('wait', 'namespace', OTHER, '--for=condition=NamespaceFinalizersRemaining', '--timeout=60s');

    await world.stopOperator();
    // No Role can be created in a namespace that is being deleted.
    await cluster.kubectl('apply', '--server-side', '--filename=deploy/manifests/base/rbac.yaml');
    await world.startOperator({ flags: [`--watch-namespace=${OTHER}`] });
    await cluster.kubectl('wait', 'namespace', OTHER, '--for=delete', '--timeout=60s');
    await world.visited('web');
    expect(world.simulator.ledger.cancels()).toEqual([]);
    expect(world.simulator.aliveServers()).toMatchObject([{ identifier: record.identifier }]);
  });
});
