/**
 * Servers without a mark that appeared after the order which named them had failed. The provider may have used the identifier
 * again, so such a server can belong to any order that was open when it was first seen, but to no later one. In memory:
 * after a restart, it counts as first seen then, which only takes longer.
 */
import { isDeepEqual } from '../../base/deep-equal.ts';
import { identifierKey } from '../../base/identifier.ts';
import type { Fingerprint } from '../../api/record.ts';
import type { Server } from '../../provider/types.ts';
import { fingerprintOf, identifyingIn } from '../decision/identity.ts';

/** If no visit has looked for a server for longer, it counts as first seen (ms): its identifier may have been used again. */
const FORGOTTEN_MS = 60 * 60_000;

interface Sight {
  fingerprint: Fingerprint;
  /** The orders that were open when it was first seen. */
  orders: ReadonlySet<string>;
  /** When it was first and last seen, by the monotonic clock (ms). */
  since: number;
  seenAt: number;
}

interface Candidates {
  /** Those of the open orders that may have led to the server. */
  orders: string[];
  /** For how long it has been seen (ms). */
  seenForMs: number;
}

export class LateServers {
  /** By the uid of the object whose order failed, and by identifier. */
  readonly #sights = new Map<string, Map<string, Sight>>();

  /** `open`: the orders that are open now. `now`: monotonic (ms). */
  candidates(uid: string, server: Server, { open, now }: { open: readonly string[]; now: number }): Candidates {
    const fingerprint = fingerprintOf(server);
    const key = identifierKey(server.identifier);
    const sights = this.#sights.get(uid) ?? new Map<string, Sight>();
    const known = sights.get(key);
    const isSame =
      known !== undefined && isDeepEqual(known.fingerprint, fingerprint) && now - known.seenAt < FORGOTTEN_MS;
    const sight = isSame ? { ...known, seenAt: now } : { fingerprint, orders: new Set(open), since: now, seenAt: now };
    this.#sights.set(uid, sights.set(key, sight));
    // Without addresses, nothing tells the server from the next one with its identifier.
    const isTold = identifyingIn(fingerprint).length > 0;
    const orders = open.filter((order) => !isTold || sight.orders.has(order));
    return { orders, seenForMs: now - sight.since };
  }

  /** The provider does not show the server: the next one with its identifier may be another. */
  missed(uid: string, identifier: string): void {
    this.#sights.get(uid)?.delete(identifierKey(identifier));
  }

  forget(uid: string): void {
    this.#sights.delete(uid);
  }
}
