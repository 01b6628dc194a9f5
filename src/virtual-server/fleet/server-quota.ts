/** Counts the servers that each namespace has or is about to order, for `--max-servers-per-namespace`. */

export class ServerQuota {
  readonly #perNamespace: number;
  /** Namespace -> uids of objects that hold a server or may come to hold one. */
  readonly #taken = new Map<string, Set<string>>();
  /** Uid -> namespace of objects whose visit is about to order. A reservation lasts once the object holds something. */
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

  /** Takes a place for the object; false, without taking one, if none is left. */
  reserve(namespace: string, uid: string): boolean {
    if (this.#perNamespace === 0) return true;
    const reserved = [...this.#reserved].filter(([, other]) => other === namespace).map(([holder]) => holder);
    const others = new Set([...(this.#taken.get(namespace) ?? []), ...reserved]);
    others.delete(uid);
    const left = [...this.#left.values()].filter((other) => other === namespace).length;
    if (others.size + left >= this.#perNamespace) return false;
    this.#reserved.set(uid, namespace);
    return true;
  }

  /** The visit has ended: from now on, what it claimed counts as the object's own. */
  endReservation(uid: string): void {
    this.#reserved.delete(uid);
  }

  /** 0: no limit. */
  get perNamespace(): number {
    return this.#perNamespace;
  }
}
