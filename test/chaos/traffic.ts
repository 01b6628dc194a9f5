/** All requests of a plan's operators: labeled, checked, and then hit by the plan's fault or passed on. */
import { CATALOG_PLURAL, SERVER_KIND, SERVER_PLURAL, SET_PLURAL } from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import type { Route, Simulator } from '../../src/simulator/index.ts';
import type { Answer, Exchange, Passing } from './exchange.ts';
import { checkProviderCall, checkWrite } from './guards.ts';
import { isOrder, kubeLabel, providerLabel, stateOf } from './labels.ts';
import type { KnownObjects } from './objects.ts';
import type { Replica } from './replica.ts';
import { checkLimit } from './sets.ts';

/** Handles a request instead of passing it on; returns true if it did. */
export type Interceptor = (label: string, exchange: Passing, sender: Replica) => Promise<boolean>;

interface TrafficOptions {
  simulator: Simulator;
  objects: KnownObjects;
  /** The objects as the API server has them now. */
  list: () => Promise<{ items: VirtualServer[] }>;
  /** The replica that sends the requests to the provider. */
  leader: () => Replica;
  /** Whether several operators run with leader election, one active and the others waiting for the Lease. */
  elects: boolean;
  /** Called with violations. */
  violated: (violations: readonly string[]) => void;
  /** The fault of the plan. */
  intercept?: Interceptor;
  /** The provider's answers. */
  provider?: (exchange: Exchange, forward: () => Promise<Answer>) => Promise<Answer>;
}

const LAST_WORDS_MS = 50;
const LISTS: readonly Route[] = ['/beta/vps/products', '/beta/vps/images', '/beta/vps/disk-sizes'];

export class Traffic {
  /** Labels of all requests, in order of arrival. */
  readonly labels: string[] = [];
  /** Name of the replica that holds the Lease, according to the API server. */
  holder: string | undefined;
  readonly #options: TrafficOptions;
  /** Number of writes, by name of the object. */
  readonly #writes = new Map<string, number>();
  /** By SSH key: number of creates in flight between the operator and the provider. */
  readonly #onTheirWay = new Map<unknown, number>();
  /** Paths of the servers that the provider was asked to cancel. */
  readonly #asked = new Set<string>();
  /** Processes that have held the Lease. */
  readonly #led = new Set<number | undefined>();
  #intercepting = 0;
  #still: Promise<unknown> = Promise.resolve();
  #lastAt = Date.now();

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** Whether a fault is in progress; when it ends, there may be one more process. */
  get isStruck(): boolean {
    return this.#intercepting > 0;
  }

  /** Time since the last request (ms). */
  get quietMs(): number {
    return Date.now() - this.#lastAt;
  }

  /** Number of operator writes to the object. */
  writes(name: string): number {
    return this.#writes.get(name) ?? 0;
  }

