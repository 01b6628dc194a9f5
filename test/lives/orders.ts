/**
 * Which object each order was sent for. An order does not name its object, and the members of a set all send the same
 * order, so this follows the visit that sends it.
 */
import type { TaskNumber } from '../../src/base/exact-numbers.ts';
import { logFields } from '../../src/base/logger.ts';

/** The object that an order is for, and the name of the attempt. */
export interface Sent {
  uid: string;
  attempt: string;
  /** It is sent under an identifier of the operator, and may be sent again. */
  isNamed: boolean;
}

export class Orders {
  /** Called with the serial and the uid of each order that the provider accepts. */
  readonly listeners = new Set<(serial: number, uid: string) => void>();
  readonly #announced = new Set<string>();
  /** By visit: the order that it is about to send. */
  readonly #visits = new Map<unknown, Sent>();
  /** By serial. */
  readonly #sent = new Map<number, Sent>();
  /** By attempt: the task that the provider has accepted, and whether the process that ordered has followed it. */
  readonly #tasks = new Map<string, { task: TaskNumber; isFollowed: boolean }>();
  /** By identifier: the order that was sent under it. */
  readonly #names = new Map<string, Sent>();
  /** By serial: for how long a proxy held the order back (ms). */
  readonly #held = new Map<number, number>();
  /** By identifier: how many orders under it were answered with 202. */
  readonly #answered = new Map<string, number>();
  /** Number of requests under an identifier, and of those that were not the first under theirs. */
  requests = 0;
  repeats = 0;
  /** By uid. */
  readonly #serials = new Map<string, Set<number>>();

  /** Call it in a visit, before it orders. */
  announce(sent: Sent): 'first' | 'again' {
    this.#visits.set(logFields()['reconcileID'], sent);
    const isFirst = !this.#announced.has(sent.attempt);
    this.#announced.add(sent.attempt);
    return isFirst ? 'first' : 'again';
  }

  /** What the present visit orders. */
  ordering(): Sent {
    const sent = this.#visits.get(logFields()['reconcileID']);
    if (sent === undefined) throw new Error('an order was sent before the journal or its object knew of it');
    return sent;
  }

  /** A request under this identifier leaves. */
  sends(identifier: string, sent: Sent): void {
    this.requests += 1;
    if (this.#names.has(identifier)) this.repeats += 1;
    this.#names.set(identifier, sent);
  }

  sentUnder(identifier: string): Sent | undefined {
    return this.#names.get(identifier);
  }

  /** A process has got a 202 for an order under this identifier. */
  answered(identifier: string): void {
    this.#answered.set(identifier, this.answersUnder(identifier) + 1);
  }

  answersUnder(identifier: string): number {
    return this.#answered.get(identifier) ?? 0;
  }

  /** How long before the provider accepted it the order was sent, because a proxy held it back (ms). */
  heldFor(serial: number): number {
    return this.#held.get(serial) ?? 0;
  }

  accepted(serial: number, sent: Sent, task: TaskNumber, heldMs = 0): void {
    const { uid } = sent;
    if (heldMs > 0) this.#held.set(serial, heldMs);
    this.#tasks.set(sent.attempt, { task, isFollowed: false });
    this.#sent.set(serial, sent);
    this.#serials.set(uid, (this.#serials.get(uid) ?? new Set()).add(serial));
    for (const listener of this.listeners) listener(serial, uid);
  }

  /** The process that sent the order continues with this task. */
  followed(attempt: string, task: TaskNumber): void {
    const accepted = this.#tasks.get(attempt);
    if (accepted?.task === task) accepted.isFollowed = true;
  }

  /** The task of an accepted order, unless the process that sent the order has followed it. */
  unfollowed(attempt: string): TaskNumber | undefined {
    const accepted = this.#tasks.get(attempt);
    return accepted?.isFollowed === false ? accepted.task : undefined;
  }

  /** Serials of the servers that were ordered for this object. */
  of(uid: string): ReadonlySet<number> {
    return this.#serials.get(uid) ?? NONE;
  }

  /** Undefined for a server that no operator ordered. */
  uidOf(serial: number): string | undefined {
    return this.#sent.get(serial)?.uid;
  }

  /** Whether this server was ordered under an identifier of the operator. */
  isNamed(serial: number): boolean {
    return this.#sent.get(serial)?.isNamed === true;
  }

  /** The attempt that ordered this server; undefined for a server that no operator ordered. */
  attemptOf(serial: number): string | undefined {
    return this.#sent.get(serial)?.attempt;
  }
}

const NONE: ReadonlySet<number> = new Set();
