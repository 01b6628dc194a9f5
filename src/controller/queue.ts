/**
 * The work queue, after the semantics of client-go's workqueue: keys instead of objects, each at most once in the queue
 * and never with two workers at the same time.
 */
import { backoffDelay, type Backoff } from './backoff.ts';
import { Deadlines } from './deadlines.ts';
import { realTimers, type Timers } from './timers.ts';

/** Link of the list of keys that are ready; `dropped` ones are skipped, since a list cannot be searched cheaply. */
interface Link {
  key: string;
  dropped: boolean;
  next: Link | undefined;
}

export interface WorkQueueOptions extends Partial<Backoff> {
  timers?: Timers;
}

const DEFAULT_BACKOFF: Backoff = { baseMs: 500, maxMs: 300_000 };

export class WorkQueue {
  readonly #timers: Timers;
  readonly #backoff: Backoff;
  readonly #ready = new Map<string, Link>();
  /** Keys that a worker has, each with whether it was added again meanwhile. */
  readonly #processing = new Map<string, boolean>();
  readonly #failures = new Map<string, number>();
  readonly #deadlines: Deadlines;
  #head: Link | undefined;
  #tail: Link | undefined;
  #getters: ((key: string | undefined) => void)[] = [];
  #stopped = false;

  /** `baseMs` (500) and `maxMs` (5 minutes) bound the backoff of `addRateLimited`. */
  constructor(options: WorkQueueOptions = {}) {
    this.#timers = options.timers ?? realTimers;
    this.#backoff = { ...DEFAULT_BACKOFF, ...options };
    this.#deadlines = new Deadlines(this.#timers, (key) => this.add(key));
  }

  /** Number of keys that are ready for a worker. */
  get length(): number {
    return this.#ready.size;
  }

  /** Number of keys that wait for their time. */
  get waiting(): number {
    return this.#deadlines.size;
  }

  /** Number of keys that workers have. */
  get processing(): number {
    return this.#processing.size;
  }

  /** Number of `addRateLimited` since the last `forget`. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Makes the key ready, or, when a worker has it, ready again at its `done`. Its delay ends: the visit sets a new one. */
  add(key: string): void {
    if (this.#stopped) return;
    this.#deadlines.delete(key);
    if (this.#processing.has(key)) this.#processing.set(key, true);
    else if (!this.#ready.has(key)) this.#enqueue(key);
  }

  /** Adds the key after `ms`. The earliest of several delays counts; a key that will be visited anyway takes none. */
  addAfter(key: string, ms: number): void {
    if (this.#stopped || this.#ready.has(key) || this.#processing.get(key) === true) return;
    if (ms > 0) this.#deadlines.set(key, ms);
    else this.add(key);
  }

  /** Adds the key after a delay that grows with each call until `forget`. */
  addRateLimited(key: string): void {
    if (this.#stopped) return;
    const failures = this.retries(key);
    this.#failures.set(key, failures + 1);
    this.addAfter(key, backoffDelay(failures, this.#backoff, this.#timers.random()));
  }

  /** Resets the backoff of the key; where it waits or is ready it stays. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Forgets everything about a key whose object no longer exists; a worker that has it goes on to its `done`. */
  drop(key: string): void {
    this.#failures.delete(key);
    this.#deadlines.delete(key);
    const link = this.#ready.get(key);
    if (link !== undefined) link.dropped = true;
    this.#ready.delete(key);
    if (this.#processing.has(key)) this.#processing.set(key, false);
  }

  /** The next key, as soon as there is one; `undefined` once the queue is shut down. Owes a `done`. */
  get(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const key = this.#dequeue();
    if (key === undefined) return new Promise((resolve) => this.#getters.push(resolve));
    this.#processing.set(key, false);
    return Promise.resolve(key);
  }

  /** The worker is finished with the key; if it was added meanwhile it is ready again. */
  done(key: string): void {
    const again = this.#processing.get(key);
    this.#processing.delete(key);
    if (again === true && !this.#stopped) this.#enqueue(key);
  }

  /** Ends the queue: every `get` answers `undefined` from now on, and nothing is added any more. */
  shutDown(): void {
    this.#stopped = true;
    this.#deadlines.clear();
    const getters = this.#getters;
    this.#getters = [];
    for (const resolve of getters) resolve(undefined);
  }

  #enqueue(key: string): void {
    const getter = this.#getters.shift();
    if (getter !== undefined) {
      this.#processing.set(key, false);
      getter(key);
      return;
    }
    const link: Link = { key, dropped: false, next: undefined };
    if (this.#tail === undefined) this.#head = link;
    else this.#tail.next = link;
    this.#tail = link;
    this.#ready.set(key, link);
  }

  #dequeue(): string | undefined {
    let link = this.#head;
    while (link?.dropped === true) link = link.next;
    this.#head = link?.next;
    if (this.#head === undefined) this.#tail = undefined;
    if (link !== undefined) this.#ready.delete(link.key);
    return link?.key;
  }
}
