/** A queue in which tenants take turns: a tenant with a thousand items delays another tenant by only one item. */
export class Turns<T> {
  /** Tenants in the order of their next turn; only tenants with items have an entry. */
  readonly #lines = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  push(tenant: string, item: T): void {
    const line = this.#lines.get(tenant);
    if (line === undefined) this.#lines.set(tenant, [item]);
    else line.push(item);
  }

  /** Removes the oldest item of the next tenant; passes over tenants whose oldest item `mayGo` refuses. */
  take(mayGo: (item: T) => boolean = () => true): T | undefined {
    for (const [tenant, line] of this.#lines) {
      const [item] = line;
      if (item === undefined || !mayGo(item)) continue;
      line.shift();
      this.#lines.delete(tenant);
      if (line.length > 0) this.#lines.set(tenant, line);
      return item;
    }
    return undefined;
  }
}
