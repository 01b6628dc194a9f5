/** Token bucket of the process: waiters of high priority go first, within a priority in order of arrival. */
import type { Priority } from './types.ts';

export interface BucketOptions {
  /** Requests per second; the burst is as large, and at least 1. `Infinity` lets everything through. */
  qps: number;
  /** Milliseconds, monotonic. */
  now: () => number;
}

interface Waiter {
  resolve: () => void;
  reject: (error: Error) => void;
}

export class Bucket {
  readonly #qps: number;
  readonly #burst: number;
  readonly #now: () => number;
  readonly #high: Waiter[] = [];
  readonly #low: Waiter[] = [];
  #tokens: number;
  #filledAt: number;
  #timer: NodeJS.Timeout | undefined;
  #closed: Error | undefined;

  constructor(options: BucketOptions) {
    this.#qps = options.qps;
    this.#burst = Math.max(1, options.qps);
    this.#now = options.now;
    this.#tokens = this.#burst;
    this.#filledAt = options.now();
  }

  /** Resolves when one request may be sent; rejects only with the error given to `close`. */
  acquire(priority: Priority): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    if (this.#qps === Infinity) return Promise.resolve();
    return new Promise((resolve, reject) => {
      (priority === 'high' ? this.#high : this.#low).push({ resolve, reject });
      this.#serve();
    });
  }

  /** Rejects everybody who waits and everybody who comes. */
  close(error: Error): void {
    this.#closed = error;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const waiter of [...this.#high.splice(0), ...this.#low.splice(0)]) waiter.reject(error);
  }

  #serve(): void {
    this.#fill();
    while (this.#tokens >= 1) {
      const waiter = this.#high.shift() ?? this.#low.shift();
      if (!waiter) return;
      this.#tokens -= 1;
      waiter.resolve();
    }
    if (this.#timer !== undefined || this.#high.length + this.#low.length === 0) return;
    const wait = Math.max(1, Math.ceil(((1 - this.#tokens) * 1000) / this.#qps));
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#serve();
    }, wait);
  }

  #fill(): void {
    const now = this.#now();
    // A clock that was set back must not empty the bucket.
    const elapsed = Math.max(0, now - this.#filledAt);
    this.#filledAt = now;
    this.#tokens = Math.min(this.#burst, this.#tokens + (elapsed * this.#qps) / 1000);
  }
}
