/** The loop for ServerCatalogs: reads the service's lists now and then and writes them down where they changed. */
import type { ServerCatalog } from '../api/server-catalog.ts';
import { CATALOG_KIND } from '../api/names.ts';
import { catalogStatus, isRequested, refreshMs } from './decision/status.ts';
import { transitions } from '../virtual-server/decision/compose.ts';
import { backoffMs, keyPauseMs } from '../accounts/decision/failure.ts';
import type { Missing } from '../virtual-server/decision/types.ts';
import { currentReason, isAboutKey } from '../virtual-server/decision/verdict.ts';
import { KubeError } from '../kube/error.ts';
import { isDeepEqual } from '../kube/merge-patch.ts';
import type { Informer, InformerHandler, WriteCatalogStatus } from '../kube/types.ts';
import type { Logger } from '../base/logger.ts';
import type { Catalog } from '../provider/types.ts';
import type { Credentials } from '../accounts/credentials.ts';
import { readCatalog } from '../virtual-server/visit/gather.ts';
import type { LoopInstruments, VisitResult } from '../controller/instruments.ts';
import { CATALOG_WORKERS, Progress } from '../controller/progress.ts';
import { WorkQueue } from '../controller/queue.ts';
import type { Recorder } from '../controller/event-recorder.ts';
import type { Timers } from '../base/timers.ts';
import type { LoopVitals } from '../controller/vitals.ts';

/** Where catalogs are found and written. */
export interface CatalogAccess {
  /** Makes the informer that tells `handler`; started and stopped with the operator. */
  informer: (handler: InformerHandler<ServerCatalog>) => Informer<ServerCatalog>;
  writeStatus: WriteCatalogStatus;
}

export interface CatalogsOptions extends CatalogAccess {
  credentials: Credentials;
  recorder: Recorder;
  timers: Timers;
  log: Logger;
  instruments: LoopInstruments;
}

type Reading = { ok: true; catalog: Catalog } | Missing;

/** How old lists may be that another catalog, or the check of a VirtualServer, has just asked for with the same key (ms). */
const SHARED_AGE_MS = 60_000;
/** A key that was mended should not have to wait for the longest pause (ms). */
const LONGEST_KEY_PAUSE_MS = 60_000;

export class Catalogs {
  readonly #options: CatalogsOptions;
  readonly #informer: Informer<ServerCatalog>;
  readonly #queue: WorkQueue;
  readonly #progress: Progress;
  /** Readings in a row that failed, by key. */
  readonly #failures = new Map<string, number>();
  #stopped = false;

