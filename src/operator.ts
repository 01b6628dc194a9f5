/** The loop: informer -> queue -> workers, its start and its end. */
import { randomBytes } from 'node:crypto';
import type { VirtualServer } from './api/virtual-server.ts';
import { KubeError } from './kube/error.ts';
import type { Informer } from './kube/types.ts';
import { Catalogs } from './server-catalog/reconciler.ts';
import { ConnectionSecrets } from './virtual-server/connection-secret/connection-secrets.ts';
import { CreateLimit } from './virtual-server/fleet/create-limit.ts';
import { Credentials } from './accounts/credentials.ts';
import { Holders } from './virtual-server/fleet/holders.ts';
import { noInstruments, type Instruments, type VisitResult } from './controller/instruments.ts';
import { KeyKeeper } from './accounts/key-keeper.ts';
import { Losses } from './virtual-server/fleet/losses.ts';
import { Objects } from './virtual-server/fleet/objects.ts';
import type { OperatorOptions } from './operator-options.ts';
import { Pace } from './virtual-server/fleet/pace.ts';
import { Places } from './virtual-server/fleet/server-quota.ts';
import { longestStepMs, Progress } from './controller/progress.ts';
import { WorkQueue } from './controller/queue.ts';
import { Reconciler } from './virtual-server/visit/reconciler.ts';
import { Recorder } from './controller/event-recorder.ts';
import { spread } from './virtual-server/fleet/spread.ts';
import { realTimers, type Timers } from './base/timers.ts';
import { Unrecorded } from './virtual-server/fleet/unrecorded.ts';
import { pollLagMs, type Vitals } from './controller/vitals.ts';

export type { OperatorOptions } from './operator-options.ts';

