/**
 * The world of one plan: a namespace, a simulator, operators behind proxies, a fault that waits for its request, and the
 * people around. Scenarios act on it and wait on conditions; every wait is bounded by the deadline of the plan.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { API_VERSION, PLURAL } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { currentReason } from '../../src/decision/verdict.ts';
import { DEFAULT_KEY, startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { virtualServer, withAnnotations, withSpec, type Manifest } from '../gen/virtual-server.ts';
import type { Arena } from './arena.ts';
import type { Answer, Exchange } from './exchange.ts';
import { checkServiceCall, checkWrite } from './guards.ts';
import { kubeLabel, serviceLabel } from './labels.ts';
import { KnownObjects, recordOf } from './objects.ts';
import { checkEnding } from './oracles.ts';
import { resolve } from './person.ts';
import { startProxy, type Proxy } from './proxy.ts';
import type { Result } from './plan.ts';
import { Replica } from './replica.ts';
import type { Scenario } from './scenarios.ts';

/** What is done with a request instead of passing it on; true when it was dealt with. */
export type Interceptor = (label: string, exchange: Exchange, sender: Replica) => Promise<boolean>;

export interface StageOptions {
  arena: Arena;
  name: string;
  /** Wall time after which a wait is in vain (ms). */
  boundMs: number;
  /** The fault of the plan. */
  intercept?: Interceptor;
  /** What the service of the scenario does otherwise than usual. */
  service?: (exchange: Exchange, stage: Stage) => Promise<boolean>;
  flags?: string[];
  /** One operator, or several that elect a leader; each entry is by how much its clock is wrong (ms). */
  skews?: readonly number[];
}

const LOOK_MS = 20;
const RESYNCS = 2;
/** Enough that the second poll meets an object that knows its identifier. */
const POLLS = 2;

export class Stage {
  readonly namespace: string;
  readonly simulator: Simulator;
  readonly objects: KnownObjects;
  readonly replicas: Replica[] = [];
  /** Labels of all requests, in order of arrival. */
  readonly labels: string[] = [];
  readonly violations: string[] = [];
  /** While false, tasks go on for ever. */
  tasksEnd = true;
  /** While false, nobody looks after parked objects. */
  peopleLook = true;
  /** Called between two looks at the world: what has to be done about a fault. */
  tend: () => Promise<void> = () => Promise.resolve();
  /** True once the trouble of the plan has begun. */
  isTroubled: () => boolean = () => false;
  /** What to make of a process that ended and was not asked to. */
  onEnd: (replica: Replica, code: number | null) => void;
  readonly retained = new Set<unknown>();
  readonly #options: StageOptions;
  readonly #service: Proxy;
  readonly #tokens: string[];
  readonly #secrets = [DEFAULT_KEY.secret];
  readonly #deadline: number;
  readonly #writes = new Map<string, number>();
  readonly #onTheirWay = new Map<unknown, number>();
  readonly #calm = new Map<string, { uid: string; reads: number; writes: number }>();
  #lastRequestAt = Date.now();
  #holder: string | undefined;

  private constructor(options: StageOptions, simulator: Simulator, service: Proxy, tokens: string[]) {
    this.#options = options;
    this.simulator = simulator;
    this.#service = service;
    this.#tokens = tokens;
    this.namespace = options.name;
    this.objects = new KnownObjects(simulator);
    this.#deadline = Date.now() + options.boundMs;
    this.onEnd = (replica, code) => this.violations.push(`${replica.name} ended by itself with code ${code ?? 'none'}`);
  }

