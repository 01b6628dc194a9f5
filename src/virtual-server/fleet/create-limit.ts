/** Stops runaway loops: limits the creates of a namespace per hour. Held in memory; a restart begins at zero. */

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
   * Reserves one create for the object and returns 0, or reserves nothing and returns the ms until one is free. `now`
   * is in ms on a clock that only moves forward.
   */
  reserve(namespace: string, uid: string, now: number): number {
    if (this.#perHour === 0) return 0;
    this.#forgetIdle(now);
    const stamps = this.#reserved.get(namespace) ?? new Map<string, number>();
    for (const [holder, at] of stamps) if (now - at >= HOUR_MS || holder === uid) stamps.delete(holder);
    const oldest = stamps.values().next().value;
    if (stamps.size >= this.#perHour && oldest !== undefined) return oldest + HOUR_MS - now;
    // Keep the namespace with the latest reservation last.
    this.#reserved.delete(namespace);
    this.#reserved.set(namespace, stamps.set(uid, now));
    return 0;
  }

  /** Namespaces come and go, so one without a reservation in the last hour is forgotten. */
  #forgetIdle(now: number): void {
    for (const [namespace, stamps] of this.#reserved) {
      const last = [...stamps.values()].at(-1);
      if (last !== undefined && now - last < HOUR_MS) return;
      this.#reserved.delete(namespace);
    }
  }

  /** The create made no server and does not count. */
  giveBack(namespace: string, uid: string): void {
    this.#reserved.get(namespace)?.delete(uid);
  }
}
