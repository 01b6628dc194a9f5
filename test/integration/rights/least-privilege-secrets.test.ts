/**
 * The right to write connection Secrets. Without the component, the operator reports what it lacks. With it, the
 * operator has exactly the rights that it uses, and the component's policy limits what its token may write.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type CallOptions, type KubeHttp } from '../../../src/kube/http.ts';
import type { RbacObject } from '../../../tools/control-plane/operator-identity.ts';
import { ask, connect } from '../support/busy-life.ts';
import { startGuardedCluster, type GuardedCluster } from '../support/guarded-cluster.ts';
import { differences, grantsOf, type Uses } from '../support/rights.ts';
import { expectTables, rightsTable, watchedAsOne } from '../support/rights-table.ts';
import { condition, type World } from '../support/world.ts';

const START_MS = 240_000;
const COMPONENT = 'components/connection-secrets';

interface Life {
  cluster: GuardedCluster;
  world: World;
  /** Uses the operator's token. */
  operator: KubeHttp;
  /** The object while the operator had no right to write its Secret. */
  early: VirtualServer;
  earlyUses: Uses;
  /** RBAC without the component, and what the component adds. */
  rights: RbacObject[];
  added: RbacObject[];
  /** Uses since the component was added. */
  uses: Uses;
  /** Why the scenarios ended early. */
  failure: unknown;
}

const ends: (() => Promise<void>)[] = [];
let base: Life;
let namespaced: Life;

beforeAll(async () => {
  base = await livedOn('base', COMPONENT);
  namespaced = await livedOn('overlays/namespaced', `${COMPONENT}/namespaced`);
}, START_MS);
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function livedOn(folder: string, component: string): Promise<Life> {
  const cluster = await startGuardedCluster(folder);
  ends.push(() => cluster.stop());
  const isWhole = folder === 'base';
  const world = await cluster.createWorld({
    flags: ['--connection-secrets'],
    watch: isWhole ? 'all' : 'own',
    onTestFinished: (end) => void ends.push(end),
  });
  const inNamespace = (name: string): Promise<RbacObject[]> =>
    isWhole ? Promise.resolve([]) : cluster.addRights(name, world.namespace);
  const rights = [...cluster.rights, ...(await inNamespace('overlays/namespaced/watched'))];
  await world.startOperator();
  const early = await ask(world, 'early', 'ConnectionSecretFailed');
  const earlyUses = await cluster.uses();
  const added = [...(await cluster.addComponent(component)), ...(await inNamespace(`${COMPONENT}/watched`))];
  await world.waitForReason('early', 'ConnectionSecretWritten', 'ConnectionSecret');
  const known = await cluster.uses();
  const failure = await connect(world).then(
    () => undefined,
    (error: unknown) => error,
  );
  const { allowed, refused } = await cluster.uses();
  const uses = { allowed, refused: refused.slice(known.refused.length) };
  const operator = createKubeHttp({ cluster: loadCluster(cluster.operatorKubeconfigPath) });
  ends.push(() => operator.close());
  const path = `/api/v1/namespaces/${world.namespace}/secrets`;
  const tried = { method: 'POST', path, query: { dryRun: 'All' }, body: made('Opaque', 'x') } as const;
  // A policy takes effect some time after its creation.
  await world.until(() => operator.call(tried).then(() => false, isDenied), 'the policy');
  return { cluster, world, operator, early, earlyUses, rights, added, uses, failure };
}

const isDenied = (error: unknown): boolean => String(error).includes('denied request');

