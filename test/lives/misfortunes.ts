/** Faults of the simulated provider: it lags, fails, renumbers servers, suspends accounts, and gives false answers. */
import { CANCEL_BODIES, type Simulation, type SimulationOptions } from '../../src/simulator/index.ts';
import { worldSchema } from '../../src/simulator/settings.ts';
import { type Absences, LONGEST_ABSENCE_MS } from './absences.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;

export const OWN_ACCOUNT = 'default';
export const OTHER_ACCOUNT = 'other';
/** SSH key of servers that are unrelated to the cluster. */
const ELSEWHERE = 'elsewhere';
const PRODUCT = { code: 'VPSX4', ram: 1024, cores: 1, price: 1 };

/** Draws the provider's behavior for a whole run. */
export function drawProvider(
  random: Random,
): Pick<SimulationOptions, 'taskNumbering' | 'identifierCase' | 'addresses'> {
  return {
    addresses: random.chance(0.7) ? 'all' : random.pick(worldSchema.shape.addresses.options),
    taskNumbering: random.pick(['global', 'account']),
    identifierCase: random.pick(['as-is', 'as-is', 'ignored', 'echo', 'upper-in-server', 'upper-in-task']),
  };
}

/** A double keeps every integer up to 2^53; in some worlds, task numbers pass it, or are beyond it from the start. */
const LONG_TASKS = [2n ** 53n - 4n, 2n ** 53n, 2n ** 64n - 4n];

/** How a world numbers its tasks, and whether the Location repeats the number that the body has. */
export function drawTasks(random: Random): Pick<SimulationOptions, 'firstTask' | 'createAnswer'> {
  if (!random.chance(0.25)) return {};
  return { firstTask: random.pick(LONG_TASKS), createAnswer: { location: random.chance(0.5) } };
}

export interface MisfortuneParts {
  simulation: Simulation;
  random: Random;
  now: () => number;
  tell: (what: string) => void;
  /** Whether an operator could distinguish this server from another one with the same identifier. */
  isRecognized: (serial: number) => boolean;
  /** Whether every object knows the identifier of its server that is being created. */
  areAllNamed: () => boolean;
  absences: Absences;
  /** Whether the server is to come up, although its order seems to have failed. */
  isLate: (serial: number) => boolean;
  /** Called when task numbers start over. */
  onNumbersRepeat: () => void;
}

export class Misfortunes {
  readonly #simulation: Simulation;
  readonly #givenBack = new Set<string>();
  readonly #isRecognized: (serial: number) => boolean;
  readonly #areAllNamed: () => boolean;
  readonly #onNumbersRepeat: () => void;
  readonly #random: Random;
  readonly #now: () => number;
  readonly #tell: (what: string) => void;
  readonly #absences: Absences;
  readonly #isLate: (serial: number) => boolean;

  constructor({
    simulation,
    random,
    now,
    tell,
    isRecognized,
    areAllNamed,
    absences,
    isLate,
    onNumbersRepeat,
  }: MisfortuneParts) {
    this.#areAllNamed = areAllNamed;
    this.#absences = absences;
    this.#isLate = isLate;
    this.#onNumbersRepeat = onNumbersRepeat;
    this.#simulation = simulation;
    this.#isRecognized = isRecognized;
    this.#random = random;
    this.#now = now;
    this.#tell = tell;
    // Servers of other customers, with task numbers that may equal ours.
    for (let i = random.int(0, 4); i > 0; i--) this.#orderElsewhere();
  }

  act(): void {
    const random = this.#random;
    const acts: (() => void)[] = [
      () => this.#lag(),
      () => this.#lag(),
      () => this.#deny(),
      () => this.#deny(),
      () => this.#refuse(),
      () => this.#refuse(),
      () => this.#shorten(),
      () => this.#answerCancels(),
      () => this.#answerCancels(),
      () => this.#fail(),
      () => this.#fail(),
      () => this.#suspend(),
      () => this.#answerOtherwise(),
      () => this.#giveBack(),
      () => this.#giveBack(),
      () => this.#replace(),
      () => this.#replace(),
      () => this.#renumber(),
      () => this.#orderElsewhere(),
      () => this.#restartCounter(),
      () => this.#simulation.fleet.setIdentifierFrom(random.pick(['start', 'end'])),
      () => this.#simulation.fleet.setAddresses(random.pick(['all', 'all', ...worldSchema.shape.addresses.options])),
    ];
    random.pick(acts)();
  }

