/**
 * The world of one plan: a namespace, a simulator, operators behind proxies, a fault that waits for its request, and
 * the people. Scenarios act on it and wait for conditions; every wait ends at the plan's deadline.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { startSimulator, type ApiName, type Simulator } from '../../src/simulator/index.ts';
import type { Arena } from './arena.ts';
import { Calm } from './calm.ts';
import { Caretaker } from './caretaker.ts';
import { dump } from './dump.ts';
import type { Passing } from './exchange.ts';
import { flagsFor } from './flags.ts';
import { KnownObjects } from './objects.ts';
import { checkCatalogs, checkEnding } from './oracles.ts';
import { Panel } from './panel.ts';
import { People } from './people.ts';
import type { Result } from './plan.ts';
import { startProxy, type Proxy } from './proxy.ts';
import { Replica } from './replica.ts';
import type { Scenario, Unusual } from './scenarios.ts';
import { SshHost } from './ssh-host.ts';
import { Traffic, type Interceptor } from './traffic.ts';
import { PROXY_PASSWORD, Tunnels } from './tunnels.ts';
import type { World } from './worlds.ts';

interface StageOptions {
  arena: Arena;
  name: string;
  /** Wall time after which a wait times out (ms). */
  boundMs: number;
  /** The plan's fault. */
  intercept?: Interceptor;
  /** The provider's unusual answers in this scenario. */
  provider?: Unusual;
  /** The provider's API; as documented if left out. */
  api?: ApiName;
  world?: World;
  flags?: readonly string[];
  isProxied?: true;
  asksNobody?: true;
  /** One entry per operator, the offset of its clock (ms). Several operators elect a leader. */
  skews?: readonly number[];
}

interface Surroundings {
  simulator: Simulator;
  provider: Proxy;
  /** All tokens that the provider has issued. */
  tokens: readonly string[];
  sshHost: SshHost;
  tunnels: Tunnels | undefined;
}

const LOOK_MS = 20;
const SSH_KEY = 'AAAAC3NzaC1lZDI1NTE5AAAA';

export class Stage {
  readonly simulator: Simulator;
  readonly objects: KnownObjects;
  readonly people: People;
  readonly panel: Panel;
  readonly traffic: Traffic;
  readonly calm: Calm;
  readonly caretaker: Caretaker;
  /** The SSH server of `web`, if the scenario puts that server behind it. */
  readonly sshHost: SshHost;
  readonly replicas: Replica[] = [];
  readonly violations: string[] = [];
  /** SSH keys of objects whose servers must survive. */
  readonly retained = new Set<unknown>();
  /** While false, tasks never end. */
  tasksEnd = true;
  /** While false, people do not resolve parked objects. */
  peopleLook = true;
  /** Called between two checks of a wait: does what the plan's fault requires. */
  tend: () => Promise<void> = () => Promise.resolve();
  /** Whether the plan's fault has started. */
  isTroubled: () => boolean = () => false;
  /** Called when a process ends although it was not asked to. */
  onEnd: (replica: Replica, code: number | null) => void;
  readonly #options: StageOptions;
  readonly #provider: Proxy;
  readonly #tunnels: Tunnels | undefined;
  readonly #tokens: readonly string[];
  readonly #deadline: number;

  /** The clock of an operator is behind, so it does later what an annotation asks for at a time. */
  get hasLateClock(): boolean {
    return this.#options.skews?.some((skewMs) => skewMs < 0) === true;
  }

  private constructor(options: StageOptions, { simulator, provider, tokens, sshHost, tunnels }: Surroundings) {
    const { arena, name, boundMs, intercept, provider: unusual } = options;
    this.#options = options;
    this.#provider = provider;
    this.#tunnels = tunnels;
    this.#tokens = tokens;
    this.#deadline = Date.now() + boundMs;
    this.simulator = simulator;
    this.sshHost = sshHost;
    this.objects = new KnownObjects(simulator);
    this.people = new People(arena.http, name, this.objects);
    this.panel = new Panel(simulator);
    const violated = (violations: readonly string[]): void => void this.violations.push(...violations);
    this.traffic = new Traffic({
      simulator,
      objects: this.objects,
      list: () => this.people.list(),
      leader: () => this.leader,
      elects: options.skews !== undefined,
      violated,
      ...(intercept && { intercept }),
      ...(unusual && { provider: (exchange, forward) => unusual(exchange, forward, this) }),
    });
    this.calm = new Calm(this.objects, this.panel, this.traffic);
    const { objects, panel, people, traffic } = this;
    this.caretaker = new Caretaker({ arena, namespace: name, objects, panel, people, traffic, violated });
    this.caretaker.asksNobody = options.asksNobody === true;
    this.onEnd = (replica, code) =>
      this.violations.push(`${replica.name} exited unexpectedly with code ${code ?? 'none'}`);
  }

  static async open(options: StageOptions): Promise<Stage> {
    const tokens: string[] = [];
    const newToken = (): string => tokens[tokens.push(randomUUID()) - 1] ?? '';
    const { api = 'documented', world = {} } = options;
    // A double keeps no number of a task beyond 2^53.
    const firstTask = api === 'public' ? 2n ** 53n : 1001;
    const simulator = await startSimulator({ ...world, api, firstTask, taskDurationMs: Infinity, newToken });
    const upstream = { origin: simulator.baseUrl, dispatcher: options.arena.provider };
    const provider = await startProxy({ upstream, onExchange: (exchange) => stage.traffic.toProvider(exchange) });
    simulator.setOrigin(provider.origin);
    const sshHost = await SshHost.open((visit) => stage.traffic.toSshHost(visit, 'web'));
    const toProxy = (tunnel: Passing): Promise<void> => stage.traffic.toProxy(tunnel, 'web');
    const violated = (violation: string): void => void stage.violations.push(violation);
    const tunnels = options.isProxied && (await Tunnels.open(toProxy, violated));
    const stage = new Stage(options, { simulator, provider, tokens, sshHost, tunnels });
    await stage.#open();
    return stage;
  }

