/**
 * The right to read ConfigMaps. Without the component, an object that names one says which component is missing. With it, the
 * operator has exactly the right that it uses.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import type { RbacObject } from '../../../tools/control-plane/operator-identity.ts';
import { startGuardedCluster } from '../support/guarded-cluster.ts';
import { differences, grantsOf, type Uses } from '../support/rights.ts';
import { expectTables, rightsTable, watchedAsOne } from '../support/rights-table.ts';
import { condition, type World } from '../support/world.ts';

const START_MS = 240_000;
const COMPONENT = 'components/user-data-config-maps';
const USER_DATA = '#cloud-config\npackages: [nginx]\n';

interface Life {
  world: World;
  /** The object while the operator had no right to read its ConfigMap, and after that. */
  early: VirtualServer;
  earlyUses: Uses;
  ready: VirtualServer;
  /** RBAC without the component, and what the component adds. */
  rights: RbacObject[];
  added: RbacObject[];
  /** Uses since the component was added. */
  uses: Uses;
}

const ends: (() => Promise<void>)[] = [];
let base: Life;
let namespaced: Life;

beforeAll(async () => {
  base = await livedOn('base');
  namespaced = await livedOn('overlays/namespaced');
}, START_MS);
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function livedOn(folder: string): Promise<Life> {
  const cluster = await startGuardedCluster(folder);
  ends.push(() => cluster.stop());
  const isWhole = folder === 'base';
  const world = await cluster.createWorld({
    simulator: { api: 'public' },
    watch: isWhole ? 'all' : 'own',
    onTestFinished: (end) => void ends.push(end),
  });
  const { namespace } = world;
  const watched = isWhole ? [] : await cluster.addRights('overlays/namespaced/watched', namespace);
  await world.startOperator();
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'setup' },
    data: { 'user-data': USER_DATA },
  };
  await world.http.call({ method: 'POST', path: `/api/v1/namespaces/${namespace}/configmaps`, body });
  const userDataFrom = { configMapKeyRef: { name: 'setup', key: 'user-data' } };
  await world.create(virtualServer('web', withSpec({ userDataFrom })));
  const early = await world.waitForReason('web', 'UserDataForbidden', 'Stalled');
  const earlyUses = await cluster.uses();
  const added = isWhole
    ? await cluster.addComponent(COMPONENT)
    : await cluster.addRights(`${COMPONENT}/watched`, namespace);
  const known = await cluster.uses();
  const ready = await world.waitForReason('web', 'Available', 'Ready');
  const { allowed, refused } = await cluster.uses();
  const uses = { allowed, refused: refused.slice(known.refused.length) };
  return { world, early, earlyUses, ready, rights: [...cluster.rights, ...watched], added, uses };
}

describe.each(['base', 'namespaced'] as const)('%s', (which) => {
  const life = (): Life => (which === 'base' ? base : namespaced);

  it('without the component orders nothing, and says which component is missing', () => {
    const { early, earlyUses, world } = life();
    expect(condition(early, 'Stalled')?.message).toMatch(
      /^ConfigMap \S+\/setup, named in spec\.userDataFrom, cannot be read: .*cannot get resource "configmaps".* component user-data-config-maps/,
    );
    const refused = earlyUses.refused.map((line) => (JSON.parse(line) as { requestURI: string }).requestURI);
    expect(refused).not.toEqual([]);
    expect(new Set(refused)).toEqual(new Set([`/api/v1/namespaces/${world.namespace}/configmaps/setup`]));
  });

  it('with the component orders with the text of the ConfigMap, without an edit of the object', () => {
    const { ready, early, world } = life();
    expect(ready.metadata.generation).toBe(early.metadata.generation);
    expect(world.simulator.ledger.creates().map(({ body }) => body['user_data_string'])).toEqual([USER_DATA]);
  });

  it('uses all that the component grants, and has all that it uses', () => {
    const { added, rights, uses } = life();
    expect(grantsOf(added).map(({ verb, resource }) => `${verb} ${resource}`)).toEqual(['get configmaps']);
    expect(differences(grantsOf(added), uses.allowed).unused).toEqual([]);
    expect(differences(grantsOf([...rights, ...added]), uses.allowed).notGranted).toEqual([]);
  });
});

it('are listed in the tables of docs/concepts/security.md (else run: npm run rbac-table)', () =>
  expectTables(
    Object.entries({ base, namespaced }).map(([name, { added, uses, world }]) => [
      `user-data-config-maps on ${name}`,
      rightsTable(watchedAsOne(grantsOf(added), [world.namespace]), watchedAsOne(uses.allowed, [world.namespace])),
    ]),
  ));
