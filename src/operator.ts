/** Assembles the controllers, starts them, and stops them in order. */
import type { ServerCatalog } from './api/server-catalog.ts';
import type { Logger } from './base/logger.ts';
import { Metrics } from './base/metrics.ts';
import { realTimers, type Timers } from './base/timers.ts';
import type { VirtualServer } from './api/virtual-server.ts';
import type { VirtualServerSet } from './api/virtual-server-set.ts';
import type { Client } from './kube/client.ts';
import type { Informer } from './controller/informer.ts';
import type { Kube } from './virtual-server/kube.ts';
import type { Secrets } from './kube/kinds.ts';
import type { Provider } from './provider/types.ts';
import type { Journal } from './virtual-server/journal/journal.ts';
import type { VisitServices } from './virtual-server/visit.ts';
import type { Members } from './virtual-server-set/members.ts';
import { randomBytes } from 'node:crypto';
import { Accounts, type SecretName } from './accounts/accounts.ts';
import { CATALOG_KIND, CATALOG_SINGULAR, SERVER_KIND, SERVER_SINGULAR, SET_KIND, SET_SINGULAR } from './api/names.ts';
import { eventOf, type EventNote } from './controller/conditions.ts';
import { Controller, Progress, REFUSED_WRITES, type ControllerOptions, type Watch } from './controller/controller.ts';
import { EventRecorder } from './controller/event-recorder.ts';
import type { Observer } from './controller/observer.ts';
import { OwnWrites } from './controller/own-writes.ts';
import { refusalOf, type KubeError } from './kube/error.ts';
import { keyOf, type KubeObject } from './kube/resource.ts';
import type { Vitals } from './observability/vitals.ts';
import { CATALOG_WORKERS, CatalogReconciler } from './server-catalog/reconciler.ts';
import { ConnectionSecrets } from './virtual-server/connection-secret.ts';
import { CreateLimit, ServerQuota, pastOrders, type PriceLimits } from './virtual-server/shared/limits.ts';
import { recallClaims } from './virtual-server/shared/earlier-claims.ts';
import { Holders } from './virtual-server/shared/holders.ts';
import { Losses, Unrecorded } from './virtual-server/shared/losses.ts';
import { Pace, pollLagMs, spread, urgencyOf } from './virtual-server/shared/pace.ts';
import { TaskTimes } from './virtual-server/shared/task-times.ts';
import { claimsOf } from './virtual-server/decision/claims.ts';
import { knownRecord } from './virtual-server/decision/known-record.ts';
import { Objects } from './virtual-server/shared/objects.ts';
import { ACTS, VirtualServerReconciler, observes } from './virtual-server/reconciler.ts';
import { Candidates } from './virtual-server-set/candidates.ts';
import { SET_WORKERS, SetReconciler } from './virtual-server-set/reconciler.ts';
import { longestStepMs } from './step-bounds.ts';

/* The operator's dependencies and settings; all durations are in ms. */

export interface OperatorOptions extends Pick<VisitServices, 'probe'> {
  kube: Kube;
  /** The informer of VirtualServers; the operator starts and stops it. */
  servers: Informer<VirtualServer>;
  /** Without it, the operator ignores ServerCatalogs. */
  catalogs?: { informer: Informer<ServerCatalog>; client: Pick<Client<ServerCatalog>, 'writeStatus'> };
  /** Without it, the operator ignores VirtualServerSets. */
  sets?: {
    informer: Informer<VirtualServerSet>;
    client: Pick<Client<VirtualServerSet>, 'get' | 'writeStatus'>;
    members: Members;
  };
  /** Without it, the operator writes no connection Secrets. */
  secrets?: Secrets;
  provider: Provider;
  journal: Journal;
  log: Logger;
  pollIntervalMs: number;
  resyncIntervalMs: number;
  maxConcurrentReconciles: number;
  providerQps: number;
  /** Maximum orders per namespace and hour; 0 means no limit. */
  maxCreatesPerHour: number;
  /** 0 means no limit. */
  maxServersPerNamespace: number;
  maxPricePerNamespace: PriceLimits;
  createTimeoutMs: number;
  /** Timeout of every other provider request. */
  providerTimeoutMs: number;
  kubeTimeoutMs: number;
  takeoverGraceMs: number;
  /** How long the provider must deny a server before it counts as gone. */
  absenceGraceMs: number;
  /** True while no other process can be the leader; always true without leader election. */
  leads?: () => boolean;
  /** For how long no process has led when this one began to (ms). */
  vacantMs?: () => number;
  /** How long another process may keep working after its last lease renewal (ms); 0 without leader election. */
  leaseDurationMs?: number;
  operatorNamespace: string | undefined;
  /** Given if the operator only observes. It never leads then. */
  observer?: Observer;
  timers?: Timers;
  metrics?: Metrics;
  /** Creates the name of an attempt; random by default. */
  mint?: () => string;
}

