/** Keys with a deadline: a heap and one timer for the earliest, cheap with many thousands of keys. */
import TinyQueue from 'tinyqueue';
import { MAX_TIMER_MS, type Timers } from '../base/timers.ts';

interface Deadline {
  key: string;
  /** On the monotonic clock, in ms. */
  at: number;
}

/** Removed keys leave stale heap entries. Above this size the heap drops them once they outnumber the live entries. */
const SMALL_HEAP = 64;

export class Deadlines {
  readonly #timers: Timers;
  readonly #onDue: (key: string) => void;
  readonly #current = new Map<string, Deadline>();
  #heap = heapOf([]);
  #timer: { handle: unknown; at: number } | undefined;

  /** Calls `onDue` for each key that is due, earliest first, after removing the key. */
  constructor(timers: Timers, onDue: (key: string) => void) {
    this.#timers = timers;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#current.size;
  }

  /** Number of entries in memory: after each `set`, at most twice `size`, or 64 if that is more. */
  get held(): number {
    return this.#heap.length;
  }

  /** Makes the key due after `ms`. A key that already waits keeps the earlier deadline. */
  set(key: string, ms: number): void {
    const at = this.#timers.monotonic() + ms;
    const existing = this.#current.get(key);
    if (existing !== undefined && existing.at <= at) return;
    const deadline = { key, at };
    this.#current.set(key, deadline);
    this.#heap.push(deadline);
    this.#clearOut();
    this.#arm();
  }

  delete(key: string): void {
    this.#current.delete(key);
  }

  /** Forgets every key and stops the timer. */
  clear(): void {
    this.#current.clear();
    this.#heap = heapOf([]);
    this.#disarm();
  }

  #arm(): void {
    const first = this.#heap.peek();
    if (first === undefined || (this.#timer !== undefined && this.#timer.at <= first.at)) return;
    this.#disarm();
    const ms = Math.min(MAX_TIMER_MS, Math.max(0, first.at - this.#timers.monotonic()));
    // Rounded up: a timer that fires early would have to be set again.
    this.#timer = { handle: this.#timers.set(() => this.#fire(), Math.ceil(ms)), at: first.at };
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#timers.clear(this.#timer.handle);
    this.#timer = undefined;
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#timers.monotonic();
    for (let first = this.#heap.peek(); first !== undefined; first = this.#heap.peek()) {
      const valid = this.#current.get(first.key) === first;
      if (valid && first.at > now) break;
      this.#heap.pop();
      if (!valid) continue;
      this.#current.delete(first.key);
      this.#onDue(first.key);
    }
    this.#arm();
  }

  #clearOut(): void {
    if (this.#heap.length <= SMALL_HEAP || this.#heap.length <= 2 * this.#current.size) return;
    this.#heap = heapOf([...this.#current.values()]);
  }
}

function heapOf(deadlines: Deadline[]): TinyQueue<Deadline> {
  return new TinyQueue(deadlines, (a, b) => a.at - b.at);
}
