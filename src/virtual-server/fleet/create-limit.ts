/** The brake on runaway loops: how many creates a namespace may have in an hour. Held in memory; a restart begins anew. */

const HOUR_MS = 60 * 60_000;

export class CreateLimit {
  readonly #perHour: number;
  /** Namespace -> uid -> when the create was reserved (ms), oldest first. */
  readonly #reserved = new Map<string, Map<string, number>>();

  /** `perHour` 0: no limit. */
  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /**
   * Reserves one create for the object; returns 0, or without reserving the ms until one is free. `now` is in ms of a
   * clock that only goes forward.
   */
  reserve(namespace: string, uid: string, now: number): number {
    if (this.#perHour === 0) return 0;
    this.#forgetIdle(now);
    const stamps = this.#reserved.get(namespace) ?? new Map<string, number>();
    for (const [holder, at] of stamps) if (now - at >= HOUR_MS || holder === uid) stamps.delete(holder);
    const oldest = stamps.values().next().value;
    if (stamps.size >= this.#perHour && oldest !== undefined) return oldest + HOUR_MS - now;
    // The namespace that reserved last stands last.
    this.#reserved.delete(namespace);
    this.#reserved.set(namespace, stamps.set(uid, now));
    return 0;
  }

  /** Namespaces come and go; one without a reservation in the last hour is forgotten. */
  #forgetIdle(now: number): void {
    for (const [namespace, stamps] of this.#reserved) {
      const last = [...stamps.values()].at(-1);
      if (last !== undefined && now - last < HOUR_MS) return;
      this.#reserved.delete(namespace);
    }
  }

  /** The create came to nothing and does not count. */
  giveBack(namespace: string, uid: string): void {
    this.#reserved.get(namespace)?.delete(uid);
  }
}
