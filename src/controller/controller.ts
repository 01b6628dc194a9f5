/**
 * The reconcile loop of one kind, modeled on controller-runtime's Controller: informers report changes, keys wait in
 * the queue, and workers pass them to the reconciler. A failed visit is retried with backoff. The operator's own writes
 * trigger no visit.
 */
import type { Timers } from '../base/timers.ts';
import { withLogFields, type Logger } from '../base/logger.ts';
import { Metrics, counter, histogram } from '../base/metrics.ts';
import { KubeError, StatusRefused } from '../kube/error.ts';
import type { KubeObject } from '../kube/resource.ts';
import type { Informer } from './informer.ts';
import { WorkQueue } from './queue.ts';

/*
 * Tracks whether the workers of a loop make progress. They count as stuck only if no worker has finished a step for
 * longer than any step can take, while all workers are busy, or all that one namespace may have (base/fair-line.ts) while
 * more of its objects wait. The test is strict because a restart in the middle of an order leaves its outcome unknown,
 * which is worse than being slow.
 *
 * A hanging provider or API server never makes workers look stuck: every wait inside a step is bounded (a call by its
 * deadline, the token bucket by its rate), and a failed step counts as finished. Only a bug or a hanging disk waits
 * forever. A single stuck worker does not count either; `workqueue_longest_running_processor_seconds` shows it.
 */

export class Progress {
  readonly #timers: Pick<Timers, 'monotonic'>;
  #markedAt: number;

  constructor(timers: Pick<Timers, 'monotonic'>) {
    this.#timers = timers;
    this.#markedAt = timers.monotonic();
  }

  /** Records that a worker has started or finished a step. */
  mark(): void {
    this.#markedAt = this.#timers.monotonic();
  }

  /** Time since the last mark (ms). */
  get ageMs(): number {
    return this.#timers.monotonic() - this.#markedAt;
  }
}

// Same names as in controller-runtime, so existing dashboards work.
const RECONCILES = counter(
  'controller_runtime_reconcile_total',
  'Reconciles by result. requeue: the object had changed; requeue_after: planned for later.',
  'controller',
  'result',
);
const ERRORS = counter(
  'controller_runtime_reconcile_errors_total',
  'Reconciles that failed. A failed call to the provider does not count.',
  'controller',
);
export const REFUSED_WRITES = counter(
  'vps_operator_refused_writes_total',
  'Writes that the API server refused, each retry included. write: status, metadata, secret (a connection Secret) or member (of a set).',
  'controller',
  'write',
);
const SECONDS = histogram(
  'controller_runtime_reconcile_time_seconds',
  'Duration of reconciles.',
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  'controller',
);

/** How a visit ended: done, failed, requeued because of a newer version, or requeued for a later time. */
const VISIT_RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const;
type VisitResult = (typeof VISIT_RESULTS)[number];

export interface Reconciler<T> {
  /**
   * Reconciles one object. `key` is `namespace/name`; `object` is the newest known version, or undefined if the object
   * does not exist. Resolves with the delay until the next visit (ms); without one, the next change triggers it. If it
   * throws, the visit fails. `postponed`: the visit did nothing yet, so it ends no backoff. Never called twice at the same
   * time for one key.
   */
  reconcile(key: string, object: T | undefined): Promise<{ requeueAfterMs?: number | undefined; postponed?: boolean }>;
}

/** The newest known versions of the objects of a kind, from the informer and from this process's own writes. */
export interface ObjectStore<T> {
  newest(key: string): T | undefined;
  told(object: T, previous: T | undefined): void;
  gone(last: T): void;
  /** As `OwnWrites.catchUp`. */
  catchUp(key: string, known: T | undefined): boolean;
  /** As `OwnWrites.onList`. */
  onList(): (resourceVersion: string, listed: readonly T[]) => readonly T[];
  /** As `OwnWrites.compare`. */
  compare(known: T, live: T | undefined): boolean;
}

/** Another kind whose changes trigger visits of this controller's objects. */
export interface Watch<W extends KubeObject> {
  informer: Informer<W>;
  /** The keys to enqueue when this object changes; called for the previous version and for the new one. */
  toKeys(object: W): readonly string[];
  /** True if the difference concerns none of these keys. Without it, two objects whose visits write would wake each other without end. */
  isSame?(before: W, after: W): boolean;
}

