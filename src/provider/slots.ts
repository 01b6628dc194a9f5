/**
 * Limits how many calls run at the same time, so that calls which never end cannot hold up those of others: in all, per
 * tenant (a namespace), and per account. Waiting calls take turns by tenant and account.
 */
import { Turns } from './turns.ts';

interface SlotsOptions {
  /** Calls in all. */
  total: number;
  /** Calls of one tenant, and calls of one account. */
  share: number;
}

/** Who makes a call. */
export interface Holder {
  tenant: string;
  account: string;
}

interface Waiter {
  names: readonly string[];
  resolve: (release: () => void) => void;
  reject: (error: Error) => void;
}

export class Slots {
  readonly #share: number;
  readonly #waiting = new Turns<Waiter>();
  /** Slots in use, by tenant and by account. */
  readonly #held = new Map<string, number>();
  #free: number;
  #closed: Error | undefined;

  constructor({ total, share }: SlotsOptions) {
    this.#free = total;
    this.#share = share;
  }

  /**
   * Resolves with the function that returns the slot, which may be called more than once. Rejects only with the error
   * given to `close`.
   */
  take({ tenant, account }: Holder): Promise<() => void> {
    if (this.#closed) return Promise.reject(this.#closed);
    const names = [`tenant ${tenant}`, `account ${account}`];
    return new Promise((resolve, reject) => {
      this.#waiting.push(names.join('\n'), { names, resolve, reject });
      this.#serve();
    });
  }

  /** Rejects all waiting and all future callers. */
  close(error: Error): void {
    this.#closed = error;
    for (let waiter = this.#waiting.take(); waiter !== undefined; waiter = this.#waiting.take()) waiter.reject(error);
  }

  #serve(): void {
    const mayGo = ({ names }: Waiter): boolean => names.every((name) => (this.#held.get(name) ?? 0) < this.#share);
    while (this.#free > 0) {
      const waiter = this.#waiting.take(mayGo);
      if (waiter === undefined) return;
      this.#count(waiter.names, 1);
      let isHeld = true;
      waiter.resolve(() => {
        if (!isHeld) return;
        isHeld = false;
        this.#count(waiter.names, -1);
        this.#serve();
      });
    }
  }

  #count(names: readonly string[], by: 1 | -1): void {
    this.#free -= by;
    for (const name of names) {
      const held = (this.#held.get(name) ?? 0) + by;
      if (held === 0) this.#held.delete(name);
      else this.#held.set(name, held);
    }
  }
}
