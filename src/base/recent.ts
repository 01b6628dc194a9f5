/** A cache of the entries that were added last. */

export class Recent<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #size: number;

  /** Holds at most `size` entries. */
  constructor(size: number) {
    this.#size = size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#size) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}

/** A pure function that computes only what is not among its last results. */
export function remembering<K, V>(size: number, compute: (key: K) => V): (key: K) => V {
  const recent = new Recent<K, { value: V }>(size);
  return (key) => {
    const known = recent.get(key);
    if (known !== undefined) return known.value;
    const value = compute(key);
    recent.set(key, { value });
    return value;
  };
}