describe.each(['base', 'namespaced'] as const)('%s without the component', (which) => {
  const life = (): Life => (which === 'base' ? base : namespaced);

  it('makes the server Ready, and reports that the operator may not write the Secret', () => {
    const { early } = life();
    expect(condition(early, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    expect(condition(early, 'ConnectionSecret')).toMatchObject({
      status: 'False',
      reason: 'ConnectionSecretFailed',
      message: expect.stringMatching(/is forbidden: User .* cannot create resource "secrets"/) as string,
    });
  });

  it('is refused nothing else', () => {
    const refused = life().earlyUses.refused.map((line) => JSON.parse(line) as { verb: string; requestURI: string });
    const secrets = `/api/v1/namespaces/${life().world.namespace}/secrets`;
    expect(refused).not.toEqual([]);
    for (const { verb, requestURI } of refused) {
      expect([verb, requestURI.split('?')[0]]).toEqual(['create', secrets]);
    }
  });
});

describe.each(['base', 'namespaced'] as const)('the rights of the component on %s', (which) => {
  const life = (): Life => (which === 'base' ? base : namespaced);

  it('allow every request of the operator', () => {
    expect(life().uses.refused).toEqual([]);
    expect(life().failure).toBeUndefined();
  });

  it('are all used', () => {
    expect(grantsOf(life().added).map(({ verb, resource }) => `${verb} ${resource}`)).toEqual([
      'create secrets',
      'patch secrets',
    ]);
    expect(differences(grantsOf(life().added), life().uses.allowed).unused).toEqual([]);
  });

  it('cover everything that is used, together with the others', () => {
    const { rights, added, uses } = life();
    expect(differences(grantsOf([...rights, ...added]), uses.allowed).notGranted).toEqual([]);
  });
});

it('are listed in the tables of docs/concepts/security.md (else run: npm run rbac-table)', () =>
  expectTables(
    Object.entries({ base, namespaced }).map(([name, { added, uses, world }]) => [
      `the component on ${name}`,
      rightsTable(watchedAsOne(grantsOf(added), [world.namespace]), watchedAsOne(uses.allowed, [world.namespace])),
    ]),
  ));

const PATCH = { method: 'PATCH', contentType: 'application/merge-patch+json' } as const;
const made = (type: string, owner: string) => ({
  metadata: { name: 'made', annotations: { [OWNER_ANNOTATION]: owner } },
  type,
  stringData: { identifier: 'x' },
});

/** Refused by the component's policy, or by RBAC, which grants nothing else. */
const REFUSED: [what: string, words: string, call: Partial<CallOptions>][] = [
  ['cannot create an Opaque Secret', 'may write no Secret but', { method: 'POST', body: made('Opaque', 'x') }],
  [
    'cannot create a connection Secret without an owner',
    'leave out',
    { method: 'POST', body: made(CONNECTION_SECRET_TYPE, '') },
  ],
  ['cannot change a Secret of a user', 'may write no Secret but', { ...PATCH, path: '/vps-api-key', body: {} }],
  [
    'cannot take over a Secret of a user',
    'immutable',
    { ...PATCH, path: '/vps-api-key', body: { type: CONNECTION_SECRET_TYPE } },
  ],
  [
    'cannot write a key of another writer',
    'write no keys but',
    { ...PATCH, path: '/early', body: { stringData: { keyId: 'x' } } },
  ],
  [
    'cannot give its Secret to another object',
    'change or remove the annotation',
    { ...PATCH, path: '/early', body: { metadata: { annotations: { [OWNER_ANNOTATION]: 'x' } } } },
  ],
  [
    'cannot replace a Secret',
    'cannot update resource "secrets"',
    { method: 'PUT', path: '/early', body: made('Opaque', 'x') },
  ],
  [
    'cannot delete a Secret, not even its own',
    'cannot delete resource "secrets"',
    { method: 'DELETE', path: '/early' },
  ],
  ['cannot delete all Secrets at once', 'cannot deletecollection resource "secrets"', { method: 'DELETE' }],
  ['cannot list Secrets', 'cannot list resource "secrets"', {}],
  ['cannot watch Secrets', 'cannot watch resource "secrets"', { query: { watch: true, timeoutSeconds: 1 } }],
];

describe.each(['base', 'namespaced'] as const)('the token of the operator, with the component on %s', (which) => {
  const life = (): Life => (which === 'base' ? base : namespaced);

  it.each(REFUSED)('%s', async (_what, words, { path = '', ...call }) => {
    const { cluster, world, operator } = life();
    const secrets = `/api/v1/namespaces/${world.namespace}/secrets`;
    const list = async () => ((await cluster.http.call({ path: secrets })) as { items: object[] }).items;
    const before = await list();
    await expect(operator.call({ ...call, path: secrets + path })).rejects.toThrow(words);
    expect(await list()).toEqual(before);
  });
});

it('has rights only in watched namespaces', async () => {
  const path = '/api/v1/namespaces/default/secrets';
  const words = 'cannot create resource "secrets" in API group "" in the namespace "default"';
  await expect(
    namespaced.operator.call({ method: 'POST', path, body: made(CONNECTION_SECRET_TYPE, 'x') }),
  ).rejects.toThrow(words);
});
