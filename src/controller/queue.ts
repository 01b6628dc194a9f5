/**
 * The work queue, after the semantics of client-go's workqueue: keys (`namespace/name`) instead of objects, each at most
 * once in the queue and never with two workers at the same time. Namespaces share the workers fairly (fair-line.ts).
 */
import { backoffDelay, type Backoff } from '../base/backoff.ts';
import { Deadlines } from './deadlines.ts';
import { FairLine, type Waiting } from './fair-line.ts';
import { noLoopInstruments, type LoopInstruments } from './instruments.ts';
import { realTimers, type Timers } from '../base/timers.ts';

/** A key that is ready for a worker. */
interface Ready {
  key: string;
  /** On the monotonic clock (ms). */
  addedAt: number;
}

/** A key that a worker has. Times are on the monotonic clock (ms). */
interface Taken {
  takenAt: number;
  /** When it was added again meanwhile. */
  addedAt: number | undefined;
}

export interface WorkQueueOptions extends Partial<Backoff> {
  /** Number of workers that the namespaces share; left out: each key is handed to any worker that asks. */
  workers?: number;
  timers?: Timers;
  instruments?: LoopInstruments | undefined;
}

/** After a visit that throws. One that a failed call to the provider ends says itself when the next is due. */
const DEFAULT_BACKOFF: Backoff = { baseMs: 500, maxMs: 300_000 };

export class WorkQueue {
  readonly #timers: Timers;
  readonly #backoff: Backoff;
  readonly #ready = new Map<string, Waiting<Ready>>();
  readonly #line: FairLine<Ready>;
  readonly #instruments: LoopInstruments;
  readonly #processing = new Map<string, Taken>();
  readonly #failures = new Map<string, number>();
  readonly #deadlines: Deadlines;
  #getters: ((key: string | undefined) => void)[] = [];
  #stopped = false;

  /** `baseMs` (500) and `maxMs` (5 minutes) bound the backoff of `addRateLimited`. */
  constructor(options: WorkQueueOptions = {}) {
    this.#timers = options.timers ?? realTimers;
    this.#instruments = options.instruments ?? noLoopInstruments;
    this.#backoff = { ...DEFAULT_BACKOFF, ...options };
    this.#line = new FairLine(options.workers ?? Infinity);
    this.#deadlines = new Deadlines(this.#timers, (key) => this.add(key));
  }

  /** Number of keys that are ready for a worker, those that wait for the share of their namespace included. */
  get length(): number {
    return this.#ready.size;
  }

  /** True while a worker has the key. */
  isTaken(key: string): boolean {
    return this.#processing.has(key);
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
    const ready = this.#ready.get(key);
    if (ready !== undefined) this.#line.leave(ready);
    this.#ready.delete(key);
    const taken = this.#processing.get(key);
    if (taken !== undefined) taken.addedAt = undefined;
  }

  /** The next key, as soon as there is one; `undefined` once the queue is shut down. Owes a `done`. */
  get(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#getters.push(resolve);
      this.#handOut();
    });
  }

  /** The worker is finished with the key; if it was added meanwhile it is ready again. */
  done(key: string): void {
    const taken = this.#processing.get(key);
    if (taken === undefined) return;
    this.#processing.delete(key);
    this.#instruments.keyDone(this.#timers.monotonic() - taken.takenAt);
    this.#line.release(namespaceOf(key));
    if (this.#stopped) return;
    if (taken.addedAt !== undefined) this.#enqueue(key, taken.addedAt);
    else this.#handOut();
  }

  /** Ends the queue: every `get` answers `undefined` from now on, and nothing is added any more. */
  shutDown(): void {
    this.#stopped = true;
    this.#deadlines.clear();
    const getters = this.#getters;
    this.#getters = [];
    for (const resolve of getters) resolve(undefined);
  }

  #enqueue(key: string, addedAt: number): void {
    this.#ready.set(key, this.#line.join(namespaceOf(key), { key, addedAt }));
    this.#handOut();
  }

  /** Gives workers that wait the keys that may be worked on now. */
  #handOut(): void {
    while (this.#getters.length > 0) {
      const next = this.#line.take();
      if (next === undefined) return;
      const { key, addedAt } = next;
      const takenAt = this.#timers.monotonic();
      this.#ready.delete(key);
      this.#processing.set(key, { takenAt, addedAt: undefined });
      this.#instruments.keyTaken(takenAt - addedAt);
      this.#getters.shift()?.(key);
    }
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}