  constructor(options: CatalogsOptions) {
    this.#options = options;
    const { timers, instruments } = options;
    this.#queue = new WorkQueue({ timers, workers: CATALOG_WORKERS, instruments });
    this.#progress = new Progress(options.timers);
    this.#informer = options.informer({
      onUpsert: (key, catalog, previous) => {
        if (previous === undefined) {
          this.#seen(key, catalog);
          return;
        }
        const edited = catalog.metadata.generation !== previous.metadata.generation;
        if (edited || isRequested(catalog)) this.#queue.add(key);
      },
      onGone: (key) => {
        this.#failures.delete(key);
        this.#queue.drop(key);
      },
    });
  }

  /** Waits for nothing: where the kind is not installed yet, the operator does its other work. */
  start(): void {
    this.#informer.start();
    for (let worker = 0; worker < CATALOG_WORKERS; worker++) void this.#work();
  }

  /** What is under way is left to end by itself and writes nothing any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#queue.shutDown();
    await this.#informer.stop();
  }

  /** Another key was read from this Secret: the catalogs that use it are read now. */
  wake(namespace: string, secret: string): void {
    for (const { metadata, spec } of this.#informer.list()) {
      if (metadata.namespace !== namespace || spec.apiKeySecretRef.name !== secret) continue;
      this.#queue.add(`${metadata.namespace}/${metadata.name}`);
    }
  }

  /** The Secrets whose keys are in use here, as `namespace/name`. */
  secrets(): string[] {
    return this.#informer.list().map(({ metadata, spec }) => `${metadata.namespace}/${spec.apiKeySecretRef.name}`);
  }

  list(): ServerCatalog[] {
    return this.#informer.list();
  }

  /** How the loop is doing, for probes and metrics. */
  vitals(): LoopVitals {
    return {
      queued: this.#queue.length,
      busyForMs: this.#queue.busyFor(),
      maxWorkers: CATALOG_WORKERS,
      progressAgeMs: this.#progress.ageMs,
    };
  }

  /** As `Informer.silentForMs`. */
  silentForMs(): number {
    return this.#informer.silentForMs();
  }

  /** After a start those that are in order are read within one interval, not all at once. */
  #seen(key: string, catalog: ServerCatalog): void {
    const { metadata, status } = catalog;
    // One whose last reading failed may still be Ready.
    const isInOrder = currentReason(status?.conditions) === 'Available';
    const isCurrent = isInOrder && status?.observedGeneration === metadata.generation && !isRequested(catalog);
    this.#queue.addAfter(key, isCurrent ? this.#options.timers.random() * refreshMs(catalog) : 0);
  }

  async #work(): Promise<void> {
    const { instruments, timers } = this.#options;
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      const begunAt = timers.monotonic();
      this.#progress.mark();
      try {
        instruments.visited(await this.#visit(key), timers.monotonic() - begunAt);
      } finally {
        this.#queue.done(key);
        this.#progress.mark();
      }
    }
  }

  async #visit(key: string): Promise<VisitResult> {
    const catalog = this.#informer.get(key);
    if (catalog === undefined || catalog.metadata.deletionTimestamp !== undefined) return 'success';
    try {
      await this.#refresh(key, catalog);
      return 'requeue_after';
    } catch (error) {
      this.#queue.addRateLimited(key);
      const expected = error instanceof KubeError && (error.code === 'Conflict' || error.code === 'NotFound');
      this.#options.log[expected ? 'debug' : 'error']({ catalog: key, err: error }, 'catalog not written');
      return expected ? 'requeue' : 'error';
    }
  }

  async #refresh(key: string, catalog: ServerCatalog): Promise<void> {
    const { log, recorder, timers, writeStatus } = this.#options;
    // After a failure only a new answer proves that it is over.
    const anew = isRequested(catalog) || this.#failures.has(key);
    const reading = await this.#read(catalog, anew ? 0 : SHARED_AGE_MS);
    if (this.#stopped) return;
    const status = catalogStatus(catalog, reading, timers.now());
    const changed = !isDeepEqual(catalog.status, status);
    if (changed) {
      const written = await writeStatus(catalog, status);
      recorder.record(written, 'ReadCatalog', transitions(catalog.status, status), CATALOG_KIND);
    }
    log.debug({ catalog: key, reason: currentReason(status.conditions), changed }, 'catalog read');
    this.#queue.forget(key);
    // It may have gone meanwhile.
    if (this.#informer.get(key) !== undefined) this.#queue.addAfter(key, this.#pauseAfter(key, catalog, reading));
  }

  async #read(catalog: ServerCatalog, maxAgeMs: number): Promise<Reading> {
    const { credentials } = this.#options;
    const { metadata, spec } = catalog;
    const { name } = spec.apiKeySecretRef;
    const use = { held: false, deleting: false, asked: isRequested(catalog) };
    const found = await credentials.get(metadata.namespace, name, use);
    if (!found.ok) return found;
    const reading = await readCatalog(found.session, maxAgeMs);
    const refused = !reading.ok && (reading.reason === 'InvalidCredentials' || reading.reason === 'Unauthorized');
    if (refused) credentials.suspect(metadata.namespace, name);
    return reading;
  }

  /** Until the next reading (ms): the interval, spread over its last tenth, or a growing pause after a failure. */
  #pauseAfter(key: string, catalog: ServerCatalog, reading: Reading): number {
    const { timers } = this.#options;
    if (reading.ok) {
      this.#failures.delete(key);
      return refreshMs(catalog) * (0.9 + 0.1 * timers.random());
    }
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const pause = isAboutKey(reading.reason) ? keyPauseMs : backoffMs;
    const longest = isAboutKey(reading.reason) ? LONGEST_KEY_PAUSE_MS : Infinity;
    return Math.min(longest, pause(failures, timers.random(), reading.retryAfterMs));
  }
}