/** Keys are read again from their Secrets at least this often (ms), or every resync interval if that is shorter. */
const LONGEST_KEY_AGE_MS = 10 * 60_000;
/** After SIGTERM, orders in flight get the create timeout to finish, plus this time (ms) to be recorded. */
const STOP_MS = 25_000;
const STOP_RETRY_MS = 1_000;

/** A kind of objects with the loop that reconciles them. */
interface Kind {
  name: string;
  controller: Pick<Controller<KubeObject>, 'start' | 'stop' | 'enqueue' | 'vitals'>;
  /** Number of workers that call the provider. */
  callers: number;
  /** The Secrets with the API keys of its objects. */
  secrets: () => SecretName[];
  /** The keys of its objects. */
  keys: () => string[];
  /** The keys of the objects that are waiting for this Secret. */
  wake: (namespace: string, secret: string) => readonly string[];
  /** The keys of the objects that show which way the orders of this Secret's account go. */
  wakeForOrders: (namespace: string, secret: string) => readonly string[];
}

export class Operator {
  readonly #options: OperatorOptions;
  readonly #timers: Timers;
  readonly #pace: Pace;
  readonly #taskTimes = new TaskTimes();
  readonly #objects: Objects;
  readonly #accounts: Accounts;
  readonly #recorder: EventRecorder;
  readonly #reconciler: VirtualServerReconciler;
  readonly #losses: Losses;
  readonly #limit: CreateLimit;
  readonly #unrecorded: Unrecorded;
  readonly #metrics: Metrics;
  readonly #leads: () => boolean;
  /** VirtualServers first: their controller has to know a change before a set is visited because of it. */
  readonly #kinds: readonly [Kind, ...Kind[]];
  readonly #stopping = new AbortController();
  #phase: Vitals['phase'] = 'idle';

