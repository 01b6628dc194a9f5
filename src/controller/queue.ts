/**
 * The work queue, with the semantics of client-go's workqueue: it holds keys (`namespace/name`), each at most once, and
 * never gives a key to two workers at the same time. Namespaces share the workers fairly
 * (base/fair-line.ts); within a namespace the most urgent key goes first. A visit that throws waits here (`addRateLimited`); after a failed call of the provider
 * the visit says itself when to come back (accounts/decision/failure.ts).
 */
import { realTimers, type Timers } from '../base/timers.ts';
import { backoffDelay, type Backoff } from '../base/backoff.ts';
import { FairPlaces, type Waiting } from '../base/fair-line.ts';
import { Metrics, counter, histogram } from '../base/metrics.ts';
import { Deadlines } from './deadlines.ts';

// Same names as in client-go, so existing dashboards work.
const SECONDS = [0.001, 0.01, 0.1, 1, 10, 100, 1000];
const ADDS = counter('workqueue_adds_total', 'Objects added to the queue.', 'name');
const WAITED = histogram('workqueue_queue_duration_seconds', 'How long objects waited for a worker.', SECONDS, 'name');
const WORKED = histogram('workqueue_work_duration_seconds', 'How long workers processed an object.', SECONDS, 'name');
const RETRIES = counter('workqueue_retries_total', 'Failed reconciles that are retried after a backoff.', 'name');

/** A key that is ready for a worker. */
interface Ready {
  key: string;
  /** On the monotonic clock (ms). */
  addedAt: number;
}

/** A key that a worker is processing. Times are on the monotonic clock (ms). */
interface Taken {
  takenAt: number;
  /** When the key was added again while the worker had it. */
  addedAt: number | undefined;
}

export interface WorkQueueOptions extends Partial<Backoff> {
  /** Number of workers that the namespaces share. Without it, any worker that asks gets the next key. */
  workers?: number;
  /** How urgent the key is now: 0 goes first. Without it, all keys are equal. */
  priorityOf?: ((key: string) => number) | undefined;
  timers?: Timers;
  /** The label of the queue in the metrics. */
  name?: string;
  metrics?: Metrics;
}

/** Backoff after a visit that throws. After a failed provider call, the visit itself requests a requeue delay. */
const DEFAULT_BACKOFF: Backoff = { baseMs: 500, maxMs: 300_000 };

export class WorkQueue {
  readonly #timers: Timers;
  readonly #backoff: Backoff;
  readonly #ready = new Map<string, Waiting<Ready>>();
  readonly #line: FairPlaces<Ready>;
  readonly #priorityOf: (key: string) => number;
  readonly #metrics: Metrics;
  readonly #labels: { name: string };
  readonly #processing = new Map<string, Taken>();
  readonly #failures = new Map<string, number>();
  readonly #deadlines: Deadlines;
  #getters: ((key: string | undefined) => void)[] = [];
  #stopped = false;

  /** `baseMs` (500) and `maxMs` (5 minutes) bound the backoff of `addRateLimited`. */
  constructor(options: WorkQueueOptions = {}) {
    this.#timers = options.timers ?? realTimers;
    this.#metrics = options.metrics ?? new Metrics();
    this.#labels = { name: options.name ?? '' };
    for (const metric of [ADDS, WAITED, WORKED, RETRIES]) this.#metrics.begin(metric, this.#labels);
    this.#backoff = { ...DEFAULT_BACKOFF, ...options };
    this.#line = new FairPlaces(options.workers ?? Infinity);
    this.#priorityOf = options.priorityOf ?? (() => 0);
    this.#deadlines = new Deadlines(this.#timers, (key) => this.add(key));
  }

  /** Number of keys that are ready for a worker, including those whose namespace has used up its share. */
  get length(): number {
    return this.#ready.size;
  }

  /** True while a worker is processing the key. */
  isTaken(key: string): boolean {
    return this.#processing.has(key);
  }

  /** How long each busy worker has been processing its key (ms). */
  busyFor(): number[] {
    const now = this.#timers.monotonic();
    return Array.from(this.#processing.values(), ({ takenAt }) => now - takenAt);
  }

  /** Number of `addRateLimited` calls since the last `forget`. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Makes the key ready now, or at its `done` if a worker has it. Cancels its delay: the visit sets a new one. */
  add(key: string): void {
    if (this.#stopped) return;
    this.#deadlines.delete(key);
    const ready = this.#ready.get(key);
    if (ready !== undefined) this.#hurry(ready);
    const taken = this.#processing.get(key);
    if (ready !== undefined || taken?.addedAt !== undefined) return;
    this.#metrics.add(ADDS, this.#labels);
    const addedAt = this.#timers.monotonic();
    if (taken === undefined) this.#enqueue(key, addedAt);
    else taken.addedAt = addedAt;
  }

  /** Adds the key after `ms`. The earliest of several delays wins; a key that is already due ignores the delay. */
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
    this.#metrics.add(RETRIES, this.#labels);
    this.addAfter(key, backoffDelay(failures, this.#backoff, this.#timers.random()));
  }

  /** Resets the backoff of the key, which stays in the queue if it is there. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /**
   * Forgets delay and backoff of a key whose object no longer exists, and its place in the queue. A worker that has the key still
   * calls `done`; if the key was added in between, it becomes ready again then: the end of the object may be what is new.
   */
  drop(key: string): void {
    this.#failures.delete(key);
    this.#deadlines.delete(key);
    const ready = this.#ready.get(key);
    if (ready !== undefined) this.#line.leave(ready);
    this.#ready.delete(key);
  }

  /** Resolves with the next key, or `undefined` once the queue is shut down. The caller must call `done(key)`. */
  get(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#getters.push(resolve);
      this.#handOut();
    });
  }

  /** The worker has finished with the key. If the key was added while the worker had it, it becomes ready again. */
  done(key: string): void {
    const taken = this.#processing.get(key);
    if (taken === undefined) return;
    this.#processing.delete(key);
    this.#metrics.observe(WORKED, this.#labels, (this.#timers.monotonic() - taken.takenAt) / 1000);
    this.#line.release(namespaceOf(key));
    if (this.#stopped) return;
    if (taken.addedAt !== undefined) this.#enqueue(key, taken.addedAt);
    else this.#handOut();
  }

  /** Ends the queue: every `get` resolves with `undefined`, and nothing can be added. */
  shutDown(): void {
    this.#stopped = true;
    this.#deadlines.clear();
    const getters = this.#getters;
    this.#getters = [];
    for (const resolve of getters) resolve(undefined);
  }

  #enqueue(key: string, addedAt: number): void {
    this.#ready.set(key, this.#line.join(namespaceOf(key), { key, addedAt }, this.#priorityOf(key)));
    this.#handOut();
  }

  /** Moves a waiting key that has become more urgent. */
  #hurry(ready: Waiting<Ready>): void {
    const { item, namespace, priority } = ready;
    const now = this.#priorityOf(item.key);
    if (now >= priority) return;
    this.#line.leave(ready);
    this.#ready.set(item.key, this.#line.join(namespace, item, now));
  }

  /** Gives ready keys to waiting workers, as far as the fair shares allow. */
  #handOut(): void {
    while (this.#getters.length > 0) {
      const next = this.#line.take();
      if (next === undefined) return;
      const { key, addedAt } = next.item;
      const takenAt = this.#timers.monotonic();
      this.#ready.delete(key);
      this.#processing.set(key, { takenAt, addedAt: undefined });
      this.#metrics.observe(WAITED, this.#labels, (takenAt - addedAt) / 1000);
      this.#getters.shift()?.(key);
    }
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}
