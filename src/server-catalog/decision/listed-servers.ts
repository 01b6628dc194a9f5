/** Which of the account's servers a VirtualServer holds. Pure. */
import { CATALOG_BOUNDS, MAX_ENTRIES, type CatalogServer, type ServerCatalogStatus } from '../../api/server-catalog.ts';
import { MAX_IDENTIFIER } from '../../api/record.ts';
import type { ServerClaims } from '../../api/server-state.ts';
import { timestamp } from '../../base/duration.ts';
import { identifierKey } from '../../base/identifier.ts';
import { cut } from '../../base/text.ts';
import type { AccountServer } from '../../provider/types.ts';

/** `claims`: of all objects, as they were before the list was read and as they are now. */
export interface ServersRead {
  listed: readonly AccountServer[];
  claims: readonly ServerClaims[];
}

/** Those that no object holds come first, so that they are kept if there are too many. */
export function serversOf(
  { listed, claims }: ServersRead,
  { namespace, before = [], now }: { namespace: string; before?: readonly CatalogServer[] | undefined; now: number },
): Required<Pick<ServerCatalogStatus, 'servers' | 'serverCounts'>> {
  const holders = byIdentifier(claims, ({ holds }) => holds);
  const others = byIdentifier(claims, ({ mayHold }) => mayHold);
  const since = new Map(before.map((server) => [identifierKey(server.identifier), server.unheldSince]));
  const ordered = claims.flatMap(({ orderedAt }) => (orderedAt === undefined ? [] : [orderedAt]));
  // ISO 8601 in UTC: the order of the texts is the order of the times.
  const firstOrder = ordered.reduce<string | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined);
  const all = listed
    .filter(({ identifier }) => cut(identifier, MAX_IDENTIFIER) === identifier)
    .map(({ identifier, alias, name, product }): CatalogServer => {
      const keys = [identifier, ...(alias === undefined ? [] : [alias])].map(identifierKey);
      const of = (map: ReadonlyMap<string, ServerClaims[]>): ServerClaims[] =>
        keys.flatMap((key) => map.get(key) ?? []);
      const told = {
        identifier,
        ...(name !== undefined && { name: cut(name, CATALOG_BOUNDS.text) }),
        ...(product !== undefined && { product: cut(product, CATALOG_BOUNDS.text) }),
      };
      const held = of(holders);
      if (held.length > 0) {
        // Objects of other namespaces are not shown.
        const own = held.find((holder) => holder.namespace === namespace);
        return { ...told, state: 'Held', ...(own && { heldBy: own.name }) };
      }
      const unheldSince = since.get(identifierKey(identifier)) ?? timestamp(now);
      // A server that was seen before an order began is not the server of that order.
      const isUnclear = of(others).length > 0 || (firstOrder !== undefined && firstOrder <= unheldSince);
      return { ...told, state: isUnclear ? 'Unclear' : 'Orphaned', unheldSince };
    })
    .sort((a, b) => RANK[a.state] - RANK[b.state] || (a.identifier < b.identifier ? -1 : 1));
  const count = (state: CatalogServer['state']): number => all.filter((server) => server.state === state).length;
  return {
    servers: all.slice(0, MAX_ENTRIES),
    serverCounts: { all: listed.length, orphaned: count('Orphaned'), unclear: count('Unclear') },
  };
}

const RANK: Record<CatalogServer['state'], number> = { Orphaned: 0, Unclear: 1, Held: 2 };

function byIdentifier(
  claims: readonly ServerClaims[],
  of: (claim: ServerClaims) => readonly string[],
): ReadonlyMap<string, ServerClaims[]> {
  const map = new Map<string, ServerClaims[]>();
  for (const claim of claims)
    for (const key of of(claim).map(identifierKey)) map.set(key, [...(map.get(key) ?? []), claim]);
  return map;
}
