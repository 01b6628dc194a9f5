/** One simulated operator process: the real operator over a modeled network, clock and disk. */
import type { TaskNumber } from '../../src/base/exact-numbers.ts';
import { createLogger } from '../../src/base/logger.ts';
import type { Timers } from '../../src/base/timers.ts';
import { createInformer } from '../../src/controller/informer.ts';
import { LeaderElection } from '../../src/controller/leader-election.ts';
import { Observer } from '../../src/controller/observer.ts';
import type { ReflectorTuning } from '../../src/controller/reflector.ts';
import { createClient } from '../../src/kube/client.ts';
import type { CallOptions, KubeHttp } from '../../src/kube/http.ts';
import { LEASES, SECRETS } from '../../src/kube/kinds.ts';
import { readOnlyKube } from '../../src/kube/read-only.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import { Operator, type OperatorOptions } from '../../src/operator.ts';
import { createProvider } from '../../src/provider/provider.ts';
import { readOnlyProvider } from '../../src/provider/read-only.ts';
import type { Exchange, ProviderAnswer } from '../../src/provider/transport.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { ProbeResult } from '../../src/virtual-server/decision/reach.ts';
import { SERVER_CATALOGS } from '../../src/server-catalog/resource.ts';
import { createMembers } from '../../src/virtual-server-set/members.ts';
import { VIRTUAL_SERVER_SETS } from '../../src/virtual-server-set/resource.ts';
import { RECORD_ANNOTATION } from '../../src/api/names.ts';
import { isNamed, parseRecord } from '../../src/api/record.ts';
import type { OrderWay } from '../../src/provider/types.ts';
import { createKube, type Kube } from '../../src/virtual-server/kube.ts';
import { VIRTUAL_SERVERS } from '../../src/virtual-server/resource.ts';
import { openJournal } from '../../src/virtual-server/journal/journal.ts';
import { PROBE_MS } from '../../src/virtual-server/ssh-check.ts';
import type { ApiServer } from './api-server.ts';
import type { SimDisk } from './disk.ts';
import type { HostKeys } from './host-keys.ts';
import { SimKubeHttp, type KubeHttpParts } from './kube-http.ts';
import type { Network } from './network.ts';
import type { Orders } from './orders.ts';
import type { PriceLimits } from '../../src/virtual-server/shared/limits.ts';
import type { CreateWatch } from './create-watch.ts';
import type { PriceWatch } from './price-watch.ts';
import type { Random } from './random.ts';
import type { SetWatch } from './set-watch.ts';
import { SimWire } from './wire.ts';

export interface ProcessParts {
  network: Network;
  api: ApiServer;
  simulation: Simulation;
  orders: Orders;
  hostKeys: HostKeys;
  disk: SimDisk;
  setting: Setting;
  /** `--orders` of the process. */
  way: OrderWay;
  /** Reports every step, not only errors. */
  verbose: boolean;
  /** Called with each log line. */
  onLog: (line: Record<string, unknown>) => void;
  /** How many changes out of date the first list is. */
  staleBy: number;
  /** With leader election: the process's identity, and what to do when the lease is lost. */
  election?: { identity: string; onLost: () => void };
  /** Whether it only observes; called with each of its requests to the API server. */
  observes?: ((request: CallOptions) => void) | undefined;
  /** Follows the requests about sets; without it, the process ignores sets. */
  sets?: SetWatch | undefined;
  /** What the API server answers to a request that it refuses. */
  refuse: KubeHttpParts['refuse'];
  /** Judges the orders and changes of the process by the limit in money; undefined in a world without such a limit. */
  prices?: PriceWatch | undefined;
  /** Judges the orders of the process by the limit of orders an hour; undefined in a world without one. */
  creates?: CreateWatch | undefined;
  /** Whether the process writes connection Secrets. */
  connectionSecrets: boolean;
  /** Offset of the process's wall clock (ms). */
  skewMs: number;
  /** Called with each request to the provider when it is sent. */
  onExchange: (exchange: Exchange) => void;
  onAnswer: (exchange: Exchange, answer: ProviderAnswer | undefined) => void;
  /** Called with each fault of the journal that the process opened, and with each accepted order that it lost. */
  onFault: (what: string) => void;
  /** Called when the process cannot start. */
  onFailedStart: (error: Error) => void;
}

const OPERATOR_NAMESPACE = 'vps-operator';

export const FLAGS = {
  pollIntervalMs: 60_000,
  resyncIntervalMs: 600_000,
  createTimeoutMs: 120_000,
  providerTimeoutMs: 30_000,
  kubeTimeoutMs: 15_000,
  takeoverGraceMs: 60_000,
  absenceGraceMs: 300_000,
  operatorNamespace: OPERATOR_NAMESPACE,
} satisfies Partial<OperatorOptions>;