  /** Ends all lies; what has already happened stays. */
  end(): void {
    const { provider, accounts, fleet } = this.#simulation;
    provider.endLies();
    provider.setCreateAnswer({ status: 202, body: true, location: true });
    fleet.setLag({ taskMs: 0, serverMs: 0, cancelMs: 0, listMs: 0 });
    fleet.setIdentifierFrom('start');
    fleet.setAddresses('all');
    for (const { identifier } of this.#simulation.aliveServers()) fleet.showOwnAddresses(identifier);
    for (const account of [OWN_ACCOUNT, OTHER_ACCOUNT]) if (accounts.suspension(account)) accounts.resume(account);
  }

  #lag(): void {
    const random = this.#random;
    const lag = {
      taskMs: random.pick([0, 1_000, 20_000]),
      serverMs: random.pick([0, 2_000, 30_000, 2 * MINUTE]),
      cancelMs: random.pick([0, 5_000, MINUTE]),
      cancelAgain: random.pick([200, 404] as const),
    };
    this.#simulation.fleet.setLag(lag);
    this.#tell(`the provider lags: ${JSON.stringify(lag)}`);
  }

  /** Answers 404 for existing servers or tasks, while the lists still show them. */
  #deny(): void {
    if (!this.#absences.mayBegin(this.#now())) return;
    const random = this.#random;
    const untilMs = this.#now() + random.int(1_000, LONGEST_ABSENCE_MS);
    this.#absences.lasts(untilMs);
    const route = random.pick(['/beta/vps/servers/{identifier}', '/beta/queue/vps/{task}'] as const);
    this.#simulation.provider.falsify({ route, status: 404, untilMs });
    if (random.chance(0.3))
      this.#simulation.provider.falsify({ route: '/beta/vps/servers/{identifier}', status: 404, untilMs });
    this.#tell(`404 for ${route} until ${new Date(untilMs).toISOString()}`);
  }