  constructor(options: OperatorOptions) {
    const { kube, provider, journal, log, servers, timers = realTimers, metrics = new Metrics() } = options;
    const { operatorNamespace, observer } = options;
    const leads = observer === undefined ? (options.leads ?? (() => true)) : () => false;
    this.#options = options;
    this.#leads = leads;
    this.#timers = timers;
    this.#metrics = metrics;
    const accounts = new Accounts({
      kube,
      provider,
      timers,
      log,
      refreshMs: Math.min(LONGEST_KEY_AGE_MS, options.resyncIntervalMs),
      operatorNamespace,
      onChange: (namespace, name) => {
        for (const { controller, wake } of this.#kinds) wake(namespace, name).forEach((key) => controller.enqueue(key));
      },
      onOrders: (namespace, name) => {
        for (const { controller, wakeForOrders } of this.#kinds)
          wakeForOrders(namespace, name).forEach((key) => controller.enqueue(key));
      },
    });
    this.#accounts = accounts;
    const isVisiting = ({ controller }: Kind): boolean => {
      const { queued, busyForMs } = controller.vitals();
      return queued + busyForMs.length > 0;
    };
    this.#recorder = new EventRecorder(kube.events, timers, log, () => this.#kinds.some(isVisiting));
    this.#pace = new Pace({
      pollMs: options.pollIntervalMs,
      resyncMs: options.resyncIntervalMs,
      absenceMs: options.absenceGraceMs,
      takeoverMs: options.createTimeoutMs + (options.leaseDurationMs ?? 0) + options.takeoverGraceMs,
      qps: options.providerQps,
      list: () => servers.list(),
      memo: (uid) => this.#objects.memo(uid),
      onStretch: (factors) => log.warn({ factors }, '--provider-qps is too low: intervals are stretched'),
    });
    const holders = new Holders((namespace, secret) => accounts.acceptedAccount(namespace, secret));
    const quota = new ServerQuota(options.maxServersPerNamespace, options.maxPricePerNamespace);
    const objects = new Objects(servers, holders, quota);
    const progress = new Progress(timers);
    this.#limit = new CreateLimit(options.maxCreatesPerHour);
    this.#losses = new Losses(journal, log, leads, metrics);
    this.#reconciler = new VirtualServerReconciler({
      ...(observer === undefined ? ACTS : observes(observer)),
      informer: servers,
      losses: this.#losses,
      kube,
      journal,
      holders,
      limit: this.#limit,
      quota,
      leads,
      probe: options.probe,
      connections: new ConnectionSecrets({
        secrets: options.secrets,
        observes: observer !== undefined,
        kube,
        leads,
        log,
      }),
      mint: options.mint ?? (() => randomBytes(8).toString('hex')),
      accounts,
      timers,
      objects,
      pace: this.#pace,
      taskTimes: this.#taskTimes,
      recorder: this.#recorder,
      log,
      progress,
      metrics,
    });
    this.#objects = objects;
    const restore = (object: VirtualServer) => this.#reconciler.restore(object);
    this.#unrecorded = new Unrecorded({ kube, journal, log, objects, restore });
    const { catalogs, sets } = options;
    this.#kinds = [
      this.#virtualServers(progress),
      ...(catalogs === undefined ? [] : [this.#serverCatalogs(catalogs)]),
      ...(sets === undefined ? [] : [this.#virtualServerSets(sets)]),
    ];
  }

  /** Resolves when the caches are full and the workers run. Rejects if `stop` is called before that. */
  async start(): Promise<void> {
    const { servers, journal, log } = this.#options;
    this.#phase = 'syncing';
    servers.start();
    await servers.synced();
    const objects = servers.list();
    const resyncOf = (namespace: string) => this.#pace.timing(namespace, this.#timers.monotonic()).resyncMs;
    spread(objects, this.#objects, this.#timers.now(), resyncOf);
    const clocks = { now: this.#timers.now(), monotonic: this.#timers.monotonic() };
    recallClaims(objects, this.#objects, clocks.monotonic - (this.#options.vacantMs?.() ?? 0));
    this.#limit.recall(pastOrders(objects, journal), clocks);
    await this.#accounts.prefetch(objects.filter((object) => knownRecord(object) !== undefined).map(secretOf));
    this.#losses.reportUnseen(objects);
    // What was not reported while another operator worked is reported now.
    await this.#options.observer?.start(() => {
      for (const { controller, keys } of this.#kinds) keys().forEach((key) => controller.enqueue(key));
    });
    const [first, ...others] = this.#kinds;
    await first.controller.start();
    // If a kind is not installed yet, the operator works without it; `stop` ends the wait.
    for (const { controller } of others) void controller.start().catch(() => undefined);
    if (this.#stopping.signal.aborted) return;
    this.#accounts.start(() => this.#kinds.flatMap(({ secrets }) => secrets()));
    this.#phase = 'running';
    log.info({ objects: objects.length }, 'operator runs');
  }

  /** Health data for probes and metrics. */
  vitals(): Vitals {
    const { servers, catalogs, sets } = this.#options;
    const list = (): VirtualServer[] => servers.list();
    const workers = this.#kinds.reduce((sum, { callers }) => sum + callers, 0);
    return {
      phase: this.#phase,
      objects: list,
      catalogs: () => catalogs?.informer.list() ?? [],
      sets: () => sets?.informer.list() ?? [],
      loops: Object.fromEntries(this.#kinds.map(({ name, controller }) => [name, controller.vitals()])),
      longestStepMs: longestStepMs({ ...this.#options, workers }),
      pollLagMs: () => pollLagMs(list(), (uid) => this.#objects.memo(uid), this.#timers.now()),
      stretch: () => this.#pace.factors(this.#timers.monotonic()),
      journalBroken: this.#options.journal.problem !== undefined,
      withheld: this.#options.observer?.withheld(),
      ordersGo: () => this.#accounts.ordersGo(),
    };
  }

  /** Takes no new work, and finishes and records the orders in flight. Resolves when the process may exit. */
  async stop(): Promise<void> {
    const { log, createTimeoutMs } = this.#options;
    const deadline = this.#timers.monotonic() + createTimeoutMs + STOP_MS;
    this.#phase = 'stopping';
    this.#stopping.abort();
    this.#accounts.stop();
    this.#options.observer?.stop();
    await Promise.all(this.#kinds.map(({ controller }) => controller.stop()));
    await Promise.race([this.#reconciler.drain(), this.#pause(deadline - this.#timers.monotonic())]);
    while (!(await this.#unrecorded.record())) await this.#pause(STOP_RETRY_MS);
    await Promise.race([this.#recorder.flush(), this.#pause(deadline - this.#timers.monotonic())]);
    log.info('operator stopped');
  }

  #virtualServers(progress: Progress): Kind {
    const { kube, servers, maxConcurrentReconciles } = this.#options;
    const reconciler = this.#reconciler;
    const { handOvers } = this.#objects;
    const watch: Watch<VirtualServer> = {
      informer: servers,
      toKeys: (server) => handOvers.concernedBy(server, knownRecord(server)),
      isSame: (before, after) => handOvers.isSame(before, after),
    };
    const controller = this.#controller(SERVER_KIND, SERVER_SINGULAR, {
      informer: servers,
      watches: [watch],
      objects: this.#objects,
      reconciler,
      workers: maxConcurrentReconciles,
      read: (...object) => kube.getVirtualServer(...object),
      priorityOf: (object) => urgencyOf(object, this.#taskTimes, this.#timers.now()),
      progress,
    });
    return {
      name: SERVER_SINGULAR,
      controller,
      callers: maxConcurrentReconciles,
      secrets: () => servers.list().map(secretOf),
      keys: () => servers.list().map(keyOf),
      wake: (...secret) => reconciler.wake(...secret),
      wakeForOrders: () => [],
    };
  }

  #serverCatalogs({ informer, client }: NonNullable<OperatorOptions['catalogs']>): Kind {
    const { servers } = this.#options;
    const objects = new OwnWrites(informer);
    const reconciler = new CatalogReconciler({
      informer,
      client,
      wrote: (catalog) => objects.saw(catalog),
      accounts: this.#accounts,
      claims: () => servers.list().map((server) => claimsOf(this.#objects.newest(keyOf(server)) ?? server)),
      recorder: this.#recorder,
      timers: this.#timers,
      observer: this.#options.observer,
      log: this.#options.log,
      stopping: this.#stopping.signal,
    });
    return {
      name: CATALOG_SINGULAR,
      controller: this.#controller(CATALOG_KIND, CATALOG_SINGULAR, {
        informer,
        objects,
        reconciler,
        workers: CATALOG_WORKERS,
      }),
      callers: CATALOG_WORKERS,
      secrets: () => informer.list().map(secretOf),
      keys: () => informer.list().map(keyOf),
      wake: (...secret) => reconciler.wake(...secret),
      wakeForOrders: (...secret) => reconciler.wakeForOrders(...secret),
    };
  }

  #virtualServerSets({ informer, client, members }: NonNullable<OperatorOptions['sets']>): Kind {
    const { servers, log, observer } = this.#options;
    const leads = this.#leads;
    const objects = new OwnWrites(informer);
    const candidates = new Candidates({ servers, newest: (key) => this.#objects.newest(key), sets: informer });
    const watch: Watch<VirtualServer> = { informer: servers, toKeys: (server) => candidates.setsOf(server) };
    const progress = new Progress(this.#timers);
    const reconciler = new SetReconciler({
      known: (set) => candidates.of(set),
      sets: client,
      members,
      saw: (set) => objects.saw(set),
      leads,
      observer,
      recorder: this.#recorder,
      progress,
      timers: this.#timers,
      log,
      metrics: this.#metrics,
      stopping: this.#stopping.signal,
    });
    const controller = this.#controller(SET_KIND, SET_SINGULAR, {
      informer,
      objects,
      watches: [watch],
      reconciler,
      workers: SET_WORKERS,
      progress,
    });
    return {
      name: SET_SINGULAR,
      controller,
      callers: 0,
      secrets: () => [],
      keys: () => informer.list().map(keyOf),
      wake: () => [],
      wakeForOrders: () => [],
    };
  }

  #controller<T extends KubeObject>(
    kind: string,
    name: string,
    options: Omit<ControllerOptions<T>, 'name' | 'timers' | 'log' | 'metrics'>,
  ): Controller<T> {
    const { log } = this.#options;
    const metrics = this.#metrics;
    const onStatusRefused = (object: T, error: KubeError): void => {
      metrics.add(REFUSED_WRITES, { controller: name, write: 'status' });
      this.#recorder.record(kind, object, 'WriteStatus', [statusRefused(error)]);
    };
    return new Controller({ name, timers: this.#timers, log, metrics, onStatusRefused, ...options });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#timers.set(resolve, Math.max(0, ms)));
  }
}

/** The status itself was refused, so an Event reports it. */
function statusRefused(error: KubeError): EventNote {
  const { said, remedy } = refusalOf(error);
  const what = `The API server refuses to write the status: ${said} The status may be out of date`;
  return eventOf({ reason: 'WriteRefused', message: `${what}. ${remedy}. The operator retries automatically` });
}

function secretOf({ metadata, spec }: VirtualServer | ServerCatalog): SecretName {
  return { namespace: metadata.namespace, name: spec.apiKeySecretRef.name };
}
