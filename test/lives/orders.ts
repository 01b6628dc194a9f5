/**
 * Which object each order was sent for. An order does not name its object, and the members of a set all send the same
 * order, so this follows the visit that sends it.
 */
import { logFields } from '../../src/base/logger.ts';

export class Orders {
  /** Called with the serial and the uid of each order that the provider accepts. */
  readonly listeners = new Set<(serial: number, uid: string) => void>();
  /** By visit: the uid of the object that it visits. */
  readonly #visits = new Map<unknown, string>();
  /** By serial. */
  readonly #uids = new Map<number, string>();
  /** By uid. */
  readonly #serials = new Map<string, Set<number>>();

  /** Call it in a visit, before it orders. */
  announce(uid: string): void {
    this.#visits.set(logFields()['reconcileID'], uid);
  }

  /** The uid of the object for which the present visit orders. */
  ordering(): string {
    const uid = this.#visits.get(logFields()['reconcileID']);
    if (uid === undefined) throw new Error('an order was sent before the journal knew of it');
    return uid;
  }

  accepted(serial: number, uid: string): void {
    this.#uids.set(serial, uid);
    this.#serials.set(uid, (this.#serials.get(uid) ?? new Set()).add(serial));
    for (const listener of this.listeners) listener(serial, uid);
  }

  /** Serials of the servers that were ordered for this object. */
  of(uid: string): ReadonlySet<number> {
    return this.#serials.get(uid) ?? NONE;
  }

  /** Undefined for a server that no operator ordered. */
  uidOf(serial: number): string | undefined {
    return this.#uids.get(serial);
  }
}

const NONE: ReadonlySet<number> = new Set();
