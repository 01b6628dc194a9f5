/**
 * Token bucket that limits the requests to the provider (`--provider-qps`). Requests with a higher priority go first. Within
 * a priority tenants take turns, and the requests of one tenant go in order of arrival.
 */
import { FairLine } from '../base/fair-line.ts';
import type { Timers } from '../base/timers.ts';
import type { Priority } from './types.ts';

interface BucketOptions {
  /** Requests per second, which is also the burst (at least 1). `Infinity` means no limit. */
  qps: number;
  timers: Pick<Timers, 'monotonic' | 'set' | 'clear'>;
}

interface Waiter {
  resolve: () => void;
  reject: (error: Error) => void;
}

const ORDER: readonly Priority[] = ['high', 'normal', 'low', 'lowest'];
/** Every fourth token goes to one of these first, in turn, so that no priority starves another. */
const TURNS: readonly Priority[] = ['normal', 'low', 'normal', 'lowest'];
const TURN_EVERY = 4;

export class Bucket {
  readonly #qps: number;
  readonly #burst: number;
  readonly #timers: BucketOptions['timers'];
  readonly #waiting: Record<Priority, FairLine<Waiter>> = {
    high: new FairLine(),
    normal: new FairLine(),
    low: new FairLine(),
    lowest: new FairLine(),
  };
  /** Number of waiting requests of any priority. */
  #length = 0;
  #tokens: number;
  #served = 0;
  #filledAt: number;
  #timer: unknown;
  #closed: Error | undefined;

  constructor(options: BucketOptions) {
    this.#qps = options.qps;
    this.#burst = Math.max(1, options.qps);
    this.#timers = options.timers;
    this.#tokens = this.#burst;
    this.#filledAt = options.timers.monotonic();
  }

  /** Resolves when the tenant may send one request; rejects only with the error given to `close`. */
  acquire(priority: Priority, tenant: string): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    if (this.#qps === Infinity) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting[priority].join(tenant, { resolve, reject });
      this.#length += 1;
      this.#serve();
    });
  }

  /** Rejects all waiting and all future callers. */
  close(error: Error): void {
    this.#closed = error;
    this.#timers.clear(this.#timer);
    this.#timer = undefined;
    for (let waiter = this.#take(); waiter !== undefined; waiter = this.#take()) waiter.reject(error);
  }

  #serve(): void {
    this.#fill();
    while (this.#tokens >= 1 && this.#length > 0) {
      this.#tokens -= 1;
      this.#take()?.resolve();
    }
    if (this.#timer !== undefined || this.#length === 0) return;
    const wait = Math.max(1, Math.ceil(((1 - this.#tokens) * 1000) / this.#qps));
    this.#timer = this.#timers.set(() => {
      this.#timer = undefined;
      this.#serve();
    }, wait);
  }

  #take(): Waiter | undefined {
    const turn = this.#served + 1;
    const first = turn % TURN_EVERY === 0 ? TURNS[(turn / TURN_EVERY - 1) % TURNS.length] : undefined;
    for (const priority of [first ?? 'high', ...ORDER] as const) {
      const waiter = this.#waiting[priority].take()?.item;
      if (waiter === undefined) continue;
      this.#length -= 1;
      this.#served = turn;
      return waiter;
    }
    return undefined;
  }

  #fill(): void {
    const now = this.#timers.monotonic();
    // A clock that goes back must not empty the bucket.
    const elapsed = Math.max(0, now - this.#filledAt);
    this.#filledAt = now;
    this.#tokens = Math.min(this.#burst, this.#tokens + (elapsed * this.#qps) / 1000);
  }
}
