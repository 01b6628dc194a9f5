/** Which object holds which server: an index over every object that the process sees, fed by the informer and by own writes. */

export class Holders {
  readonly #byIdentifier = new Map<string, Map<string, string>>();
  readonly #byUid = new Map<string, string>();

  /** The object `uid` (`key`: `namespace/name`) holds this identifier now, or none. */
  set(uid: string, key: string, identifier: string | undefined): void {
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

  /** Every other object that holds it, as `namespace/name`, sorted. */
  others(identifier: string, uid: string): string[] {
    const holders = this.#byIdentifier.get(identifier);
    if (holders === undefined || (holders.size === 1 && holders.has(uid))) return [];
    return [...holders].filter(([holder]) => holder !== uid).map(([, key]) => key).sort();
  }

  /** Uids of all objects that hold it. */
  uids(identifier: string): string[] {
    return [...(this.#byIdentifier.get(identifier)?.keys() ?? [])];
  }
}