  async #open(): Promise<void> {
    const { arena, name, skews, flags = [] } = this.#options;
    arena.follow(name, this.objects);
    await this.people.makeNamespace();
    for (const [index, skewMs] of (skews ?? [0]).entries()) {
      const replica = new Replica({
        arena,
        name: `operator-${index}`,
        folder: join(arena.folder, name),
        flags: [...flagsFor(name, this.simulator, skews !== undefined), ...flags],
        env: this.#tunnels === undefined ? {} : { HTTP_PROXY: this.#tunnels.url },
        ...(skewMs !== 0 && { skewMs }),
        onExchange: (exchange, sender) => this.traffic.toCluster(exchange, sender),
        onEnd: (ended, code) => this.onEnd(ended, code),
      });
      this.replicas.push(replica);
      await replica.open();
    }
  }

  // --- the operators

  /** The replica that holds the Lease; without leader election, the first one. */
  get leader(): Replica {
    const found = this.replicas.find(({ name }) => name === this.traffic.holder) ?? this.replicas[0];
    if (found === undefined) throw new Error('there is no operator');
    return found;
  }

  /** Starts all operators: the first one leads, the others stand by. */
  async start(): Promise<void> {
    const [first, ...others] = this.replicas;
    first?.start();
    if (others.length > 0)
      await this.until('the first to lead', () => this.traffic.holder === first?.name || this.isTroubled());
    for (const replica of others) replica.start();
  }

  /** Shuts the process down in order, and starts another one in its place. */
  async restart(replica: Replica): Promise<void> {
    this.violations.push(...(await replica.stop()));
    this.calm.clear();
    replica.start();
  }

  // --- conditions

  reason(name: string): string | undefined {
    return this.objects.reason(name);
  }

  /** Waits until the condition holds or the plan times out. Between two checks people do what they have to do. */
  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    for (;;) {
      const [violation] = this.violations;
      if (violation !== undefined) throw new Error(violation);
      await this.tend();
      if (await holds()) return;
      if (Date.now() > this.#deadline) throw new Error(`timed out waiting for ${what}`);
      await this.#look();
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async reaches(name: string, ...reasons: string[]): Promise<void> {
    await this.until(`${name} to be ${reasons.join(' or ')}`, () => reasons.includes(this.reason(name) ?? ''));
  }

  /** Waits until the server exists and further reads of it cause no writes. */
  async rests(name: string): Promise<void> {
    this.calm.forget(name);
    await this.until(`${name} to be Available and settled`, () => this.calm.isResting(name));
  }

  async gone(name: string): Promise<void> {
    await this.until(`${name} to be gone`, () => this.objects.object(name) === undefined);
  }

  /** What people do without being asked by the scenario. */
  async #look(): Promise<void> {
    if (this.tasksEnd) this.panel.endTasks();
    if (this.peopleLook) await this.caretaker.look();
  }

  // --- the end

  /** Plays a scenario to its end, checks what is left, and closes the stage. */
  async play({ act }: Pick<Scenario, 'act'>, met: () => boolean): Promise<Result> {
    const { simulator, replicas, traffic } = this;
    const { labels } = traffic;
    try {
      await act(this);
      await this.#finish();
      const [violation] = this.violations;
      if (violation !== undefined) throw new Error(violation);
      return { kind: met() ? 'passed' : 'unmet', labels };
    } catch (error) {
      const why = [...new Set([(error as Error).message, ...this.violations])].join('\n');
      const objects = await this.people.list().catch(String);
      return {
        kind: 'failed',
        labels,
        why,
        dump: dump({ objects: [objects, this.objects.catalog, this.objects.set], simulator, labels, replicas }),
      };
    } finally {
      await this.#close();
    }
  }

  /** Stops the operators in order, and checks what is left. */
  async #finish(): Promise<void> {
    // The fault may hit a request at the very end, and start an operator again.
    while (this.traffic.isStruck || this.replicas.some(({ pid }) => pid !== undefined)) {
      await this.until('the fault to be over', () => !this.traffic.isStruck);
      await this.until('an operator to run', () => this.leader.runs);
      this.violations.push(...(await Promise.all(this.replicas.map((replica) => replica.stop()))).flat());
    }
    const { simulator, replicas, retained } = this;
    const { items: objects } = await this.people.list();
    const secrets = [...this.people.secrets, ...this.#tokens, SSH_KEY, PROXY_PASSWORD];
    const asked = (sshKeys: unknown): number => this.objects.asked(sshKeys);
    this.violations.push(...checkEnding({ simulator, objects, replicas, asked, retained, secrets }));
    if (this.objects.catalog !== undefined)
      this.violations.push(...checkCatalogs(await this.people.catalogs(), await this.panel.lists()));
  }

  async #close(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.close()));
    await Promise.all([this.#provider.close(), this.sshHost.close(), this.#tunnels?.close()]);
    await this.simulator.close();
    this.#options.arena.unfollow(this.#options.name);
    await this.people.removeAll();
  }
}
