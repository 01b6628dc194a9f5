/**
 * Entries of many owners, by key. `put` replaces all entries of an owner, so that those of its earlier version disappear by
 * themselves.
 */
export class OwnedIndex<K, V> {
  /** By key: the entries by owner, the one that was put last at the end. */
  readonly #byKey = new Map<K, Map<string, V>>();
  readonly #keys = new Map<string, readonly K[]>();

  put(owner: string, entries: readonly (readonly [K, V])[]): void {
    for (const key of this.#keys.get(owner) ?? []) {
      const owners = this.#byKey.get(key);
      owners?.delete(owner);
      if (owners?.size === 0) this.#byKey.delete(key);
    }
    if (entries.length === 0) this.#keys.delete(owner);
    else
      this.#keys.set(
        owner,
        entries.map(([key]) => key),
      );
    for (const [key, value] of entries) {
      const owners = this.#byKey.get(key) ?? new Map<string, V>();
      this.#byKey.set(key, owners.set(owner, value));
    }
  }

  /** The entries with this key, by owner. */
  of(key: K): ReadonlyMap<string, V> {
    return this.#byKey.get(key) ?? NONE;
  }

  has(key: K): boolean {
    return this.#byKey.has(key);
  }
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();