/** Flags and limits that all processes of a world share. */
export interface Setting {
  flags: Pick<
    OperatorOptions,
    'maxConcurrentReconciles' | 'providerQps' | 'maxCreatesPerHour' | 'maxServersPerNamespace' | 'maxPricePerNamespace'
  >;
  tuning: Required<Pick<ReflectorTuning, 'pageSize' | 'pageBytes'>>;
  /** Duration of the leader election lease. */
  leaseMs: number;
}

const KIB = 1024;

/** Draws small limits, because worlds are small, or those of a real operator. */
export function drawSetting(random: Random): Setting {
  return {
    flags: {
      maxConcurrentReconciles: random.int(1, 8),
      providerQps: random.pick([0.5, 1, 2, 5, 20, 100]),
      maxCreatesPerHour: random.pick([0, 0, 0, 3, 6]),
      maxServersPerNamespace: random.pick([0, 0, 0, 0, 4, 7]),
      maxPricePerNamespace: { usual: 0, namespaces: {} },
    },
    tuning: {
      pageSize: random.pick([1, 2, 3, 5, 500]),
      pageBytes: random.pick([4 * KIB, 12 * KIB, 8 * KIB * KIB]),
    },
    // Short leases would make renewals most of a world's events.
    leaseMs: random.pick([15_000, 60_000, 120_000]),
  };
}

/** Room for about two to eight servers of the middle product. */
export function drawPriceLimits(random: Random): PriceLimits {
  const usual = random.pick([15, 25, 40, 60]);
  return { usual, namespaces: random.chance(0.3) ? { b: random.pick([0, 20, 80]) } : {} };
}

export class SimProcess {
  readonly http: SimKubeHttp;
  readonly #network: Network;
  readonly #owner: object = {};
  readonly #closing: (() => Promise<void>)[] = [];
  #operator: Operator | undefined;
  #isEnding = false;