/** A key is read again from its Secret at least this often (ms), or every resync interval where that is shorter. */
const LONGEST_KEY_AGE_MS = 10 * 60_000;
/** After SIGTERM creates in flight have the time that a create may take, and this long (ms) to be written down. */
const STOP_MS = 25_000;
const STOP_RETRY_MS = 1_000;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #timers: Timers;
  readonly #instruments: Instruments;
  readonly #progress: Progress;
  readonly #pace: Pace;
  readonly #queue: WorkQueue;
  readonly #informer: Informer;
  readonly #objects: Objects;
  readonly #credentials: Credentials;
  readonly #recorder: Recorder;
  readonly #reconciler: Reconciler;
  readonly #workers: Promise<void>[] = [];
  readonly #visiting = new Set<string>();
  readonly #keys: KeyKeeper;
  readonly #losses: Losses;
  readonly #unrecorded: Unrecorded;
  readonly #catalogs: Catalogs | undefined;
  #phase: Vitals['phase'] = 'idle';

  constructor(options: OperatorOptions) {
    const { kube, provider, journal, log, timers = realTimers, instruments = noInstruments } = options;
    this.#options = options;
    this.#timers = timers;
    this.#instruments = instruments;
    this.#progress = new Progress(timers);
    const workers = options.maxConcurrentReconciles;
    this.#queue = new WorkQueue({ timers, workers, instruments: instruments.loops.virtualserver });
    const holders = new Holders((namespace, secret) => this.#credentials.acceptedAccount(namespace, secret));
    const places = new Places(options.maxServersPerNamespace);
    this.#informer = options.informer({
      onUpsert: (key, object, previous) => {
        this.#objects.told(object, previous);
        // A visit looks for news when it ends: the watch often tells of its writes before their answers are here.
        if (!this.#visiting.has(key) && this.#objects.hasNews(key, undefined)) this.#queue.add(key);
      },
      onGone: (key, last) => {
        this.#objects.gone(key, last);
        this.#queue.add(key);
      },
      onList: () => {
        const listed = this.#objects.onList();
        return (...answer) => {
          for (const key of listed(...answer)) this.#queue.add(key);
        };
      },
    });
    this.#objects = new Objects(this.#informer, holders, places);
    this.#credentials = new Credentials({
      kube,
      provider,
      timers,
      refreshMs: Math.min(LONGEST_KEY_AGE_MS, options.resyncIntervalMs),
      operatorNamespace: options.operatorNamespace,
      onChange: (namespace, name) => this.#wake(namespace, name),
    });
    const { operatorNamespace, leads = () => true } = options;
    const list = (): VirtualServer[] => this.#informer.list();
    const alsoNeeded = (): string[] => this.#catalogs?.secrets() ?? [];
    this.#keys = new KeyKeeper({ credentials: this.#credentials, timers, log, operatorNamespace, list, alsoNeeded });
    this.#losses = new Losses(journal, log, leads, instruments);
    this.#pace = new Pace({
      pollMs: options.pollIntervalMs,
      resyncMs: options.resyncIntervalMs,
      absenceMs: options.absenceGraceMs,
      takeoverMs: options.createTimeoutMs + (options.leaseDurationMs ?? 0) + options.takeoverGraceMs,
      qps: options.providerQps,
      list,
      onStretch: (factors) => log.warn({ factors }, '--provider-qps is too small: intervals are stretched'),
    });
    this.#recorder = new Recorder(kube, timers, log);
    const rooms = { credentials: this.#credentials, recorder: this.#recorder, timers, log };
    const catalogRooms = { ...rooms, instruments: instruments.loops.servercatalog };
    this.#catalogs = options.catalogs && new Catalogs({ ...options.catalogs, ...catalogRooms });
    this.#reconciler = new Reconciler({
      kube,
      journal,
      holders,
      limit: new CreateLimit(options.maxCreatesPerHour),
      places,
      leads,
      probe: options.probe,
      connections: new ConnectionSecrets({ secrets: options.secrets, kube, leads, log }),
      mint: options.mint ?? (() => randomBytes(8).toString('hex')),
      credentials: this.#credentials,
      timers,
      objects: this.#objects,
      pace: this.#pace,
      recorder: this.#recorder,
      log,
      progress: this.#progress,
      instruments,
    });
    this.#unrecorded = new Unrecorded({ kube, journal, log, objects: this.#objects, reconciler: this.#reconciler });
  }

  /** Resolves when the caches are filled and the workers run. Rejects when `stop` comes first. */
  async start(): Promise<void> {
    this.#phase = 'syncing';
    this.#informer.start();
    await this.#informer.synced();
    const objects = this.#informer.list();
    spread(objects, this.#objects, this.#timers, this.#options.resyncIntervalMs);
    await this.#keys.prefetch(objects);
    this.#losses.reportUnseen(objects);
    for (let worker = 0; worker < this.#options.maxConcurrentReconciles; worker++) this.#workers.push(this.#work());
    this.#catalogs?.start();
    this.#phase = 'running';
    this.#options.log.info({ objects: objects.length }, 'operator runs');
  }

  /** How it is doing, for probes and metrics. */
  vitals(): Vitals {
    const list = (): VirtualServer[] => this.#informer.list();
    return {
      phase: this.#phase,
      objects: list,
      catalogs: () => this.#catalogs?.list() ?? [],
      loops: {
        virtualserver: {
          queued: this.#queue.length,
          busyForMs: this.#queue.busyFor(),
          maxWorkers: this.#options.maxConcurrentReconciles,
          progressAgeMs: this.#progress.ageMs,
        },
        ...(this.#catalogs && { servercatalog: this.#catalogs.vitals() }),
      },
      longestStepMs: longestStepMs(this.#options),
      informerSilentMs: Math.max(this.#informer.silentForMs(), this.#catalogs?.silentForMs() ?? 0),
      pollLagMs: () => pollLagMs(list(), (uid) => this.#objects.memo(uid), this.#timers.now()),
      stretch: () => this.#pace.factors(this.#timers.monotonic()),
      journalBroken: this.#options.journal.problem !== undefined,
    };
  }

  /** Takes no more work, finishes creates in flight and their records. Resolves when the process may end. */
  async stop(): Promise<void> {
    const { log } = this.#options;
    const deadline = this.#timers.monotonic() + this.#options.createTimeoutMs + STOP_MS;
    this.#phase = 'stopping';
    this.#queue.shutDown();
    await Promise.all([this.#informer.stop(), this.#catalogs?.stop()]);
    await Promise.race([this.#reconciler.drain(), this.#pause(deadline - this.#timers.monotonic())]);
    while (!(await this.#unrecorded.record())) await this.#pause(STOP_RETRY_MS);
    await Promise.race([this.#recorder.flush(), this.#pause(deadline - this.#timers.monotonic())]);
    log.info('operator stopped');
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      const begunAt = this.#timers.monotonic();
      this.#progress.mark();
      try {
        const result = await this.#visit(key);
        this.#instruments.loops.virtualserver.visited(result, this.#timers.monotonic() - begunAt);
      } finally {
        this.#queue.done(key);
        this.#progress.mark();
      }
    }
  }

  async #visit(key: string): Promise<VisitResult> {
    const object = this.#objects.newest(key);
    let result: VisitResult;
    this.#visiting.add(key);
    try {
      const afterMs = object === undefined ? undefined : await this.#reconciler.visit(object);
      this.#queue.forget(key);
      if (afterMs !== undefined) this.#queue.addAfter(key, afterMs);
      result = afterMs === undefined ? 'success' : 'requeue_after';
    } catch (error) {
      this.#queue.addRateLimited(key);
      const expected = error instanceof KubeError && (error.code === 'Conflict' || error.code === 'NotFound');
      result = expected ? 'requeue' : 'error';
      const fields = { key, uid: object?.metadata.uid, err: error };
      if (expected) this.#options.log.debug(fields, 'visit met a newer version');
      else this.#options.log.error(fields, 'visit failed');
    }
    await this.#forgetGone(key);
    this.#visiting.delete(key);
    if (this.#objects.hasNews(key, object)) this.#queue.add(key);
    return result;
  }

  /** What is left of objects that are gone: nothing, or the trace of a finalizer that was taken off by force. */
  async #forgetGone(key: string): Promise<void> {
    const { journal, log } = this.#options;
    for (const { object, released } of this.#objects.takeGone(key)) {
      if (!released) this.#losses.report(object);
      const { uid } = object.metadata;
      await journal.drop(uid).catch((error: unknown) => log.error({ uid, err: error }, 'journal entry not dropped'));
    }
    if (this.#objects.newest(key) === undefined) this.#queue.drop(key);
    this.#keys.forgetUnneeded();
  }

  /** A Secret was mended: all objects that use it are looked at now. */
  #wake(namespace: string, name: string): void {
    this.#catalogs?.wake(namespace, name);
    for (const object of this.#informer.list()) {
      const { metadata, spec } = object;
      if (metadata.namespace !== namespace || spec.apiKeySecretRef.name !== name) continue;
      const { failures, next, ...memo } = this.#objects.memo(metadata.uid);
      if (failures === 0 && next?.action !== 'gather') continue;
      this.#objects.remember(metadata.uid, { ...memo, failures: 0 });
      this.#queue.add(`${metadata.namespace}/${metadata.name}`);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#timers.set(resolve, Math.max(0, ms)));
  }
}
