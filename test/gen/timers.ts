/** A virtual clock: time stands still until a test advances it. */
import { MAX_TIMER_MS, type Timers } from '../../src/base/timers.ts';

export class FakeTimers implements Timers {
  /** The result of `random`. */
  chance = 0;
  #elapsed = 0;
  readonly #start: number;
  readonly #pending = new Map<number, { at: number; fn: () => void }>();
  #lastHandle = 0;

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#start = start;
  }

  /** Number of pending timers. */
  get pending(): number {
    return this.#pending.size;
  }

  now(): number {
    return this.#start + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  set(fn: () => void, ms: number): unknown {
    if (!(ms >= 0 && ms <= MAX_TIMER_MS)) throw new RangeError(`a timer cannot wait for ${ms} ms`);
    const handle = ++this.#lastHandle;
    this.#pending.set(handle, { at: this.#elapsed + ms, fn });
    return handle;
  }

  clear(handle: unknown): void {
    this.#pending.delete(handle as number);
  }

  random(): number {
    return this.chance;
  }

  /** Advances the clock by `ms` and runs every timer that falls due, by time, then by order of creation. */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      const [handle, timer] = next;
      this.#pending.delete(handle);
      this.#elapsed = timer.at;
      timer.fn();
    }
    this.#elapsed = end;
  }

  #next(end: number): [number, { at: number; fn: () => void }] | undefined {
    let first: [number, { at: number; fn: () => void }] | undefined;
    for (const entry of this.#pending) {
      if (entry[1].at <= end && (first === undefined || entry[1].at < first[1].at)) first = entry;
    }
    return first;
  }
}
