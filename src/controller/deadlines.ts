/** Keys with a deadline: a binary heap and one timer for the earliest, cheap with many thousands of keys. */
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
  #heap: Deadline[] = [];
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
    this.#push(deadline);
    this.#clearOut();
    this.#arm();
  }

  delete(key: string): void {
    this.#current.delete(key);
  }

  /** Forgets every key and stops the timer. */
  clear(): void {
    this.#current.clear();
    this.#heap = [];
    this.#disarm();
  }

  #arm(): void {
    const first = this.#heap[0];
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
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const valid = this.#current.get(first.key) === first;
      if (valid && first.at > now) break;
      this.#pop();
      if (!valid) continue;
      this.#current.delete(first.key);
      this.#onDue(first.key);
    }
    this.#arm();
  }

  #clearOut(): void {
    if (this.#heap.length <= SMALL_HEAP || this.#heap.length <= 2 * this.#current.size) return;
    // A sorted list is a heap.
    this.#heap = [...this.#current.values()].sort((a, b) => a.at - b.at);
  }

  #push(deadline: Deadline): void {
    const heap = this.#heap;
    let index = heap.push(deadline) - 1;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex];
      if (parent === undefined || parent.at <= deadline.at) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = deadline;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const goRight = left !== undefined && right !== undefined && right.at < left.at;
      const child = goRight ? right : left;
      if (child === undefined || child.at >= last.at) break;
      heap[index] = child;
      index = 2 * index + (goRight ? 2 : 1);
    }
    heap[index] = last;
  }
}
