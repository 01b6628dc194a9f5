/** Which servers of an account no object holds, by the ServerCatalogs that list them. Pure. */
import { CATALOG_KIND } from '../../api/names.ts';
import type { CatalogServer, ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { identifierKey } from '../../base/identifier.ts';
import { claimsOf } from '../../virtual-server/decision/claims.ts';
import { conditionOf, inWords, NOT_REPORTED } from './readiness.ts';

/** A server that no object holds, or perhaps none. */
export interface UnheldServer extends Omit<CatalogServer, 'state' | 'heldBy'> {
  state: 'Orphaned' | 'Unclear';
  /** Of the first catalog that lists it. */
  catalog: { namespace: string; name: string; secret: string };
}

export interface UnheldServers {
  servers: UnheldServer[];
  /** Why there may be more. */
  unknown: string[];
  /** What may tell more: another read of the lists, or a catalog that asks for them. */
  next: 'read' | 'ask' | undefined;
}

const asksForList = ({ spec }: ServerCatalog): boolean => spec.listServers === true;

/** How old the lists may be, a line for each interval: the status does not tell when an unchanged list was read. */
export function ageOfLists(catalogs: readonly ServerCatalog[]): string[] {
  const lists = catalogs.filter((catalog) => asksForList(catalog) && catalog.status?.servers !== undefined);
  return [...Map.groupBy(lists, ({ spec }) => spec.refreshInterval)].map(([interval, group]) => {
    const names = group.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`).join(', ');
    const what = group.length === 1 ? `the list of ${CATALOG_KIND} ${names}` : `the lists of ${CATALOG_KIND}s ${names}`;
    return `${what} may be ${interval} old, or older if the operator does not run`;
  });
}

/** `objects`: as they are now, because a catalog is as old as the last read of its list. */
export function unheldIn(catalogs: readonly ServerCatalog[], objects: readonly VirtualServer[]): UnheldServers {
  const asked = catalogs.filter(asksForList);
  const claims = objects.map(claimsOf);
  const listed = asked.flatMap(({ status }) => status?.servers ?? []);
  const heldThen = listed.filter(({ state }) => state === 'Held').map(({ identifier }) => identifier);
  const held = keysOf([...heldThen, ...claims.flatMap(({ holds }) => holds)]);
  const unclear = keysOf(claims.flatMap(({ mayHold }) => mayHold));
  const found = new Map<string, UnheldServer>();
  for (const { metadata, spec, status } of asked)
    for (const { state, heldBy: _heldBy, ...server } of status?.servers ?? []) {
      const key = identifierKey(server.identifier);
      if (held.has(key)) continue;
      const { namespace, name } = metadata;
      const catalog = { namespace, name, secret: spec.apiKeySecretRef.name };
      const isUnclear = state === 'Unclear' || unclear.has(key) || found.get(key)?.state === 'Unclear';
      found.set(key, { ...server, catalog, ...found.get(key), state: isUnclear ? 'Unclear' : 'Orphaned' });
    }
  const unknown = asked.flatMap((catalog) => {
    const why = problemOf(catalog);
    return why === undefined ? [] : [`${nameOf(catalog)}: ${why}`];
  });
  const servers = [...found.values()].sort((a, b) => a.state.localeCompare(b.state) || compare(a, b));
  const canList = asked.some(({ status }) => status?.provider?.serverList !== 'Unavailable');
  const askable = catalogs.filter((catalog) => whyUnlisted(catalog) === undefined);
  const canAsk = asked.length === 0 && askable.length > 0;
  return {
    servers,
    next: canList ? 'read' : canAsk ? 'ask' : undefined,
    unknown:
      asked.length > 0 ? unknown : catalogs.length > 0 && askable.length === 0 ? unlisted(catalogs) : [NONE_ASKS],
  };
}

const NONE_ASKS = `no ${CATALOG_KIND} lists servers: none has spec.listServers: true`;

/** Each catalog has found that it cannot list servers. */
const unlisted = (catalogs: readonly ServerCatalog[]): string[] =>
  catalogs.map((catalog) => `${nameOf(catalog)}: ${whyUnlisted(catalog)}`);

const nameOf = ({ metadata: { namespace, name } }: ServerCatalog): string => `${CATALOG_KIND} ${namespace}/${name}`;

/** Why the last read found no list of servers that spec.listServers could ask for; undefined: it did not find that. */
export function whyUnlisted({ metadata, status }: ServerCatalog): string | undefined {
  // A changed spec may name another account.
  if (status?.observedGeneration !== metadata.generation) return undefined;
  switch (status.provider?.serverList) {
    case 'Unavailable':
      return 'the provider has no list of servers';
    case 'Forbidden':
      return 'the API key may not list servers';
    default:
      return undefined;
  }
}

const compare = (a: UnheldServer, b: UnheldServer): number => (a.identifier < b.identifier ? -1 : 1);

const keysOf = (identifiers: readonly string[]): ReadonlySet<string> => new Set(identifiers.map(identifierKey));

/** Why the list of this catalog is not complete and current; undefined if it is. */
function problemOf(catalog: ServerCatalog): string | undefined {
  const { metadata, status } = catalog;
  const trouble = ['Stalled', 'Reconciling']
    .map((type) => conditionOf(catalog, type))
    .find((condition) => condition?.status === 'True');
  const ready = conditionOf(catalog, 'Ready');
  if (trouble !== undefined || ready?.status !== 'True') {
    const why = trouble ?? ready;
    return why === undefined ? NOT_REPORTED : `${why.reason}: ${inWords(why)}`;
  }
  const { serverCounts, servers = [], observedGeneration } = status ?? {};
  if (observedGeneration !== metadata.generation) return 'the operator has not read it again since its spec changed';
  const { serverList } = status?.provider ?? {};
  const absent = whyUnlisted(catalog);
  if (absent !== undefined) return absent;
  if (serverList !== 'Available') return 'the last read of the list of servers failed';
  if (serverCounts === undefined) return 'the operator has not listed the servers yet, or is too old for it';
  const more = serverCounts.orphaned + serverCounts.unclear - servers.filter(({ state }) => state !== 'Held').length;
  return more > 0 ? `${more} more servers do not fit into its status` : undefined;
}
