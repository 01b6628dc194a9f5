/** All requests of the operators of one plan: named, checked, met by the fault of the plan or passed on. */
import { CATALOG_PLURAL, SERVER_PLURAL } from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulator } from '../../src/simulator/index.ts';
import type { Answer, Exchange, Passing } from './exchange.ts';
import { checkServiceCall, checkWrite } from './guards.ts';
import { kubeLabel, serviceLabel, stateOf } from './labels.ts';
import type { KnownObjects } from './objects.ts';
import type { Replica } from './replica.ts';

/** What is done with a request instead of passing it on; true when it was dealt with. */
export type Interceptor = (label: string, exchange: Passing, sender: Replica) => Promise<boolean>;

interface TrafficOptions {
  simulator: Simulator;
  objects: KnownObjects;
  /** The objects as the API server has them now. */
  list: () => Promise<{ items: VirtualServer[] }>;
  /** Who sends what goes to the provider. */
  leader: () => Replica;
  /** Only one of several operators works, and the others wait for its Lease. */
  elects: boolean;
  /** Told of what must never happen. */
  violated: (violations: readonly string[]) => void;
  /** The fault of the plan. */
  intercept?: Interceptor;
  /** What the provider answers. */
  provider?: (exchange: Exchange, forward: () => Promise<Answer>) => Promise<Answer>;
}

const LAST_WORDS_MS = 50;

export class Traffic {
  /** Labels of all requests, in order of arrival. */
  readonly labels: string[] = [];
  /** Name of the replica that holds the Lease, as the API server has it. */
  holder: string | undefined;
  readonly #options: TrafficOptions;
  /** By name of the object. */
  readonly #writes = new Map<string, number>();
  /** By SSH key: creates between the operator and the provider. */
  readonly #onTheirWay = new Map<unknown, number>();
  /** Processes that have held the Lease. */
  readonly #led = new Set<number | undefined>();
  #intercepting = 0;
  #still: Promise<unknown> = Promise.resolve();
  #lastAt = Date.now();

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** True while a fault strikes: when it has, there may be one more process. */
  get isStruck(): boolean {
    return this.#intercepting > 0;
  }

  /** For how long nothing was asked for (ms). */
  get quietMs(): number {
    return Date.now() - this.#lastAt;
  }

  /** How often operators have written to the object. */
  writes(name: string): number {
    return this.#writes.get(name) ?? 0;
  }

  isOnItsWay(sshKeys: unknown): boolean {
    return (this.#onTheirWay.get(sshKeys) ?? 0) > 0;
  }

  /** No request arrives while people do several things at once: what falls between them would be met by chance. */
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
    if (exchange.method === 'PATCH') {
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
      // What is true at the very moment at which the provider acts.
      if (exchange.method !== 'GET') violated(checkServiceCall(exchange, (await list()).items, simulator));
      return forward();
    });
    if (provider !== undefined) exchange.onForward((forward) => provider(exchange, forward));
    const sshKeys = orderedBy(exchange);
    const count = (by: 1 | -1): void => {
      if (sshKeys !== undefined) this.#onTheirWay.set(sshKeys, (this.#onTheirWay.get(sshKeys) ?? 0) + by);
    };
    count(1);
    try {
      await this.#deal(serviceLabel(exchange, objects), exchange, leader());
    } finally {
      count(-1);
    }
  }

  /** A connection to the SSH server of the object of this name. */
  async toSshHost(visit: Passing, name: string): Promise<void> {
    await this.#still;
    await this.#deal(`ssh:connect:${stateOf(this.#options.objects.object(name))}`, visit, this.#options.leader());
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

  /** A process that has not led yet neither lists nor watches objects. */
  async #checkStandby(exchange: Exchange, { name, pid }: Replica): Promise<void> {
    const kind = exchange.path.split('?')[0]?.split('/').at(-1) ?? '';
    const isInforming = exchange.method === 'GET' && [SERVER_PLURAL, CATALOG_PLURAL].includes(kind);
    if (!this.#options.elects || !isInforming || pid === undefined || this.#led.has(pid)) return;
    // The last words of a process may arrive when its successor is there already; their connection is closed then.
    await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
    if (!exchange.isOver) this.#options.violated([`${name} stands by and sends GET ${exchange.path}`]);
  }

  #learn({ method, path }: Exchange, { status, body }: Answer, sender: Replica): void {
    if (status >= 300 || method === 'GET') return;
    const { objects } = this.#options;
    if (path.includes(`/${SERVER_PLURAL}/`)) objects.saw(JSON.parse(body.toString()) as VirtualServer);
    if (path.includes(`/${CATALOG_PLURAL}/`)) objects.sawCatalog(JSON.parse(body.toString()) as ServerCatalog);
    if (path.includes('/leases')) {
      const { spec } = JSON.parse(body.toString()) as { spec?: { holderIdentity?: string } };
      this.holder = spec?.holderIdentity === '' ? undefined : sender.name;
      this.#led.add(sender.pid);
    }
  }
}

/** The SSH keys of a create; undefined for any other request. */
export function orderedBy({ method, path, body }: Passing): unknown {
  if (method !== 'POST' || !path.endsWith('/servers')) return undefined;
  return (JSON.parse(body) as { ssh_keys?: unknown }).ssh_keys;
}
