/** What the account's list of servers tells about an order whose outcome is unknown. Pure. */
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { timestamp } from '../../base/duration.ts';
import { identifierKey } from '../../base/identifier.ts';
import { claimsOf } from '../../virtual-server/decision/claims.ts';
import type { UnheldServer } from './orphans.ts';

/** A listed server, and whether the order may have created it. */
export interface Suspect {
  server: UnheldServer;
  /** `unlikely` ones are not offered, but nothing is proven while there are some. */
  verdict: 'candidate' | 'unlikely' | 'excluded';
  note: string;
}

/** What is known of the order. */
export interface LostOrder {
  object: VirtualServer;
  attempt: string;
  /** RFC 3339. */
  attemptedAt: string | undefined;
}

/** Two leaders, whose clocks may differ, may have written the times of the order and of the list (ms). */
const SKEW_MS = 60_000;

/**
 * Judges the servers that no object holds. The list tells neither when a server was created nor who ordered it, so a candidate is
 * never proven. `objects`: all that are known.
 */
export function suspectsAmong(
  servers: readonly UnheldServer[],
  { object, attemptedAt }: LostOrder,
  objects: readonly VirtualServer[],
): Suspect[] {
  const others = objects.filter(({ metadata }) => metadata.uid !== object.metadata.uid);
  return servers.map((server): Suspect => {
    const { unheldSince, product, name } = server;
    if (Date.parse(attemptedAt ?? '') - Date.parse(unheldSince ?? '') > SKEW_MS)
      return { server, verdict: 'excluded', note: 'was there before the order' };
    // Its own name may look so too; otherwise only orders under an identifier send such a name, and their servers need no search.
    if (name !== object.spec.serverName && OPERATOR_NAME.test(name ?? ''))
      return { server, verdict: 'excluded', note: 'has the name of another order' };
    if (product !== undefined && product !== object.spec.product)
      return { server, verdict: 'unlikely', note: `not ${object.spec.product}, which was ordered` };
    const rivals = others.filter((other) => mayBeOf(other, server)).map(({ metadata }) => metadata.name);
    return {
      server,
      verdict: 'candidate',
      note: rivals.length === 0 ? '' : `may be the server of ${rivals.join(', ')}`,
    };
  });
}

/** As the operator names a server: `namespace/name (start of the uid)`. */
const OPERATOR_NAME = /^\S+\/\S+ \([0-9a-f]{8}\)$/;

function mayBeOf(other: VirtualServer, { identifier, unheldSince = '' }: UnheldServer): boolean {
  const { mayHold, orderedAt } = claimsOf(other);
  const isNamed = mayHold.some((each) => identifierKey(each) === identifierKey(identifier));
  return isNamed || (orderedAt !== undefined && orderedAt <= unheldSince);
}

/** As long as reliability.md asks before an order whose server nothing shows is given up: twelve times the default grace (ms). */
const ORDER_MS = 60 * 60_000;
/** How long denials have to last: the default of --absence-grace (ms). */
const DENIALS_MS = 5 * 60_000;

/** A request to read the list again, which remembers since when the list has denied that the order created a server. */
export interface Request {
  value: string;
  /** ms since the epoch: of the first of these reads. */
  since: number;
}

/** `isDenied`: the list as it was before this request had no server that the order may have created either. */
export function requestFor({ attempt }: LostOrder, before: ServerCatalog, isDenied: boolean, now: number): Request {
  const [own, first = ''] = before.status?.lastHandledReconcileAt?.split(' ') ?? [];
  const known = own === attempt && isDenied ? Date.parse(first) : NaN;
  const since = known <= now ? known : now;
  return { value: `${attempt} ${timestamp(since)} ${new Date(now).toISOString()}`, since };
}

/** When another read can prove that the order created nothing (ms since the epoch); undefined if this one does. */
export function provenFrom({ attemptedAt = '' }: LostOrder, { since }: Request, now: number): number | undefined {
  const from = Math.max(Date.parse(attemptedAt) + ORDER_MS, since + DENIALS_MS);
  // Without the time of the order, nothing is proven.
  if (Number.isNaN(from)) return Infinity;
  return now >= from ? undefined : from;
}
