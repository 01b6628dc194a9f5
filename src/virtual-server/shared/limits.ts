/** What a namespace may order: so many servers (`--max-servers-per-namespace`), and so many orders an hour. */

const HOUR_MS = 60 * 60_000;

/** What a visit has taken before others take it. The visit releases it at its end, unless it keeps it. */
export interface Reservation {
  release: () => void;
}

/** Stops runaway loops: limits the orders of a namespace per hour. Held in memory; a restart begins at zero. */
export class CreateLimit {
  readonly #perHour: number;
  /** Namespace -> uid -> when the create was reserved (ms), oldest first. */
  readonly #reserved = new Map<string, Map<string, number>>();

  /** `perHour` 0: no limit. */
  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /**
   * Reserves one create for the object, or reserves nothing and returns the ms until one is free. `now` is in ms on a
   * clock that only moves forward.
   */
  reserve(namespace: string, uid: string, now: number): Reservation | { freeInMs: number } {
    const reservation = { release: () => this.#reserved.get(namespace)?.delete(uid) };
    if (this.#perHour === 0) return reservation;
    this.#forgetIdle(now);
    const stamps = this.#reserved.get(namespace) ?? new Map<string, number>();
    for (const [holder, at] of stamps) if (now - at >= HOUR_MS || holder === uid) stamps.delete(holder);
    const oldest = stamps.values().next().value;
    if (stamps.size >= this.#perHour && oldest !== undefined) return { freeInMs: oldest + HOUR_MS - now };
    // Keep the namespace with the latest reservation last.
    this.#reserved.delete(namespace);
    this.#reserved.set(namespace, stamps.set(uid, now));
    return reservation;
  }

  /** Namespaces come and go, so one without a reservation in the last hour is forgotten. */
  #forgetIdle(now: number): void {
    for (const [namespace, stamps] of this.#reserved) {
      const last = [...stamps.values()].at(-1);
      if (last !== undefined && now - last < HOUR_MS) return;
      this.#reserved.delete(namespace);
    }
  }
}

/** Counts the servers that each namespace has or is about to order. */
export class ServerQuota {
  readonly #perNamespace: number;
  /** Namespace -> uids of objects that hold a server or may come to hold one. */
  readonly #taken = new Map<string, Set<string>>();
  /** Uid -> namespace of objects whose visit is about to order. */
  readonly #reserved = new Map<string, string>();
  /** Identifiers of servers that live on without an object -> the namespace that ordered or adopted them. */
  readonly #left = new Map<string, string>();

  /** `perNamespace` 0: no limit. */
  constructor(perNamespace: number) {
    this.#perNamespace = perNamespace;
  }

  /** Whether the newest version of the object takes a place. */
  set(namespace: string, uid: string, takes: boolean): void {
    if (this.#perNamespace === 0) return;
    const taken = this.#taken.get(namespace) ?? new Set<string>();
    if (takes) this.#taken.set(namespace, taken.add(uid));
    else if (taken.delete(uid) && taken.size === 0) this.#taken.delete(namespace);
  }

  /**
   * An object of the namespace was released without its server. The server keeps its place until an object holds it
   * again.
   */
  left(namespace: string, identifier: string): void {
    if (this.#perNamespace > 0) this.#left.set(identifier, namespace);
  }

  /** An object holds this server and takes its place. */
  held(identifier: string): void {
    this.#left.delete(identifier);
  }

  /** Takes a place for the object, until it holds something itself; undefined if none is left. */
  reserve(namespace: string, uid: string): Reservation | undefined {
    const reservation = { release: () => this.#reserved.delete(uid) };
    if (this.#perNamespace === 0) return reservation;
    const reserved = [...this.#reserved].filter(([, other]) => other === namespace).map(([holder]) => holder);
    const others = new Set([...(this.#taken.get(namespace) ?? []), ...reserved]);
    others.delete(uid);
    const left = [...this.#left.values()].filter((other) => other === namespace).length;
    if (others.size + left >= this.#perNamespace) return undefined;
    this.#reserved.set(uid, namespace);
    return reservation;
  }

  /** 0: no limit. */
  get perNamespace(): number {
    return this.#perNamespace;
  }
}
