import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord } from '../../../src/api/record.ts';
import type { CatalogServer, ServerCatalog, ServerCatalogStatus } from '../../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { withVerdict } from '../../../src/controller/conditions.ts';
import { nextCommand } from '../../../src/plugin/commands/orphans.ts';
import { ageOfLists, unheldIn } from '../../../src/plugin/state/orphans.ts';
import { storedCatalog } from '../../fixtures/server-catalog.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const server = (identifier: string, state: CatalogServer['state']): CatalogServer => ({ identifier, state });

function catalogOf(name: string, servers: CatalogServer[], changes: ServerCatalogStatus = {}): ServerCatalog {
  const count = (state: string): number => servers.filter((one) => one.state === state).length;
  const status: ServerCatalogStatus = {
    servers,
    serverCounts: { all: servers.length, orphaned: count('Orphaned'), unclear: count('Unclear') },
    provider: { productList: 'Object', imageList: 'Object', serverList: 'Available' },
    observedGeneration: 1,
    conditions: withVerdict([], { reason: 'Available', message: 'lists' }, 1, 0),
    ...changes,
  };
  return storedCatalog(name, { listServers: true, status });
}

const holding = (identifier: string, owner = 'uid-of-web'): VirtualServer => {
  const annotations = { [RECORD_ANNOTATION]: formatRecord({ owner, mode: 'adopt', identifier }) };
  return stored('web', storedWith({ metadata: { annotations, finalizers: [FINALIZER] } }));
};

const statesOf = (catalogs: ServerCatalog[], objects: VirtualServer[] = []) =>
  unheldIn(catalogs, objects).servers.map(({ identifier, state }) => `${identifier} ${state}`);

describe('servers that no object holds', () => {
  it('are those of the list, orphaned ones first', () => {
    const catalog = catalogOf('c', [server('vs1', 'Held'), server('vs3', 'Unclear'), server('vs2', 'Orphaned')]);
    expect(statesOf([catalog])).toEqual(['vs2 Orphaned', 'vs3 Unclear']);
    expect(unheldIn([catalog], []).unknown).toEqual([]);
  });

  it('are not those that an object holds or may hold by now', () => {
    const catalog = catalogOf('c', [server('vs1', 'Orphaned')]);
    expect(statesOf([catalog], [holding('VS1')])).toEqual([]);
    expect(statesOf([catalog], [holding('vs1', 'another-uid')])).toEqual(['vs1 Unclear']);
  });

  it('count once if two catalogs list them, and are unclear if one of them cannot tell', () => {
    const catalogs = [catalogOf('a', [server('vs1', 'Orphaned')]), catalogOf('b', [server('VS1', 'Unclear')])];
    expect(statesOf(catalogs)).toEqual(['vs1 Unclear']);
    expect(statesOf([...catalogs].reverse())).toEqual(['VS1 Unclear']);
  });

  it('are not shown if one catalog knows who holds them', () => {
    const catalogs = [catalogOf('a', [server('vs1', 'Orphaned')]), catalogOf('b', [server('vs1', 'Held')])];
    expect(statesOf(catalogs)).toEqual([]);
  });

  it('are unknown if no catalog lists them', () => {
    const catalog = { ...catalogOf('c', [server('vs1', 'Orphaned')]), spec: storedCatalog('c').spec };
    expect(unheldIn([catalog], [])).toEqual({
      servers: [],
      next: 'ask',
      unknown: ['no ServerCatalog lists servers: none has spec.listServers: true'],
    });
  });

  it('name no command that asks for a list that the provider does not have', () => {
    const { spec } = storedCatalog('c');
    const provider = { productList: 'Array', imageList: 'Array', serverList: 'Unavailable' } as const;
    const unlisted = { ...catalogOf('c', [], { provider }), spec };
    expect(unheldIn([unlisted], [])).toEqual({
      servers: [],
      next: undefined,
      unknown: ['ServerCatalog default/c: the provider has no list of servers'],
    });
    // The spec may name another account since then.
    const edited = { ...unlisted, metadata: { ...unlisted.metadata, generation: 2 } };
    expect(unheldIn([edited], []).next).toBe('ask');
  });

  it.each<[string, ServerCatalogStatus, string]>([
    ['the operator has not read the new spec', { observedGeneration: 0 }, 'since its spec changed'],
    [
      'the key does not work',
      { conditions: withVerdict([], { reason: 'InvalidCredentials', message: 'no' }, 1, 0) },
      'InvalidCredentials: no',
    ],
    ['nothing is reported', { conditions: [] }, 'NotReported'],
    [
      'the provider has no list',
      { provider: { productList: 'Array', imageList: 'Array', serverList: 'Unavailable' } },
      'the provider has no list of servers',
    ],
    [
      'the key may not list them',
      { provider: { productList: 'Array', imageList: 'Array', serverList: 'Forbidden' } },
      'the API key may not list servers',
    ],
    [
      'the last read failed',
      { provider: { productList: 'Array', imageList: 'Array', serverList: 'Unknown' } },
      'the last read of the list of servers failed',
    ],
    ['there are too many', { serverCounts: { all: 700, orphaned: 600, unclear: 0 } }, '600 more servers'],
  ])('may be more if %s', (_why, changes, says) => {
    expect(unheldIn([catalogOf('c', [], changes)], []).unknown).toEqual([
      expect.stringMatching(new RegExp(`^ServerCatalog default/c: .*${says}`)),
    ]);
  });
});

describe('the age of the lists of servers', () => {
  const listing = (name: string, refreshInterval?: string): ServerCatalog => {
    const catalog = catalogOf(name, []);
    return { ...catalog, spec: { ...catalog.spec, ...(refreshInterval !== undefined && { refreshInterval }) } };
  };

  it('is told for each interval, and only of catalogs that have a list', () => {
    const without = { ...catalogOf('f', []), spec: storedCatalog('f').spec };
    const lists = [listing('c'), listing('d', '5m'), listing('e'), catalogOf('g', [], { servers: undefined }), without];
    expect(ageOfLists(lists)).toEqual([
      'the lists of ServerCatalogs default/c, default/e may be 1h old, or older if the operator does not run',
      'the list of ServerCatalog default/d may be 5m old, or older if the operator does not run',
    ]);
    expect(ageOfLists([without])).toEqual([]);
  });
});

describe('the command that may tell more', () => {
  it.each([
    ['read', false, / vpscat --context=c --all vps-operator/],
    ['read', true, / vpscat --context=c --all-namespaces --all vps-operator/],
    ['ask', false, / vpscat NAME --context=c --type/],
    // kubectl patch takes one object of one namespace.
    ['ask', true, / vpscat NAME --context=c --namespace NAMESPACE --type/],
  ] as const)('%s, in all namespaces: %s', (next, allNamespaces, command) => {
    expect(nextCommand({ next }, ' --context=c', allNamespaces)).toEqual([expect.stringMatching(command)]);
  });
});