export interface ControllerOptions<T extends KubeObject> {
  /** Name of the controller in logs and metrics: its kind in the singular. */
  name: string;
  informer: Informer<T>;
  objects: ObjectStore<T>;
  watches?: readonly Watch<KubeObject>[];
  reconciler: Reconciler<T>;
  workers: number;
  /**
   * Reads the object from the API server, never from a cache; undefined if it does not exist. Called after a conflict if
   * the newest version is an own write that the watch has not reported. Without it, that write counts as undone, so the
   * next visit starts from the cache: enough for a kind whose every write names its version.
   */
  read?: (namespace: string, name: string) => Promise<T | undefined>;
  /** How urgent the next visit of the object is: 0 goes first; undefined: the object does not exist. */
  priorityOf?: (object: T | undefined) => number;
  /** Called when a visit has failed because the API server refuses the status of the object. */
  onStatusRefused?: (object: T, error: KubeError) => void;
  /** The reconciler marks each step here if a visit can take long. */
  progress?: Progress;
  timers: Timers;
  log: Logger;
  metrics?: Metrics;
}

/** How a loop is doing, for probes and metrics; all durations are in ms. */
export interface LoopVitals {
  /** Number of keys that wait for a worker. */
  queued: number;
  /** How long each busy worker has been processing its key. */
  busyForMs: readonly number[];
  maxWorkers: number;
  /** Time since a worker last started or finished a step. */
  progressAgeMs: number;
  /** Time since the most silent reflector last showed a sign of life; a failure counts as one. */
  informerSilentMs: number;
}

export class Controller<T extends KubeObject> {
  readonly #options: ControllerOptions<T>;
  readonly #queue: WorkQueue;
  readonly #progress: Progress;
  readonly #metrics: Metrics;
  readonly #informers: readonly Informer<KubeObject>[];
  #stopped = false;

