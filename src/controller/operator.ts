/** The loop: informer -> queue -> workers, its start and its end. */
import { randomBytes } from 'node:crypto';
import type { VirtualServer } from '../api/virtual-server.ts';
import { inputsOf } from '../decision/inputs.ts';
import { KubeError } from '../kube/error.ts';
import type { Informer, InformerHandler, Kube } from '../kube/types.ts';
import type { Logger } from '../logger.ts';
import type { Provider } from '../provider/types.ts';
import { CreateLimit } from './create-limit.ts';
import { Credentials } from './credentials.ts';
import { Holders } from './holders.ts';
import type { Journal } from './journal.ts';
import { KeyKeeper } from './key-keeper.ts';
import { Losses } from './losses.ts';
import { Objects } from './objects.ts';
import { Pace } from './pace.ts';
import { WorkQueue } from './queue.ts';
import { Reconciler } from './reconciler.ts';
import { Recorder } from './recorder.ts';
import { realTimers, type Timers } from './timers.ts';
import { Unrecorded } from './unrecorded.ts';

export interface OperatorOptions {
  kube: Kube;
  /** Makes the informer that tells `handler`; started and stopped by the operator. */
  informer: (handler: InformerHandler) => Informer;
  provider: Provider;
  journal: Journal;
  log: Logger;
  pollIntervalMs: number;
  resyncIntervalMs: number;
  maxConcurrentReconciles: number;
  providerQps: number;
  /** Per namespace; 0: no limit. */
  maxCreatesPerHour: number;
  createTimeoutMs: number;
  takeoverGraceMs: number;
  /** True while no other process can be the active one; always, where there is no leader election. */
  leads?: () => boolean;
  /** How long another process may go on after its last sign of life (ms); 0 without leader election. */
  leaseDurationMs?: number;
  operatorNamespace: string | undefined;
  timers?: Timers;
  /** Names an attempt; random if left out. */
  mint?: () => string;
}

/** A key is read again from its Secret at least this often (ms), or every resync interval where that is shorter. */
const LONGEST_KEY_AGE_MS = 10 * 60_000;
/** After SIGTERM creates in flight have this long (ms); the process has to be gone after 30 s. */
const STOP_MS = 25_000;
const STOP_RETRY_MS = 1_000;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #timers: Timers;
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

  constructor(options: OperatorOptions) {
    const { kube, provider, journal, log, timers = realTimers } = options;
    this.#options = options;
    this.#timers = timers;
    this.#queue = new WorkQueue({ timers });
    const holders = new Holders();
    this.#informer = options.informer({
      onUpsert: (key, object) => {
        this.#objects.told(object);
        // A visit looks for news when it ends: the watch often tells of its writes before their answers are here.
        if (!this.#visiting.has(key) && this.#objects.hasNews(key, undefined)) this.#queue.add(key);
      },
      onGone: (key, last) => {
        this.#objects.gone(key, last);
        this.#queue.add(key);
      },
    });
    this.#objects = new Objects(this.#informer, holders);
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
    this.#keys = new KeyKeeper({ credentials: this.#credentials, timers, log, operatorNamespace, list });
    this.#losses = new Losses(journal, log, leads);
    const pace = new Pace({
      pollMs: options.pollIntervalMs,
      resyncMs: options.resyncIntervalMs,
      takeoverMs: options.createTimeoutMs + (options.leaseDurationMs ?? 0) + options.takeoverGraceMs,
      qps: options.providerQps,
      list,
      onStretch: (factors) => log.warn({ factors }, '--provider-qps is too small: intervals are stretched'),
    });
    this.#recorder = new Recorder(kube, timers, log);
    this.#reconciler = new Reconciler({
      kube,
      journal,
      holders,
      limit: new CreateLimit(options.maxCreatesPerHour),
      leads,
      mint: options.mint ?? (() => randomBytes(8).toString('hex')),
      credentials: this.#credentials,
      timers,
      objects: this.#objects,
      pace,
      recorder: this.#recorder,
      log,
    });
    this.#unrecorded = new Unrecorded({ kube, journal, log, objects: this.#objects, reconciler: this.#reconciler });
  }

  /** Resolves when the caches are filled and the workers run. Rejects when `stop` comes first. */
  async start(): Promise<void> {
    this.#informer.start();
    await this.#informer.synced();
    const objects = this.#informer.list();
    this.#spread(objects);
    await this.#keys.prefetch(objects);
    this.#losses.reportUnseen(objects);
    for (let worker = 0; worker < this.#options.maxConcurrentReconciles; worker++) this.#workers.push(this.#work());
    this.#options.log.info({ objects: objects.length }, 'operator runs');
  }

  /** Takes no more work, finishes creates in flight and their records. Resolves when the process may end. */
  async stop(): Promise<void> {
    const { log } = this.#options;
    const deadline = this.#timers.monotonic() + STOP_MS;
    this.#queue.shutDown();
    await this.#informer.stop();
    await Promise.race([this.#reconciler.drain(), this.#pause(deadline - this.#timers.monotonic())]);
    while (!(await this.#unrecorded.record())) await this.#pause(STOP_RETRY_MS);
    await Promise.race([this.#recorder.flush(), this.#pause(deadline - this.#timers.monotonic())]);
    log.info('operator stopped');
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      try {
        await this.#visit(key);
      } finally {
        this.#queue.done(key);
      }
    }
  }

  async #visit(key: string): Promise<void> {
    const object = this.#objects.newest(key);
    this.#visiting.add(key);
    try {
      const afterMs = object === undefined ? undefined : await this.#reconciler.visit(object);
      this.#queue.forget(key);
      if (afterMs !== undefined) this.#queue.addAfter(key, afterMs);
    } catch (error) {
      this.#queue.addRateLimited(key);
      const expected = error instanceof KubeError && (error.code === 'Conflict' || error.code === 'NotFound');
      const fields = { key, uid: object?.metadata.uid, err: error };
      if (expected) this.#options.log.debug(fields, 'visit met a newer version');
      else this.#options.log.error(fields, 'visit failed');
    }
    await this.#forgetGone(key);
    this.#visiting.delete(key);
    if (this.#objects.hasNews(key, object)) this.#queue.add(key);
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
    for (const object of this.#informer.list()) {
      const { metadata, spec } = object;
      if (metadata.namespace !== namespace || spec.apiKeySecretRef.name !== name) continue;
      const { failures, next, ...memo } = this.#objects.memo(metadata.uid);
      if (failures === 0 && next?.action !== 'gather') continue;
      this.#objects.remember(metadata.uid, { ...memo, failures: 0 });
      this.#queue.add(`${metadata.namespace}/${metadata.name}`);
    }
  }

  /** Ready servers are read again within one resync interval, not all at once after a start. */
  #spread(objects: readonly VirtualServer[]): void {
    const { resyncIntervalMs } = this.#options;
    for (const object of objects) {
      if (object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') !== true)
        continue;
      const at = this.#timers.now() + this.#timers.random() * resyncIntervalMs;
      this.#objects.remember(object.metadata.uid, {
        failures: 0,
        next: { action: 'readServer', at, inputs: inputsOf(object) },
      });
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#timers.set(resolve, Math.max(0, ms)));
  }
}