  static async open(options: StageOptions): Promise<Stage> {
    const tokens: string[] = [];
    const newToken = (): string => tokens[tokens.push(randomUUID()) - 1] ?? '';
    const simulator = await startSimulator({ taskDurationMs: Infinity, newToken });
    const upstream = { origin: simulator.baseUrl, dispatcher: options.arena.service };
    const service = await startProxy({ upstream, onExchange: (exchange) => stage.#called(exchange) });
    simulator.setOrigin(service.origin);
    const stage = new Stage(options, simulator, service, tokens);
    await stage.#open();
    return stage;
  }

  async #open(): Promise<void> {
    const { arena, name, skews = [0] } = this.#options;
    arena.follow(name, this.objects);
    await arena.http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
    for (const [index, skewMs] of skews.entries()) {
      const replica = new Replica({
        arena,
        name: `operator-${index}`,
        folder: join(arena.folder, name),
        flags: this.#flags(),
        ...(skewMs !== 0 && { skewMs }),
        onExchange: (exchange, sender) => this.#asked(exchange, sender),
        onEnd: (ended, code) => this.onEnd(ended, code),
      });
      this.replicas.push(replica);
      await replica.open();
    }
  }

  #flags(): string[] {
    const { name, skews, flags = [] } = this.#options;
    const { baseUrl, authUrl } = this.simulator;
    return [
      ...[`--base-url=${baseUrl}`, `--auth-url=${authUrl}`, `--watch-namespace=${name}`],
      ...['--poll-interval=100ms', '--resync-interval=300ms', '--provider-qps=1000', '--max-concurrent-reconciles=4'],
      ...['--provider-timeout=1500ms', '--create-timeout=1500ms', '--kube-timeout=1500ms', '--takeover-grace=500ms'],
      ...['--log-level=debug', `--operator-namespace=${name}`],
      ...(skews === undefined ? [] : ['--leader-elect', '--lease-duration=2s']),
      ...flags,
    ];
  }

  // --- requests