  constructor(options: ControllerOptions<T>) {
    const { name, informer, objects, watches = [], timers, workers, priorityOf } = options;
    const { metrics = new Metrics(), progress = new Progress(timers) } = options;
    this.#options = options;
    this.#progress = progress;
    this.#metrics = metrics;
    for (const result of VISIT_RESULTS) metrics.begin(RECONCILES, { controller: name, result });
    for (const metric of [ERRORS, SECONDS]) metrics.begin(metric, { controller: name });
    metrics.begin(REFUSED_WRITES, { controller: name, write: 'status' });
    this.#queue = new WorkQueue({
      timers,
      workers,
      name,
      metrics,
      priorityOf: priorityOf && ((key) => priorityOf(objects.newest(key))),
    });
    this.#informers = [informer, ...watches.map((watch) => watch.informer)];
    informer.subscribe({
      onUpsert: (key, object, previous) => {
        objects.told(object, previous);
        // A visit checks for changes when it ends: the watch often reports its writes before their responses arrive.
        if (!this.#queue.isTaken(key) && objects.catchUp(key, undefined)) this.#queue.add(key);
      },
      onGone: (key, last) => {
        objects.gone(last);
        this.#queue.add(key);
      },
      onList: () => {
        const listed = objects.onList();
        return (...answer) => {
          for (const { metadata } of listed(...answer)) this.#queue.add(`${metadata.namespace}/${metadata.name}`);
        };
      },
    });
    for (const watch of watches) this.#follow(watch);
  }

  /** Starts the informers, and the workers once the caches are full. Rejects if `stop` is called before that. */
  async start(): Promise<void> {
    for (const informer of this.#informers) informer.start();
    await Promise.all(this.#informers.map((informer) => informer.synced()));
    for (let worker = 0; worker < this.#options.workers; worker++) void this.#work();
  }

  /** Takes no new work; running visits may finish. Resolves when all informers have stopped. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#queue.shutDown();
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  /** Schedules a visit of the object as soon as a worker is free. */
  enqueue(key: string): void {
    this.#queue.add(key);
  }

  vitals(): LoopVitals {
    return {
      queued: this.#queue.length,
      busyForMs: this.#queue.busyFor(),
      maxWorkers: this.#options.workers,
      progressAgeMs: this.#progress.ageMs,
      informerSilentMs: Math.max(...this.#informers.map((informer) => informer.silentForMs())),
    };
  }

  #follow(watch: Watch<KubeObject>): void {
    const enqueue = (keys: readonly string[]): void => keys.forEach((key) => this.#queue.add(key));
    watch.informer.subscribe({
      onUpsert: (_key, object, previous) => {
        const keys = [...(previous === undefined ? [] : watch.toKeys(previous)), ...watch.toKeys(object)];
        const isSame = keys.length > 0 && previous !== undefined && watch.isSame?.(previous, object) === true;
        if (!isSame) enqueue(keys);
      },
      onGone: (_key, last) => enqueue(watch.toKeys(last)),
    });
  }

  async #work(): Promise<void> {
    const { name, objects, timers } = this.#options;
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      const visited = key;
      const begunAt = timers.monotonic();
      this.#progress.mark();
      const object = objects.newest(visited);
      const fields = { controller: name, reconcileID: visitId(timers) };
      const result = await withLogFields(fields, () => this.#visit(visited, object));
      this.#count(result, timers.monotonic() - begunAt);
      if (objects.newest(visited) === undefined) this.#queue.drop(visited);
      // Must run in the same tick as `done`: a change that arrived in between would be lost.
      if (objects.catchUp(visited, object)) this.#queue.add(visited);
      this.#queue.done(visited);
      this.#progress.mark();
    }
  }

  #count(result: VisitResult, durationMs: number): void {
    const controller = { controller: this.#options.name };
    this.#metrics.add(RECONCILES, { ...controller, result });
    if (result === 'error') this.#metrics.add(ERRORS, controller);
    this.#metrics.observe(SECONDS, controller, durationMs / 1000);
  }

  async #visit(key: string, object: T | undefined): Promise<VisitResult> {
    const { reconciler, log } = this.#options;
    try {
      const { requeueAfterMs, postponed = false } = await reconciler.reconcile(key, object);
      if (!postponed) this.#queue.forget(key);
      if (requeueAfterMs === undefined) return 'success';
      this.#queue.addAfter(key, requeueAfterMs);
      return 'requeue_after';
    } catch (error) {
      this.#queue.addRateLimited(key);
      const fields = { key, uid: object?.metadata.uid, err: error };
      const isConflict = error instanceof KubeError && error.code === 'Conflict';
      const isExpected = isConflict || (error instanceof KubeError && error.code === 'NotFound');
      if (isExpected) log.debug(fields, 'reconcile met a newer version; retrying');
      // The process closes its connections under whatever still runs; the next process does that work.
      else if (this.#stopped) log.debug(fields, 'reconcile interrupted by the stop');
      else log.error(fields, 'reconcile failed');
      if (isConflict) await this.#compare(key);
      if (error instanceof StatusRefused && object !== undefined) this.#options.onStatusRefused?.(object, error);
      return isExpected ? 'requeue' : 'error';
    }
  }

  /**
   * A list shows which own writes an etcd restore has undone, except those that were answered while it was read. Such a
   * write would conflict with everything that follows it.
   */
  async #compare(key: string): Promise<void> {
    const { informer, objects, read, log } = this.#options;
    const known = objects.newest(key);
    if (known === undefined || known === informer.get(key)) return;
    const { namespace, name, uid } = known.metadata;
    try {
      const live = await read?.(namespace, name);
      // The watch reports a deletion.
      if (read !== undefined && live === undefined) return;
      if (objects.compare(known, live)) log.debug({ key, uid }, 'the last write to the object was undone');
    } catch (err) {
      log.debug({ key, uid, err }, 'cannot read the object after a conflict');
    }
  }
}

/** 12 hexadecimal digits, enough to distinguish the visits in a log. */
function visitId(timers: Pick<Timers, 'random'>): string {
  return Math.floor(timers.random() * 2 ** 48)
    .toString(16)
    .padStart(12, '0');
}
