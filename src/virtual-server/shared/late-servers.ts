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

interface Sight {
  fingerprint: Fingerprint;
  /** The orders that were open then. */
  orders: ReadonlySet<string>;
}

export class LateServers {
  /** By the uid of the object whose order failed, and by identifier. */
  readonly #sights = new Map<string, Map<string, Sight>>();

  /** Which of the orders that are `open` now may have led to this server. */
  candidates(uid: string, server: Server, open: readonly string[]): string[] {
    const fingerprint = fingerprintOf(server);
    // Nothing tells such a server from the next one with its identifier.
    if (identifyingIn(fingerprint).length === 0) return [...open];
    const key = identifierKey(server.identifier);
    const sights = this.#sights.get(uid) ?? new Map<string, Sight>();
    const known = sights.get(key);
    if (known !== undefined && isDeepEqual(known.fingerprint, fingerprint))
      return open.filter((order) => known.orders.has(order));
    this.#sights.set(uid, sights.set(key, { fingerprint, orders: new Set(open) }));
    return [...open];
  }

  /** The provider does not show the server: the next one with its identifier may be another. */
  missed(uid: string, identifier: string): void {
    this.#sights.get(uid)?.delete(identifierKey(identifier));
  }

  forget(uid: string): void {
    this.#sights.delete(uid);
  }
}