  async #asked(exchange: Exchange, sender: Replica): Promise<void> {
    this.#note(checkWrite(exchange));
    const label = kubeLabel(exchange, this.objects);
    if (exchange.method === 'PATCH') {
      const name = /virtualservers\/([^/?]+)/.exec(exchange.path)?.[1] ?? '';
      this.#writes.set(name, (this.#writes.get(name) ?? 0) + 1);
    }
    await this.#deal(label, exchange, sender, (answer) => this.#learn(exchange, answer, sender));
  }

  async #called(exchange: Exchange): Promise<void> {
    const sender = this.leader;
    const label = serviceLabel(exchange, this.objects);
    const ordered = orderedBy(exchange);
    if (ordered !== undefined) this.#onTheirWay.set(ordered, (this.#onTheirWay.get(ordered) ?? 0) + 1);
    const forward = exchange.forward.bind(exchange);
    exchange.forward = async () => {
      // What is true at the very moment at which the service acts.
      if (exchange.method !== 'GET')
        this.#note(checkServiceCall(exchange, (await this.listLive()).items, this.simulator));
      return forward();
    };
    try {
      await this.#deal(label, exchange, sender, () => undefined);
    } finally {
      if (ordered !== undefined) this.#onTheirWay.set(ordered, (this.#onTheirWay.get(ordered) ?? 0) - 1);
    }
  }

  async #deal(label: string, exchange: Exchange, sender: Replica, learn: (answer: Answer) => void): Promise<void> {
    this.labels.push(label);
    this.#lastRequestAt = Date.now();
    const forward = exchange.forward.bind(exchange);
    exchange.forward = async () => {
      const answer = await forward();
      learn(answer);
      return answer;
    };
    if ((await this.#options.intercept?.(label, exchange, sender)) === true) return;
    if (label.startsWith('service:') && (await this.#options.service?.(exchange, this)) === true) return;
    exchange.reply(await exchange.forward());
  }

  /** For how long nothing was asked for (ms). */
  get quietMs(): number {
    return Date.now() - this.#lastRequestAt;
  }

  #learn(exchange: Exchange, { status, body }: Answer, sender: Replica): void {
    if (status >= 300 || exchange.method === 'GET') return;
    if (exchange.path.includes('/virtualservers/')) this.objects.saw(JSON.parse(body.toString()) as VirtualServer);
    if (exchange.path.includes('/leases')) {
      const { spec } = JSON.parse(body.toString()) as { spec?: { holderIdentity?: string } };
      this.#holder = spec?.holderIdentity === '' ? undefined : sender.name;
    }
  }

  #note(violations: string[]): void {
    this.violations.push(...violations);
  }

  /** The replica that holds the Lease, as the API server has it; the first one where there is no election. */
  get leader(): Replica {
    const found = this.replicas.find(({ name }) => name === this.#holder) ?? this.replicas[0];
    if (found === undefined) throw new Error('there is no operator');
    return found;
  }

  // --- people

  #path(name = ''): string {
    return `/apis/${API_VERSION}/namespaces/${this.namespace}/${PLURAL}${name && `/${name}`}`;
  }

  /** The list as the API server gives it now. */
  async listLive(): Promise<{ items: VirtualServer[] }> {
    return (await this.#options.arena.http.call({ path: this.#path() })) as { items: VirtualServer[] };
  }

  /** Creates an object whose SSH key tells for whom a server was ordered. */
  async apply(name: string, spec: Manifest['spec'] = {}, annotations: Record<string, string> = {}): Promise<void> {
    const sshKeys = [`ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA ${name}-${randomUUID()}`];
    const manifest = virtualServer(name, withSpec({ sshKeys, ...spec }), withAnnotations(annotations));
    const { http } = this.#options.arena;
    this.objects.saw((await http.call({ method: 'POST', path: this.#path(), body: manifest })) as VirtualServer);
  }

  async edit(name: string, change: { spec?: object; annotations?: Record<string, string | null> }): Promise<void> {
    const { spec, annotations } = change;
    const body = { ...(spec && { spec }), ...(annotations && { metadata: { annotations } }) };
    const contentType = 'application/merge-patch+json';
    const { http } = this.#options.arena;
    const edited = await http.call({ method: 'PATCH', path: this.#path(name), body, contentType, absent: name });
    if (edited !== undefined) this.objects.saw(edited as VirtualServer);
  }

  async remove(name: string): Promise<void> {
    const { http } = this.#options.arena;
    const answer = (await http.call({ method: 'DELETE', path: this.#path(name), absent: name })) as VirtualServer;
    if (answer.kind === 'VirtualServer') this.objects.saw(answer);
  }

  async putSecret(secret = DEFAULT_KEY.secret): Promise<void> {
    const { http } = this.#options.arena;
    this.#secrets.push(secret);
    const path = `/api/v1/namespaces/${this.namespace}/secrets`;
    const name = 'vps-api-key';
    const stringData = { keyId: DEFAULT_KEY.keyId, secret };
    await http.call({ method: 'DELETE', path: `${path}/${name}`, absent: name });
    await http.call({ method: 'POST', path, body: { metadata: { name }, stringData } });
  }

  /** The first operator leads, the others stand by. */
  async start(): Promise<void> {
    const [first, ...others] = this.replicas;
    first?.start();
    if (others.length > 0)
      await this.until('the first to lead', () => this.#holder === first?.name || this.isTroubled());
    for (const replica of others) replica.start();
  }

  /** Ends the process in good order and starts another one in its place. */
  async restart(replica: Replica): Promise<void> {
    this.#note(await replica.stop());
    this.#calm.clear();
    replica.start();
  }

  // --- conditions

  reason(name: string): string | undefined {
    const object = this.objects.object(name);
    const current = object?.status?.conditions?.some(
      (condition) => condition.type === 'Ready' && condition.observedGeneration === object.metadata.generation,
    );
    return current === true ? currentReason(object?.status?.conditions) : undefined;
  }

  /** Times out with the plan. Between two looks people do what is theirs to do. */
  async until(what: string, holds: () => boolean): Promise<void> {
    for (;;) {
      const [violation] = this.violations;
      if (violation !== undefined) throw new Error(violation);
      await this.tend();
      if (holds()) return;
      if (Date.now() > this.#deadline) throw new Error(`waited in vain: ${what}`);
      await this.#look();
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async reaches(name: string, ...reasons: string[]): Promise<void> {
    await this.until(`${name} to be ${reasons.join(' or ')}`, () => reasons.includes(this.reason(name) ?? ''));
  }

  /** The server is there, and looking at it again and again changes nothing. */
  async rests(name: string): Promise<void> {
    this.#calm.delete(name);
    await this.until(`${name} to be Available and to rest`, () => this.isResting(name));
  }

  /** True when it has been looked at several times since this was first asked, or since the last write. */
  isResting(name: string): boolean {
    const object = this.objects.object(name);
    if (object === undefined || this.reason(name) !== 'Available') {
      this.#calm.delete(name);
      return false;
    }
    const { uid } = object.metadata;
    const now = { uid, reads: this.#reads(name), writes: this.#writes.get(name) ?? 0 };
    const since = this.#calm.get(name);
    if (since?.uid === uid && since.writes === now.writes) return now.reads - since.reads >= RESYNCS;
    this.#calm.set(name, now);
    return false;
  }

  async gone(name: string): Promise<void> {
    await this.until(`${name} to be gone`, () => this.objects.object(name) === undefined);
  }

  #reads(name: string): number {
    const object = this.objects.object(name);
    const param = object && recordOf(object)?.identifier;
    if (param === undefined) return 0;
    return this.simulator.ledger.requests({
      method: 'GET',
      route: '/beta/vps/servers/{identifier}',
      param,
      status: 200,
    }).length;
  }

  /** Polls of the task that the service has answered. */
  polls(task: number): number {
    const filter = { route: '/beta/queue/vps/{task}', param: String(task), status: 200 } as const;
    return this.simulator.ledger.requests(filter).length;
  }

  async #look(): Promise<void> {
    if (this.tasksEnd) {
      for (const { task, state } of this.simulator.aliveServers())
        if (task !== undefined && state === 'creating' && this.polls(task) >= POLLS)
          this.simulator.fleet.completeTask(task);
    }
    if (!this.peopleLook) return;
    for (const object of this.objects.all()) {
      const annotations = resolve(object, {
        serverOf: ({ spec }) => this.#serverOf(spec.sshKeys?.join('\n')),
        onItsWay: ({ spec }) => (this.#onTheirWay.get(spec.sshKeys?.join('\n')) ?? 0) > 0,
      });
      if (annotations !== undefined) await this.edit(object.metadata.name, { annotations });
    }
  }

  /** Once somebody has looked, the server is waited for no longer. */
  #serverOf(sshKeys: unknown): string | undefined {
    const alive = this.simulator.aliveServers();
    const ordered = this.simulator.ledger.creates().filter(({ body }) => body.ssh_keys === sshKeys);
    const found = alive.find(({ identifier }) => ordered.some((create) => create.identifier === identifier));
    if (found?.task !== undefined && found.state === 'creating') this.simulator.fleet.completeTask(found.task);
    return found?.identifier;
  }

  // --- the end

  /** Plays a scenario to its end, looks at what is left, and takes the stage down. */
  async play({ act }: Pick<Scenario, 'act'>, met: () => boolean): Promise<Result> {
    const { labels } = this;
    try {
      await act(this);
      await this.#finish();
      const [violation] = this.violations;
      if (violation !== undefined) throw new Error(violation);
      return { kind: met() ? 'passed' : 'unmet', labels };
    } catch (error) {
      const why = [...new Set([(error as Error).message, ...this.violations])].join('\n');
      return { kind: 'failed', labels, why, dump: await this.#dump() };
    } finally {
      await this.#close();
    }
  }

  /** Stops the operators in good order and looks at what is left. */
  async #finish(): Promise<void> {
    // A fault may meet what is asked for at the very end, and start an operator once more.
    while (this.replicas.some(({ pid }) => pid !== undefined)) {
      await this.until('an operator to run', () => this.leader.runs);
      for (const wrongs of await Promise.all(this.replicas.map((replica) => replica.stop()))) this.#note(wrongs);
    }
    const { items: objects } = await this.listLive();
    const secrets = [...this.#secrets, ...this.#tokens, 'AAAAC3NzaC1lZDI1NTE5AAAA'];
    this.#note(
      checkEnding({ simulator: this.simulator, objects, replicas: this.replicas, retained: this.retained, secrets }),
    );
  }

  /** All there is to know, for the report of a failure. */
  async #dump(): Promise<string> {
    const objects = await this.listLive().catch((error: unknown) => [String(error)]);
    const ledger = this.simulator.ledger.entries().filter(({ kind }) => kind !== 'connection');
    return [
      `objects: ${JSON.stringify(objects, undefined, 1)}`,
      `service, last of it: ${ledger
        .slice(-30)
        .map((entry) => JSON.stringify(entry))
        .join('\n  ')}`,
      `requests: ${this.labels.join('\n  ')}`,
      ...this.replicas.map(({ name, log, stderr }) => `${name}:\n  ${[...log.slice(-60), ...stderr].join('\n  ')}`),
    ].join('\n');
  }

  async #close(): Promise<void> {
    const { arena } = this.#options;
    await Promise.all(this.replicas.map((replica) => replica.close()));
    await this.#service.close();
    await this.simulator.close();
    arena.unfollow(this.namespace);
    for (const { metadata } of (await this.listLive()).items) {
      await this.edit(metadata.name, { annotations: {} }).catch(() => undefined);
      const path = this.#path(metadata.name);
      const contentType = 'application/merge-patch+json';
      await arena.http.call({
        method: 'PATCH',
        path,
        body: { metadata: { finalizers: null } },
        contentType,
        absent: metadata.name,
      });
      await arena.http.call({ method: 'DELETE', path, absent: metadata.name });
    }
  }
}

function orderedBy({ method, path, body }: Exchange): unknown {
  if (method !== 'POST' || !path.endsWith('/servers')) return undefined;
  return (JSON.parse(body) as { ssh_keys?: unknown }).ssh_keys;
}
