/**
 * An operator that only observes, on an API server whose authorizer grants it exactly the rights of the component
 * observe-only: beside an operator, in its place, and before it again. Its requests are read from the audit log.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { ServerCatalog } from '../../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { currentReason } from '../../../src/api/conditions.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';
import { OPERATOR_NAMESPACE, rbacObjects } from '../../../tools/control-plane/operator-identity.ts';
import { kustomize } from '../../../tools/manifests.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { startGuardedCluster, type GuardedCluster } from '../support/guarded-cluster.ts';
import { differences, grantsOf, type Use, type Uses } from '../support/rights.ts';
import { createSet } from '../support/sets.ts';
import { condition, type World } from '../support/world.ts';

const START_MS = 240_000;
const LEASE = [`--operator-namespace=${OPERATOR_NAMESPACE}`];
const ACTIVE = ['--leader-elect', ...LEASE];
const OBSERVING = ['--observe-only', '--connection-secrets', ...LEASE];
const FOLDERS = ['deploy/manifests/base', 'deploy/manifests/components/observe-only'] as const;

const ends: (() => Promise<void>)[] = [];
let cluster: GuardedCluster;
let world: World;

beforeAll(async () => {
  cluster = await startGuardedCluster('base');
  ends.push(() => cluster.stop());
  world = await cluster.createWorld({ watch: 'all', onTestFinished: (end) => void ends.push(end) });
}, START_MS);
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

const reasonOf = async (name: string): Promise<string | undefined> =>
  currentReason((await world.get(name))?.status?.conditions);
const messageOf = (object: VirtualServer): string => condition(object, 'Stalled')?.message ?? '';
/** What the provider was asked to do, and what it has. */
const ledger = (): unknown => ({
  creates: world.simulator.ledger.creates(),
  cancels: world.simulator.ledger.cancels(),
  alive: world.simulator.aliveServers().map(({ identifier }) => identifier),
});
/** Two visits with everything that they would write. */
const settled = async (name: string): Promise<VirtualServer | undefined> => {
  await world.visited(name);
  return world.get(name);
};
const isWrite = ({ verb }: Use): boolean => !['get', 'list', 'watch'].includes(verb);

it('writes nothing beside an operator that renews the Lease', async () => {
  await world.startOperator({ flags: ACTIVE });
  await world.create(virtualServer('web'));
  await world.create(virtualServer('kept', withSpec({ deletionPolicy: 'Retain' })));
  await world.create(virtualServer('done', withSpec({ expiresAt: '2100-01-01T00:00:00Z' })));
  for (const name of ['web', 'kept', 'done']) await world.waitForReason(name, 'Available', 'Ready');
  await world.joinOperator({ flags: OBSERVING });
  await world.until(() => world.log.filter(({ msg }) => msg === 'operator runs').length === 2, 'the observer');
  await world.create(virtualServer('beside'));
  await world.waitForReason('beside', 'Available', 'Ready');
  await world.delete('beside');
  await world.waitGone('beside');
  const said = async (): Promise<string[]> => (await world.events('beside')).map(({ reason }) => reason);
  await world.until(async () => (await said()).includes('ServerCancelled'), 'the Event');
  // Each Event came from one of the two.
  expect((await said()).filter((reason) => reason === 'ServerCancelled')).toHaveLength(1);
  expect(world.simulator.ledger.creates()).toHaveLength(4);
  expect(world.simulator.ledger.cancels()).toHaveLength(1);
  // The operator has ordered and cancelled; the observer would have.
  const withheld = world.log.filter(({ msg }) => msg === 'action withheld: --observe-only');
  expect(withheld).toContainEqual(expect.objectContaining({ object: `${world.namespace}/beside` }));
});

it('reports once the operator has stopped', async () => {
  await world.stopOperator();
  await world.delete('web');
  await world.waitForReason('web', 'ObserveOnly');
  await world.stopJoined();
});