  isOnItsWay(sshKeys: unknown): boolean {
    return (this.#onTheirWay.get(sshKeys) ?? 0) > 0;
  }

  /** Holds all requests while users do several things at once. Otherwise, chance would decide which requests come in between. */
  async hold(act: () => Promise<void>): Promise<void> {
    const acted = act();
    this.#still = acted.catch(() => undefined);
    await acted;
  }

  /** A request to the API server. */
  async toCluster(exchange: Exchange, sender: Replica): Promise<void> {
    await this.#still;
    this.#options.violated(checkWrite(exchange));
    await this.#checkStandby(exchange, sender);
    if (exchange.method === 'PATCH' || exchange.method === 'PUT') {
      const name = /virtualservers\/([^/?]+)/.exec(exchange.path)?.[1] ?? '';
      this.#writes.set(name, this.writes(name) + 1);
    }
    exchange.onForward(async (forward) => {
      const answer = await forward();
      this.#learn(exchange, answer, sender);
      return answer;
    });
    await this.#deal(kubeLabel(exchange, this.#options.objects), exchange, sender);
  }

  async toProvider(exchange: Exchange): Promise<void> {
    await this.#still;
    const { objects, list, simulator, violated, leader, provider } = this.#options;
    exchange.onForward(async (forward) => {
      // Checks the state at the very moment at which the provider acts.
      if (exchange.method !== 'GET') violated(checkProviderCall(exchange, (await list()).items, simulator));
      if (orderedBy(exchange) !== undefined) violated(checkLimit(simulator.aliveServers().length, objects.mostAllowed));
      return forward();
    });
    if (provider !== undefined) exchange.onForward((forward) => provider(exchange, forward));
    const sshKeys = orderedBy(exchange);
    const count = (by: 1 | -1): void => {
      if (sshKeys !== undefined) this.#onTheirWay.set(sshKeys, (this.#onTheirWay.get(sshKeys) ?? 0) + by);
    };
    const label = providerLabel(exchange, objects, this.#asked.has(exchange.path));
    if (exchange.method === 'DELETE') this.#asked.add(exchange.path);
    count(1);
    try {
      await this.#deal(label, exchange, leader());
    } finally {
      count(-1);
    }
  }

  /** A connection to the SSH server of the object of this name. */
  async toSshHost(visit: Passing, name: string): Promise<void> {
    await this.#still;
    await this.#deal(`ssh:connect:${stateOf(this.#options.objects.object(name))}`, visit, this.#options.leader());
  }

  /** A request for a tunnel to the provider; the object of this name may be about to be ordered. */
  async toProxy(tunnel: Passing, name: string): Promise<void> {
    await this.#still;
    const state = stateOf(this.#options.objects.object(name));
    // An order opens a separate tunnel, after the lists were read and before the claim.
    const isForOrder = state === 'fresh' && LISTS.every((route) => this.#hasAnswered(route));
    await this.#deal(`proxy:CONNECT:${isForOrder ? 'order' : state}`, tunnel, this.#options.leader());
  }

  #hasAnswered(route: Route): boolean {
    return this.#options.simulator.ledger.requests({ route, status: 200 }).length > 0;
  }

  async #deal(label: string, exchange: Passing, sender: Replica): Promise<void> {
    this.labels.push(label);
    this.#lastAt = Date.now();
    if (await this.#intercept(label, exchange, sender)) return;
    exchange.reply(await exchange.forward());
  }

  async #intercept(label: string, exchange: Passing, sender: Replica): Promise<boolean> {
    this.#intercepting += 1;
    try {
      return (await this.#options.intercept?.(label, exchange, sender)) === true;
    } finally {
      this.#intercepting -= 1;
    }
  }

  /** A process that has not led yet must neither list nor watch objects. */
  async #checkStandby(exchange: Exchange, { name, pid }: Replica): Promise<void> {
    const kind = exchange.path.split('?')[0]?.split('/').at(-1) ?? '';
    const isInforming = exchange.method === 'GET' && [SERVER_PLURAL, CATALOG_PLURAL, SET_PLURAL].includes(kind);
    if (!this.#options.elects || !isInforming || pid === undefined || this.#led.has(pid)) return;
    // A process's last requests may arrive after its successor has taken over; their connection is closed then.
    await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
    if (!exchange.isOver) this.#options.violated([`${name} is a standby but sends GET ${exchange.path}`]);
  }

  #learn({ method, path }: Exchange, { status, body }: Answer, sender: Replica): void {
    if (status >= 300 || method === 'GET') return;
    const { objects } = this.#options;
    if (path.includes(`/${SERVER_PLURAL}`)) {
      const object = JSON.parse(body.toString()) as VirtualServer;
      // An immediate deletion is answered with a Status.
      if (object.kind === SERVER_KIND) objects.saw(object);
    }
    if (path.includes(`/${SET_PLURAL}/`)) objects.sawSet(JSON.parse(body.toString()) as VirtualServerSet);
    if (path.includes(`/${CATALOG_PLURAL}/`)) objects.sawCatalog(JSON.parse(body.toString()) as ServerCatalog);
    if (path.includes('/leases')) {
      const { spec } = JSON.parse(body.toString()) as { spec?: { holderIdentity?: string } };
      this.holder = spec?.holderIdentity === '' ? undefined : sender.name;
      this.#led.add(sender.pid);
    }
  }
}

/** The SSH keys of a create; undefined for any other request. */
export function orderedBy(request: Passing): unknown {
  if (!isOrder(request)) return undefined;
  return (JSON.parse(request.body) as { ssh_keys?: unknown }).ssh_keys;
}
