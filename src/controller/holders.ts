/** Which object holds which server: an index over every object that the process sees, fed by the informer and by own writes. */

export class Holders {
  readonly #byIdentifier = new Map<string, Map<string, string>>();
  readonly #byUid = new Map<string, string>();
  readonly #reserved = new Set<string>();

  /** The object `uid` (`key`: `namespace/name`) holds this identifier, or none. A reservation stays until it is ended. */
  set(uid: string, key: string, identifier: string | undefined): void {
    if (identifier !== undefined) this.#reserved.delete(uid);
    else if (this.#reserved.has(uid)) return;
    this.#put(uid, key, identifier);
  }

  /** The object is about to take the server over. */
  reserve(uid: string, key: string, identifier: string): void {
    this.#reserved.add(uid);
    this.#put(uid, key, identifier);
  }

  /** Ends a reservation that did not become a hold. */
  endReservation(uid: string, key: string): void {
    if (this.#reserved.delete(uid)) this.#put(uid, key, undefined);
  }

  /** Every other object that holds it, as `namespace/name`, sorted. */
  others(identifier: string, uid: string): string[] {
    const holders = this.#byIdentifier.get(identifier);
    if (holders === undefined || (holders.size === 1 && holders.has(uid))) return [];
    const others = [...holders].filter(([holder]) => holder !== uid);
    return others.map(([, key]) => key).sort();
  }

  #put(uid: string, key: string, identifier: string | undefined): void {
    const before = this.#byUid.get(uid);
    if (before === identifier) return;
    if (before !== undefined) {
      const holders = this.#byIdentifier.get(before);
      holders?.delete(uid);
      if (holders?.size === 0) this.#byIdentifier.delete(before);
      this.#byUid.delete(uid);
    }
    if (identifier === undefined) return;
    this.#byUid.set(uid, identifier);
    const holders = this.#byIdentifier.get(identifier) ?? new Map<string, string>();
    this.#byIdentifier.set(identifier, holders.set(uid, key));
  }
}