it(
  'runs with the rights of the component alone',
  async () => {
    await cluster.addComponent('components/observe-only');
    const operator = createKubeHttp({ cluster: loadCluster(cluster.operatorKubeconfigPath) });
    ends.push(() => operator.close());
    const path = `/apis/${API_VERSION}/namespaces/${world.namespace}/virtualservers/kept`;
    const patch = { method: 'PATCH', path, query: { dryRun: 'All' }, body: {} } as const;
    const contentType = 'application/merge-patch+json';
    const isRefused = (): Promise<boolean> =>
      operator.call({ ...patch, contentType }).then(
        () => false,
        (error: unknown) => String(error).includes('forbidden'),
      );
    await world.until(isRefused, 'the rights to be taken away');
    const known: Uses = await cluster.uses();
    const before = ledger();
    const web = await world.get('web');

    await world.startOperator({ flags: OBSERVING });
    await world.create(virtualServer('new', withSpec({ connectionSecretName: 'new' })));
    await world.create(virtualServer('wrong', withSpec({ product: 'none' })));
    const [stranger = ''] = world.simulator.aliveServers().map(({ identifier }) => identifier);
    await world.create(virtualServer('taker', withAnnotations({ 'vps-operator.dev/adopt': stranger })));
    await world.delete('kept');
    await world.patch('done', { spec: { expiresAt: '2020-01-01T00:00:00Z' } });
    const set = await createSet(world, { replicas: 2 });
    const catalogs = `/apis/${API_VERSION}/namespaces/${world.namespace}/${CATALOG_PLURAL}`;
    const catalog = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
    await world.http.call({ method: 'POST', path: catalogs, body: catalog });

    expect(messageOf(await world.waitForReason('new', 'ObserveOnly'))).toContain('would order a server: product VPSX4');
    expect(messageOf(await world.waitForReason('done', 'ObserveOnly'))).toContain(
      'time of the server is up: it would cancel',
    );
    await world.waitForReason('kept', 'ObserveOnly');
    await world.waitForReason('wrong', 'InvalidSpec');
    await world.waitForReason('taker', 'IdentifierInUse');
    expect((await set.waitForReason('ObserveOnly')).status?.conditions?.map(({ message }) => message).join()).toContain(
      'would create web-0, web-1',
    );
    const isRead = async (): Promise<boolean> =>
      ((await world.http.call({ path: `${catalogs}/catalog` })) as ServerCatalog).status?.counts !== undefined;
    await world.until(isRead, 'the catalog');

    // Nothing has happened, and the deletions wait.
    expect(ledger()).toEqual(before);
    for (const name of ['web', 'kept']) expect((await world.get(name))?.metadata.finalizers).toEqual([FINALIZER]);
    const now = await world.get('web');
    expect(now?.metadata.annotations?.[RECORD_ANNOTATION]).toBe(web?.metadata.annotations?.[RECORD_ANNOTATION]);
    expect(now?.status?.record).toEqual(web?.status?.record);

    // Two of them write the same, so the second one writes nothing.
    const names = ['web', 'new', 'kept', 'done', 'wrong', 'taker'];
    const versions = await Promise.all(names.map(settled));
    await world.joinOperator({ flags: OBSERVING });
    await world.until(() => world.log.filter(({ msg }) => msg === 'operator runs').length === 4, 'the second observer');
    const later = await Promise.all(names.map(settled));
    expect(later.map((object) => object?.status)).toEqual(versions.map((object) => object?.status));
    await world.stopJoined();
    await world.stopOperator();

    const { allowed, refused } = await cluster.uses();
    expect(refused.slice(known.refused.length)).toEqual([]);
    const own = allowed.slice(known.allowed.length);
    const grants = grantsOf(rbacObjects(await kustomize(cluster.controlPlane.kubectl, ...FOLDERS)));
    const { unused, notGranted } = differences(grants, own);
    expect(notGranted).toEqual([]);
    // A live read follows a conflict. The definitions are read before a DELETE only.
    expect(unused.filter((right) => !/ get (virtualservers|customresourcedefinitions)\./.test(right))).toEqual([]);
    const writes = new Set(own.filter(isWrite).map(({ verb, resource }) => `${verb} ${resource}`));
    expect([...writes].sort()).toEqual([
      'create events.events.k8s.io',
      'update servercatalogs/status.vps-operator.dev',
      'update virtualservers/status.vps-operator.dev',
      'update virtualserversets/status.vps-operator.dev',
    ]);
  },
  START_MS,
);

it('gives way to the operator, which orders and cancels each server once', async () => {
  const orders = world.simulator.ledger.creates().length;
  const cancels = world.simulator.ledger.cancels().length;
  await cluster.kubectl('apply', '--server-side', '--force-conflicts', '-k', 'deploy/manifests/base');
  await world.startOperator({ flags: OBSERVING });
  await world.joinOperator({ flags: ACTIVE });
  await world.waitGone('web');
  await world.waitGone('kept');
  await world.waitForReason('done', 'Expired', 'Ready');
  await world.waitForReason('new', 'Available', 'Ready');
  for (const name of ['web-0', 'web-1']) await world.waitForReason(name, 'Available', 'Ready');
  // `new` and two members; `web` and `done`.
  expect(world.simulator.ledger.creates()).toHaveLength(orders + 3);
  expect(world.simulator.ledger.cancels()).toHaveLength(cancels + 2);
  expect(await reasonOf('wrong')).toBe('InvalidSpec');
});