  constructor(parts: ProcessParts) {
    const { network, api, staleBy, sets, skewMs, election, refuse } = parts;
    this.#network = network;
    const suspend = (ms: number): void => this.suspend(ms);
    const acts = parts.observes === undefined;
    const follow = acts ? sets?.follower({ identity: election?.identity, skewMs, suspend }) : undefined;
    this.http = new SimKubeHttp({ network, api, owner: this.#owner, staleBy, follow, refuse });
    this.#start(parts).catch((error: unknown) => {
      if (!this.#isEnding) parts.onFailedStart(error as Error);
    });
  }

  /** The process's caches; undefined during startup and on a standby. */
  get caches(): Record<'servers' | 'catalogs' | 'sets', readonly KubeObject[]> | undefined {
    const vitals = this.#operator?.vitals();
    if (vitals?.phase !== 'running') return undefined;
    return { servers: vitals.objects(), catalogs: vitals.catalogs(), sets: vitals.sets() };
  }

  /** SIGKILL: requests that were sent arrive; their answers are lost. */
  kill(): void {
    this.#network.scheduler.kill(this.#owner);
    this.http.end();
  }

  /** SIGSTOP, followed by SIGCONT after `ms`. */
  suspend(ms: number): void {
    this.#network.scheduler.stop(this.#owner, ms);
  }

  /** Stops like the process does on SIGTERM or when it loses the lease. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    for (const close of this.#closing) await close();
    this.kill();
  }

  /** Follows the same steps as wiring.ts. */
  async #start({
    network,
    simulation,
    orders,
    disk,
    setting,
    onLog,
    verbose,
    election,
    ...parts
  }: ProcessParts): Promise<void> {
    const { scheduler, random } = network;
    const { observes } = parts;
    const http = observes === undefined ? this.http : readOnlyKube(watched(this.http, observes));
    const owner = this.#owner;
    const timers: Timers = {
      now: () => scheduler.now + parts.skewMs,
      monotonic: () => scheduler.now,
      set: (fn, ms) => scheduler.after(ms, fn, owner),
      clear: (handle) => {
        if (handle !== undefined) scheduler.cancel(handle as object);
      },
      random: random.next,
    };
    const log = createLogger({
      level: verbose ? 'debug' : 'error',
      destination: { write: (line) => onLog(JSON.parse(line) as Record<string, unknown>) },
    });
    const opened = await openJournal({
      dir: observes === undefined ? '/journal' : undefined,
      timers,
      files: disk.files(network, owner),
      lock: () => disk.lock(owner, (holder) => scheduler.isDead(holder)),
      warn: (message, fields) => log.warn(fields, message),
    });
    if (observes === undefined) for (const what of disk.watch.wronglyOpened(opened)) parts.onFault(what);
    const decides = (uid: string): void => parts.prices?.decided(uid, this.#operator?.vitals().objects() ?? [], this);
    const looks = (namespace: string, name: string): void =>
      parts.prices?.looks(this, `${namespace}/${name}`, this.#operator?.vitals().objects() ?? []);
    const by = parts.creates?.started(disk, parts.staleBy, () => this.#operator?.vitals().objects() ?? []);
    const sends = (uid: string, attempt: string): void => {
      const sent = { uid, attempt, isNamed: false };
      orders.announce(sent);
      if (by !== undefined) parts.creates?.sending(sent, by);
    };
    const followed = (attempt: string, task: TaskNumber): void => orders.followed(attempt, task);
    const journal =
      observes === undefined ? disk.watch.watched(opened, decides, sends, followed, parts.onFault) : opened;
    const client = createProvider({
      baseUrl: simulation.baseUrl,
      authUrl: simulation.authUrl,
      createTimeoutMs: FLAGS.createTimeoutMs,
      qps: setting.flags.providerQps,
      orders: parts.way,
      timers,
      transport: new SimWire({
        network,
        simulation,
        orders,
        owner,
        onExchange: (exchange) => {
          parts.onExchange(exchange);
          if (exchange.operation !== 'changeServer') return;
          const identifier = exchange.target.path.split('/').at(-1) ?? '';
          parts.prices?.changes(this, identifier, JSON.parse(exchange.body ?? '{}') as object);
        },
        onAnswer: parts.onAnswer,
        onPrices: (answer) => parts.prices?.listed(this, answer),
        onLost: parts.onFault,
      }),
    });
    const provider = observes === undefined ? client : readOnlyProvider(client);
    const leases = createClient(http, LEASES);
    const lease = { namespace: OPERATOR_NAMESPACE, name: 'vps-operator' };
    const electing = { leases, lease, leaseDurationMs: setting.leaseMs, timers, log };
    const elector = election && observes === undefined ? new LeaderElection({ ...electing, ...election }) : undefined;
    const observer = observes && new Observer(electing);
    const following = { http, namespaces: 'all', log, timers, ...setting.tuning } as const;
    const operator = new Operator({
      ...FLAGS,
      ...setting.flags,
      ...(elector && {
        leads: () => elector.held(),
        vacantMs: () => elector.vacantMs,
        leaseDurationMs: setting.leaseMs,
      }),
      ...(observer && { observer, leaseDurationMs: setting.leaseMs }),
      kube: announcing(reading(createKube(http, timers), looks), (uid, attempt) => {
        // The next request of the same order needs no other place.
        const sent = { uid, attempt, isNamed: true };
        if (orders.announce(sent) === 'again') return;
        decides(uid);
        if (by !== undefined) parts.creates?.sending(sent, by);
      }),
      ...(parts.connectionSecrets && observes === undefined && { secrets: createClient(http, SECRETS) }),
      servers: createInformer(VIRTUAL_SERVERS, following),
      catalogs: {
        informer: createInformer(SERVER_CATALOGS, following),
        client: createClient(http, SERVER_CATALOGS),
      },
      ...(parts.sets && {
        sets: {
          informer: createInformer(VIRTUAL_SERVER_SETS, following),
          client: createClient(http, VIRTUAL_SERVER_SETS),
          members: createMembers(http, VIRTUAL_SERVERS),
        },
      }),
      provider,
      journal,
      log,
      timers,
      probe: (target, _namespace, known) => ask(network, owner, () => parts.hostKeys.answer(target, known)),
      mint: () => random.hex(16),
    });
    this.#operator = operator;
    this.#closing.push(
      () => operator.stop(),
      async () => elector?.end(),
      () => provider.close(),
      () => journal.close(),
    );
    await elector?.acquire();
    await operator.start();
  }
}

/** The client, and what is sent with it. */
function watched(http: KubeHttp, onCall: (request: CallOptions) => void): KubeHttp {
  return {
    call: (options) => {
      onCall(options);
      return http.call(options);
    },
    stream: (options) => http.stream(options),
    serverTime: () => http.serverTime(),
    close: () => http.close(),
  };
}

/** Simulates an SSH server that answers, or stays silent until the probe times out. */
function ask(
  { scheduler, random, silentSsh }: Network,
  owner: object,
  answer: () => ProbeResult,
): Promise<ProbeResult> {
  const silent = random.chance(silentSsh);
  const probed = (): ProbeResult => (silent ? { ok: false, error: 'no answer' } : answer());
  return new Promise((resolve) => scheduler.after(silent ? PROBE_MS : 5, () => resolve(probed()), owner));
}

/** Calls `onRead` before each live read of an object. */
function reading(kube: Kube, onRead: (namespace: string, name: string) => void): Kube {
  return {
    ...kube,
    getVirtualServer: (namespace, name) => {
      onRead(namespace, name);
      return kube.getVirtualServer(namespace, name);
    },
  };
}

/** Calls `onNamed` before each write that claims an order under an identifier. */
function announcing(kube: Kube, onNamed: (uid: string, attempt: string) => void): Kube {
  return {
    ...kube,
    patchMetadata: (version, patch) => {
      const parsed = parseRecord(patch.annotations?.[RECORD_ANNOTATION] ?? undefined);
      const record = parsed.ok ? parsed.value : undefined;
      if (record !== undefined && isNamed(record)) onNamed(record.owner, record.attempt);
      return kube.patchMetadata(version, patch);
    },
  };
}
