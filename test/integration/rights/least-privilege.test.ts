/**
 * The operator has exactly the rights that it uses. Compares deploy/manifests, in both directions, with the audit log
 * of an API server on which the operator ran under its own ServiceAccount, with the guards installed. `npm run
 * rbac-table` updates the tables of docs/concepts/security.md.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION, GROUP, SERVER_PLURAL, SET_KIND, SET_PLURAL } from '../../../src/api/names.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';
import { manifestOf } from '../../../src/virtual-server-set/decision/template.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { isOperator } from '../../../tools/control-plane/operator-identity.ts';
import { deleteNamespace, live } from '../support/busy-life.ts';
import { startGuardedCluster, type GuardedCluster } from '../support/guarded-cluster.ts';
import { differences, grantsOf, type Grant, type Use, type Uses } from '../support/rights.ts';
import { expectTables, rightsTable, watchedAsOne } from '../support/rights-table.ts';
import type { World, WorldOptions } from '../support/world.ts';

const START_MS = 240_000;
/** A second watched namespace for the overlay, in addition to the world's. */
const QUIET = 'quiet';
/** As in OpenShift: the API server checks the rights to what an owner reference can cause. */
const OWNERS_CHECKED = { 'enable-admission-plugins': 'OwnerReferencesPermissionEnforcement' };

interface Life {
  cluster: GuardedCluster;
  world: World;
  grants: Grant[];
  uses: Uses;
  /** Why the scenarios ended early. */
  failure: unknown;
}

const ends: (() => Promise<void>)[] = [];
let base: Life;
let namespaced: Life;

beforeAll(async () => {
  base = await livedOn(await startGuardedCluster('base', OWNERS_CHECKED), { watch: 'all' }, async (world) => {
    await live(world);
    await deleteNamespace(world);
  });
  const cluster = await startGuardedCluster('overlays/namespaced', OWNERS_CHECKED);
  namespaced = await livedOn(cluster, { flags: [`--watch-namespace=${QUIET}`] }, live);
}, START_MS);
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function livedOn(
  cluster: GuardedCluster,
  options: WorldOptions,
  scenarios: (world: World) => Promise<void>,
): Promise<Life> {
  ends.push(() => cluster.stop());
  const world = await cluster.createWorld({ ...options, onTestFinished: (end) => void ends.push(end) });
  const watched = options.watch === 'all' ? [] : [world.namespace, QUIET];
  const added = await Promise.all(watched.map((namespace) => addWatched(cluster, namespace)));
  const failure = await scenarios(world).then(
    () => undefined,
    (error: unknown) => error,
  );
  const uses = await cluster.uses();
  return { cluster, world, grants: grantsOf([...cluster.rights, ...added.flat()]), uses, failure };
}

async function addWatched(cluster: GuardedCluster, namespace: string) {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  if (namespace === QUIET) await cluster.http.call({ method: 'POST', path: '/api/v1/namespaces', body });
  return cluster.addRights('overlays/namespaced/watched', namespace);
}

const asOne = <T extends Grant | Use>(rights: T[], { world }: Life): T[] =>
  watchedAsOne(rights, [world.namespace, QUIET]);

describe.each(['base', 'namespaced'] as const)('the rights of %s', (which) => {
  const life = (): Life => (which === 'base' ? base : namespaced);

  it('allow every request of the operator', () => {
    expect(life().uses.refused).toEqual([]);
    expect(life().failure).toBeUndefined();
  });

  it('are all used', () => {
    expect(differences(asOne(life().grants, life()), asOne(life().uses.allowed, life())).unused).toEqual([]);
  });

  it('cover everything that is used', () => {
    expect(differences(life().grants, life().uses.allowed).notGranted).toEqual([]);
    expect(life().uses.allowed.length).toBeGreaterThan(0);
  });
});

it('needs the right to finalizers of sets, to create a member that blocks the deletion of its set', async () => {
  const { cluster } = base;
  const folder = `/apis/${API_VERSION}/namespaces/default`;
  const set = { apiVersion: API_VERSION, kind: SET_KIND, metadata: { name: 'web' } };
  const spec = { replicas: 0, template: { spec: virtualServer('template').spec } };
  const path = `${folder}/${SET_PLURAL}`;
  const web = (await cluster.http.call({ method: 'POST', path, body: { ...set, spec } })) as VirtualServerSet;
  const maker = createKubeHttp({ cluster: loadCluster(await cluster.controlPlane.addUser({ name: 'maker' })) });
  ends.push(() => maker.close());
  const create = { method: 'POST', path: `${folder}/${SERVER_PLURAL}`, query: { dryRun: 'All' } } as const;
  const tried = (): Promise<unknown> =>
    maker.call({ ...create, body: manifestOf(web, 0) }).then(
      () => 'created',
      (error: unknown) => String(error),
    );
  const grant = async (verb: string, resource: string): Promise<void> => {
    await cluster.kubectl('create', 'clusterrole', verb, `--verb=${verb}`, `--resource=${resource}`);
    await cluster.kubectl('create', 'clusterrolebinding', verb, `--clusterrole=${verb}`, '--user=maker');
  };
  await grant('create', `${SERVER_PLURAL}.${GROUP}`);
  await expect.poll(tried, { timeout: 20_000 }).toMatch(/cannot set blockOwnerDeletion .*finalizers/);
  await grant('update', `${SET_PLURAL}.${GROUP}/finalizers`);
  await expect.poll(tried, { timeout: 20_000 }).toBe('created');
});

it('lists all of them in the tables of docs/concepts/security.md (else run: npm run rbac-table)', () =>
  expectTables(
    Object.entries({ base, namespaced }).map(([name, life]) => [
      name,
      rightsTable(asOne(life.grants, life), asOne(life.uses.allowed, life)),
    ]),
  ));

describe('the namespaced overlay', () => {
  it('makes the operator list and watch each namespace separately, and nowhere else', () => {
    for (const verb of ['list', 'watch']) {
      const seen = namespaced.uses.allowed.filter((use) => use.verb === verb).map(({ namespace }) => namespace);
      expect([...new Set(seen)].sort()).toEqual([QUIET, namespaced.world.namespace].sort());
    }
  });

  it('binds the operator to no ClusterRole except the one that reads the CRD', () => {
    const bound = namespaced.cluster.rights.filter(({ subjects }) => subjects?.some(isOperator));
    const clusterWide = bound.filter(({ kind }) => kind !== 'RoleBinding');
    expect(clusterWide.map(({ metadata }) => metadata.name)).toEqual(['vps-operator-definition']);
  });

  it('holds a server whose namespace was deleted until its RoleBinding is restored', async () => {
    const { cluster, world } = namespaced;
    await world.create(virtualServer('left'));
    await world.waitForReason('left', 'Available', 'Ready');
    const alive = world.simulator.aliveServers().length;
    const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${world.namespace}/rolebindings/vps-operator`;
    await world.http.call({ method: 'DELETE', path: role });
    await cluster.kubectl('delete', 'namespace', world.namespace, '--wait=false');
    await world.until(
      () => world.log.some(({ err }) => (err as { code?: string } | undefined)?.code === 'Forbidden'),
      'a refusal',
    );
    expect(world.simulator.aliveServers()).toHaveLength(alive);
    expect((await world.get('left'))?.metadata.finalizers).toHaveLength(1);

    await cluster.kubectl('apply', '-f', 'deploy/manifests/base/rbac.yaml');
    await deleteNamespace(world);
    expect(world.simulator.aliveServers()).toEqual([]);
  });
});