  #refuse(): void {
    const random = this.#random;
    const route = random.pick([
      '/login',
      '/login',
      '/beta/vps/products',
      '/beta/vps/zones',
      '/beta/vps/servers',
      '/beta/vps/servers/{identifier}',
      '/beta/queue/vps/{task}',
    ] as const);
    const status = random.pick([401, 401, 403, 500] as const);
    const untilMs = this.#now() + random.int(100, 10 * MINUTE);
    this.#simulation.provider.falsify({ route, status, untilMs });
    if (random.chance(0.5)) this.#simulation.accounts.forgetTokens();
    this.#tell(`${status} for ${route} until ${new Date(untilMs).toISOString()}`);
  }

  #shorten(): void {
    const random = this.#random;
    const list = random.pick(['products', 'images', 'disk-sizes', 'zones'] as const);
    const keep = random.pick([0, 0, 1]);
    const untilMs = this.#now() + random.int(1_000, 10 * MINUTE);
    this.#simulation.provider.shorten({ list, keep, untilMs });
    this.#tell(`${list} shows ${keep} entries until ${new Date(untilMs).toISOString()}`);
  }

  /**
   * Answers a DELETE with 200 and a body that is not documented, or does not mean that the server is cancelled. Beside a
   * documented 200, one denial is proof, so the two lies never meet (documented limit).
   */
  #answerCancels(): void {
    const random = this.#random;
    const body = random.pick(CANCEL_BODIES);
    const cancels = random.chance(0.3);
    const isBelieved = body === 'message' && !cancels;
    if (isBelieved && !this.#absences.mayBegin(this.#now())) return;
    const untilMs = this.#now() + random.int(1_000, 10 * MINUTE);
    if (isBelieved) this.#absences.lasts(untilMs);
    this.#simulation.provider.answerCancels({ body, cancels, untilMs });
    this.#tell(
      `a DELETE gets 200 with ${body} and ${cancels ? 'cancels' : 'cancels nothing'} until ${new Date(untilMs).toISOString()}`,
    );
  }

  #fail(): void {
    const random = this.#random;
    const creating = this.#simulation
      .aliveServers()
      .filter(({ state, account }) => state === 'creating' && account !== OTHER_ACCOUNT)
      .filter(({ serial }) => !this.#isLate(serial));
    if (creating.length === 0) return;
    const { task, serial, account } = random.pick(creating);
    const newest = this.#simulation.ledger.creates({ account }).findLast((create) => create.task === task);
    // If the task number was reused, it now means a later task.
    if (task === undefined || newest?.serial !== serial) return;
    const options = {
      account,
      text: random.pick(['Failed: no space left', 'Installing OS, 3% complete']),
      identifier: random.chance(0.5),
    };
    this.#simulation.fleet.failTask(task, options);
    this.#tell(`task ${task} fails: ${JSON.stringify(options)}`);
  }

  #suspend(): void {
    const { accounts } = this.#simulation;
    if (accounts.suspension(OWN_ACCOUNT) !== undefined) {
      accounts.resume(OWN_ACCOUNT);
      this.#tell('the account is active again');
      return;
    }
    const how = this.#random.pick(['login', 'calls', 'empty'] as const);
    accounts.suspend(OWN_ACCOUNT, how, this.#random.pick([401, 403] as const));
    if (this.#random.chance(0.5)) accounts.forgetTokens(OWN_ACCOUNT);
    this.#tell(`the account is suspended: ${how}`);
  }

  #answerOtherwise(): void {
    const random = this.#random;
    const answer = random.pick([
      { status: 202, body: true, location: true } as const,
      { status: 201, body: true, location: true } as const,
      { status: 200, body: true, location: false } as const,
      { status: 202, body: false, location: true } as const,
    ]);
    this.#simulation.provider.setCreateAnswer(answer);
    this.#tell(`creates are answered with ${JSON.stringify(answer)}`);
  }

  /** Gives the identifier of a server that is gone to another server. */
  #giveBack(): void {
    const random = this.#random;
    const { fleet } = this.#simulation;
    const alive = new Set(this.#simulation.aliveServers().map(({ identifier }) => identifier));
    // Until the operator has read a server, it cannot distinguish it from a later one with the same name (documented
    // limit).
    const gone = fleet
      .history()
      .filter(({ identifier, serial }) => !alive.has(identifier) && this.#isRecognized(serial))
      // Two orders in a row could get it, and the first server could end before the operator has read it.
      .filter(({ identifier }) => !this.#givenBack.has(identifier));
    if (gone.length === 0) return;
    const { identifier } = random.pick(gone);
    this.#givenBack.add(identifier);
    if (random.chance(0.5)) fleet.reuseAtNextCreate(identifier);
    else fleet.reuseIdentifier(identifier, random.pick([OWN_ACCOUNT, OTHER_ACCOUNT]));
    this.#tell(`identifier ${identifier} comes back`);
  }

  /** Removes a server and gives its identifier to another server at once, so that no 404 shows that it is gone. */
  #replace(): void {
    const random = this.#random;
    const { fleet } = this.#simulation;
    const alive = this.#simulation
      .aliveServers()
      .filter(({ identifier, serial }) => this.#isRecognized(serial) && !this.#givenBack.has(identifier));
    if (alive.length === 0) return;
    const { identifier } = random.pick(alive);
    this.#givenBack.add(identifier);
    fleet.removeServer(identifier);
    fleet.reuseIdentifier(identifier, random.pick([OWN_ACCOUNT, OTHER_ACCOUNT]));
    this.#tell(`server ${identifier} is removed, and another one gets its identifier`);
  }

  #renumber(): void {
    const alive = this.#simulation.aliveServers();
    if (alive.length === 0) return;
    const { identifier } = this.#random.pick(alive);
    this.#simulation.fleet.renumber(identifier);
    this.#tell(`server ${identifier} gets other IPv6 addresses`);
  }

  /** Two orders with the same task number cannot be told apart until both have an identifier (documented limit). */
  #restartCounter(): void {
    if (!this.#areAllNamed()) return;
    this.#simulation.fleet.restartTaskCounter();
    this.#onNumbersRepeat();
    this.#tell('the task counter starts over');
  }

  #orderElsewhere(): void {
    this.#simulation.fleet.create(OTHER_ACCOUNT, PRODUCT, 10, { ssh_keys: ELSEWHERE });
  }
}
