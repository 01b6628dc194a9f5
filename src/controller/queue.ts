/**
 * The work queue, after the semantics of client-go's workqueue: keys instead of objects, each at most once in the queue
 * and never with two workers at the same time.
 */
import { backoffDelay, type Backoff } from './backoff.ts';
import { Deadlines } from './deadlines.ts';
import { noLoopInstruments, type LoopInstruments } from './instruments.ts';
import { realTimers, type Timers } from './timers.ts';

/** Link of the list of keys that are ready; `dropped` ones are skipped, since a list cannot be searched cheaply. */
interface Link {
  key: string;
  /** On the monotonic clock (ms). */
  addedAt: number;
  dropped: boolean;
  next: Link | undefined;
}

/** A key that a worker has. Times are on the monotonic clock (ms). */
interface Taken {
  takenAt: number;
  /** When it was added again meanwhile. */
  addedAt: number | undefined;
}

export interface WorkQueueOptions extends Partial<Backoff> {
  timers?: Timers;
  instruments?: LoopInstruments | undefined;
}

const DEFAULT_BACKOFF: Backoff = { baseMs: 500, maxMs: 300_000 };

export class WorkQueue {
  readonly #timers: Timers;
  readonly #backoff: Backoff;
  readonly #ready = new Map<string, Link>();
  readonly #instruments: LoopInstruments;
  readonly #processing = new Map<string, Taken>();
  readonly #failures = new Map<string, number>();
  readonly #deadlines: Deadlines;
  #head: Link | undefined;
  #tail: Link | undefined;
  #getters: ((key: string | undefined) => void)[] = [];
  #stopped = false;

  /** `baseMs` (500) and `maxMs` (5 minutes) bound the backoff of `addRateLimited`. */
  constructor(options: WorkQueueOptions = {}) {
    this.#timers = options.timers ?? realTimers;
    this.#instruments = options.instruments ?? noLoopInstruments;
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

  /** For how long each worker that has a key has had it (ms). */
  busyFor(): number[] {
    const now = this.#timers.monotonic();
    return Array.from(this.#processing.values(), ({ takenAt }) => now - takenAt);
  }

  /** Number of `addRateLimited` since the last `forget`. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Makes the key ready, or, when a worker has it, ready again at its `done`. Its delay ends: the visit sets a new one. */
  add(key: string): void {
    if (this.#stopped) return;
    this.#deadlines.delete(key);
    const taken = this.#processing.get(key);
    if (this.#ready.has(key) || taken?.addedAt !== undefined) return;
    this.#instruments.keyAdded();
    const addedAt = this.#timers.monotonic();
    if (taken === undefined) this.#enqueue(key, addedAt);
    else taken.addedAt = addedAt;
  }

  /** Adds the key after `ms`. The earliest of several delays counts; a key that will be visited anyway takes none. */
  addAfter(key: string, ms: number): void {
    if (this.#stopped || this.#ready.has(key) || this.#processing.get(key)?.addedAt !== undefined) return;
    if (ms > 0) this.#deadlines.set(key, ms);
    else this.add(key);
  }

  /** Adds the key after a delay that grows with each call until `forget`. */
  addRateLimited(key: string): void {
    if (this.#stopped) return;
    const failures = this.retries(key);
    this.#failures.set(key, failures + 1);
    this.#instruments.keyRetried();
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
    const taken = this.#processing.get(key);
    if (taken !== undefined) taken.addedAt = undefined;
  }

  /** The next key, as soon as there is one; `undefined` once the queue is shut down. Owes a `done`. */
  get(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const link = this.#dequeue();
    if (link === undefined) return new Promise((resolve) => this.#getters.push(resolve));
    this.#take(link.key, link.addedAt);
    return Promise.resolve(link.key);
  }

  /** The worker is finished with the key; if it was added meanwhile it is ready again. */
  done(key: string): void {
    const taken = this.#processing.get(key);
    if (taken === undefined) return;
    this.#processing.delete(key);
    this.#instruments.keyDone(this.#timers.monotonic() - taken.takenAt);
    if (taken.addedAt !== undefined && !this.#stopped) this.#enqueue(key, taken.addedAt);
  }

  /** Ends the queue: every `get` answers `undefined` from now on, and nothing is added any more. */
  shutDown(): void {
    this.#stopped = true;
    this.#deadlines.clear();
    const getters = this.#getters;
    this.#getters = [];
    for (const resolve of getters) resolve(undefined);
  }

  #take(key: string, addedAt: number): void {
    const takenAt = this.#timers.monotonic();
    this.#processing.set(key, { takenAt, addedAt: undefined });
    this.#instruments.keyTaken(takenAt - addedAt);
  }

  #enqueue(key: string, addedAt: number): void {
    const getter = this.#getters.shift();
    if (getter !== undefined) {
      this.#take(key, addedAt);
      getter(key);
      return;
    }
    const link: Link = { key, addedAt, dropped: false, next: undefined };
    if (this.#tail === undefined) this.#head = link;
    else this.#tail.next = link;
    this.#tail = link;
    this.#ready.set(key, link);
  }

  #dequeue(): Link | undefined {
    let link = this.#head;
    while (link?.dropped === true) link = link.next;
    this.#head = link?.next;
    if (this.#head === undefined) this.#tail = undefined;
    if (link !== undefined) this.#ready.delete(link.key);
    return link;
  }
}
