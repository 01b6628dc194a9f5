/** The simulation's model of the garbage collector, which has no real API server to be compared with. */
import { describe, expect, it } from 'vitest';
import { FINALIZER } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { createMembers } from '../../../src/virtual-server-set/members.ts';
import { manifestOf } from '../../../src/virtual-server-set/decision/template.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { ApiServer, type SetSpecInput } from '../../lives/api-server.ts';
import { withoutNetwork } from '../../lives/routes.ts';

/** The set `web` with one member that has the operator's finalizer, and one without; and a server of no set. */
async function setUp() {
  const api = new ApiServer(() => 0);
  const set = api.createSet('a', 'web', { template: { spec: virtualServer('template').spec } } as SetSpecInput);
  const members = createMembers(withoutNetwork(api), VIRTUAL_SERVERS);
  for (const ordinal of [0, 1]) await members.perform(set, { type: 'create', manifest: manifestOf(set, ordinal) });
  api.servers.patch('a', 'web-0', { metadata: { finalizers: [FINALIZER] } });
  api.create('a', virtualServer('single'));
  const state = (): string[] =>
    api.servers.list().map(({ metadata }: VirtualServer) => {
      const { name, deletionTimestamp, ownerReferences } = metadata;
      return `${name}${deletionTimestamp === undefined ? '' : ' deleting'}${ownerReferences === undefined ? '' : ' owned'}`;
    });
  return { api, state };
}

const ALL = ['web-0 owned', 'web-1 owned', 'single'];

describe('the garbage collector', () => {
  it('leaves members alone while their set exists', async () => {
    const { api, state } = await setUp();
    api.collectGarbage();
    expect(state()).toEqual(ALL);
  });

  it('deletes the members of a set that is gone', async () => {
    const { api, state } = await setUp();
    api.deleteSet('a', 'web', 'background');
    expect([api.sets.list(), state()]).toEqual([[], ALL]);
    api.collectGarbage();
    expect(state()).toEqual(['web-0 deleting owned', 'single']);
  });

  it('releases the members of a set that leaves orphans, before the set is gone', async () => {
    const { api, state } = await setUp();
    api.deleteSet('a', 'web', 'orphan');
    expect(api.sets.get('a', 'web')?.metadata.deletionTimestamp).toBeDefined();
    api.collectGarbage();
    expect([api.sets.list(), state()]).toEqual([[], ['web-0', 'web-1', 'single']]);
  });

  it('keeps a set that is deleted in the foreground until its members are gone', async () => {
    const { api, state } = await setUp();
    api.deleteSet('a', 'web', 'foreground');
    api.collectGarbage();
    expect([api.sets.list().length, state()]).toEqual([1, ['web-0 deleting owned', 'single']]);
    api.servers.patch('a', 'web-0', { metadata: { finalizers: null } });
    api.collectGarbage();
    expect([api.sets.list(), state()]).toEqual([[], ['single']]);
  });
});
