/** One simulated run. The seed decides everything; the result is the number of lives and the violations. */
import { currentReason } from '../../src/api/conditions.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { KubeError } from '../../src/kube/error.ts';
import { Simulation, type CancelEntry } from '../../src/simulator/index.ts';
import { expiryOf } from '../../src/virtual-server/decision/expiry.ts';
import { recordOf } from '../fixtures/records.ts';
import { Absences } from './absences.ts';
import { ApiMisfortunes, HIDDEN_MS } from './api-misfortunes.ts';
import { ApiServer } from './api-server.ts';
import { CancelWatch } from './cancel-watch.ts';
import { SimDisk } from './disk.ts';
import { Formats } from './formats.ts';
import { drawProvider, drawTasks, Misfortunes, OTHER_ACCOUNT, OWN_ACCOUNT } from './misfortunes.ts';
import { HostKeys } from './host-keys.ts';
import { orderedBesideHandOver } from './hand-overs.ts';
import { LateServers } from './late-servers.ts';
import type { Network } from './network.ts';
import { Orders } from './orders.ts';
import {
  actedByObserver,
  cancelledWrongly,
  falselyReported,
  falselyTold,
  forgottenByObserver,
  leftOver,
  notAtRest,
  orderedOtherwise,
  orderedUnasked,
  orderedUnusable,
  orderedTwice,
  sentByAnother,
  tellsPasswords,
  wronglyCached,
  wronglySaid,
  writtenByObserver,
  type LogLine,
} from './oracles.ts';
import { NAMESPACES, OTHER_KEY, People } from './people.ts';
import type { PowerEntry } from '../../src/simulator/ledger.ts';
import { PowerPeople } from './power.ts';
import { ChangePeople, drawChanges } from './change-people.ts';
import { ChangeWatch } from './change-watch.ts';
import { CreateWatch } from './create-watch.ts';
import { PriceWatch } from './price-watch.ts';
import { drawPriceLimits, drawSetting, SimProcess, type Setting } from './process.ts';
import type { OrderWay } from '../../src/provider/types.ts';
import { NamedWatch } from './named-watch.ts';
import {
  drawApi,
  drawnIn,
  drawOrderErrors,
  drawWay,
  withNamedWay,
  hasList,
  hasZones,
  isChoice,
  withFurtherFields,
  withLocks,
  withPages,
  withPower,
  withSleep,
  withPriceList,
  withOrders,
  withWords,
  type WorldApi,
} from './provider-api.ts';
import { Random } from './random.ts';
import { Refusals } from './refusals.ts';
import { Scheduler } from './scheduler.ts';
import { ServerWatch } from './server-watch.ts';
import { TakerWatch } from './taker-watch.ts';
import { mayBeChanging } from './set-members.ts';
import { SetPeople } from './set-people.ts';
import { SetWatch, type Sender } from './set-watch.ts';
import { setsAtRest } from './sets-at-rest.ts';
import { SecretWatch } from './secret-watch.ts';
import { CALM, drawWeather } from './weather.ts';

export interface RunResult {
  seed: number;
  lives: number;
  creates: number;
  crashes: number;
  /** What operators did to the members of sets; undefined in a world without sets. */
  members: SetWatch['done'] | undefined;
  /** Orders that were judged by a limit in money and a known price. */
  priced: number;
  /** Those of them whose price only the list of prices told. */
  listed: number;
  /** Orders that were judged by the orders of earlier processes in the last hour. */
  hourly: number;
  /** Changes of servers in place, and shutdowns for them, that the provider accepted. */
  changed: number;
  stopped: number;
  /** Requests for changes that were judged by a limit in money. */
  pricedChanges: number;
  /** Servers whose user data was compared with its Secret or ConfigMap at the end, and those of them that told a change. */
  compared: number;
  outdated: number;
  /** Writes that were refused again, to objects that were judged by what they say. */
  refused: number;
  /** Orders under an identifier that were accepted, and those of them that were accepted again. */
  named: number;
  repeated: number;
  /** Requests for them that a proxy delivered late and the provider accepted, and those of them that were too late. */
  held: number;
  tooLate: number;
  ofFailed: number;
  /** Requests under an identifier, and those of them that were not the first under theirs. */
  requests: number;
  repeats: number;
  /** What was drawn about orders under an identifier. */
  variants: readonly string[];
  /** Crashes that lost nothing but the memory of a process. */
  forgotten: number;
  /** How often all processes were replaced: by this version, or by one that only knows format 1 of the record. */
  upgrades: number;
  downgrades: number;
  /** Doubts and open questions that an upgrade found in the conditions alone. */
  left: number;
  /** Number of events that the scheduler fired. */
  events: number;
  violations: string[];
  /** What happened, one line each; only if requested. */
  trace: string[];
}

export interface RunOptions {
  seed: number;
  trace?: boolean;
  /** Number of random actions during the storm. */
  actions?: number;
  /** Other versions of the operator run at times, as in some of the worlds. */
  withVersions?: boolean;
}

interface Replica {
  name: string;
  disk: SimDisk;
  skewMs: number;
  process: SimProcess;
}

/** Delay before a process that could not open its journal restarts. */
const RESTART_MS = 10_000;
/** Share of the worlds, 0 to 1, that have VirtualServerSets. */
const WITH_SETS = 0.4;
/** Share of the worlds with sets, 0 to 1, in which a mutating admission policy changes what their members order. */
const WITH_POLICY = 0.2;
/** Share of the looks at a set, 0 to 1, after which the process is suspended during the storm. */
const SUSPENDED_AFTER_LOOK = 0.2;
/** Share of the worlds, 0 to 1, in which operators only observe, next to the others or instead of them for a while. */
const OBSERVED = 0.25;
/** Distinguishes the random numbers of observers from those of the rest of the world. */
const OBSERVED_SEED = 0x0b5e;
/** Share of the worlds, 0 to 1, with a limit in money. */
const WITH_PRICE_LIMIT = 0.4;
/** Share of the worlds, 0 to 1, in which servers live on after a DELETE that was answered with 200. */
const SLOW_TO_CANCEL = 0.3;
const CANCEL_SEED = 0xca4ce;
/** The same for sets, for host keys and for limits in money. */
const SETS_SEED = 0x5e75;
const CHANGED_SETS_SEED = 0xc5e75;
const KEYS_SEED = 0x6e15;
const PRICES_SEED = 0x9c1ce;
const PRICE_LIST_SEED = 0x115ed;
const PAGES_SEED = 0x9a9e5;
const HASTY_SEED = 0x4a57e;
/** Share of the worlds, 0 to 1, in which the API server refuses writes of metadata at times. */
const WITH_REFUSALS = 0.3;
const REFUSALS_SEED = 0x4ef5e;
/** Share of the worlds, 0 to 1, in which other versions of the operator run at times. */
const WITH_VERSIONS = 0.25;
const FORMATS_SEED = 0xf0c47;
/** The same for the API of the provider, for what goes wrong with it, and for its task numbers. */
const API_SEED = 0xa91;
const TASKS_SEED = 0x7a5c5;
/** The same for `--orders`, and for what the provider does with an order under an identifier. */
const WAYS_SEED = 0x4a395;
const NAMED_WAY_SEED = 0x4a3ed;
const NAMED_SEED = 0x7a3ed;
/** Share of the worlds with such orders, 0 to 1, in which people choose identifiers. */
const WITH_CHOSEN = 0.7;
const CHOSEN_SEED = 0xc405e;
/** The same for the fields of an order that few objects have. */
const FIELDS_SEED = 0xf1e1d;
const USER_DATA_SEED = 0xc10d;
const POWER_SEED = 0x90e4;
/** The same for what the provider calls its servers. */
const WORDS_SEED = 0x3a9d5;
const MISNAMED_SEED = 0x3157a;
/** Share of the worlds, 0 to 1, in which the provider hides the servers of the account once. */
const WITH_HIDING = 0.5;
const HIDING_SEED = 0x41d1e;
const SLEEP_SEED = 0x51ee9;
const LOCKS_SEED = 0x10c45;
/** Share of the worlds, 0 to 1, in which people switch servers off and on. */
const WITH_POWER = 0.5;
/** Share of the worlds, 0 to 1, in which people change servers in place. */
const WITH_CHANGES = 0.4;
const CHANGES_SEED = 0xc4a96e;
const FREEZING_SEED = 0xf4ee2e;
const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
/** The provider declines a change for now. The record has its price before each try, and not after it. */
const isTried = ({ status }: VirtualServer): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'ChangePending' && reason === 'Changing') === true;

/** The provider rejects its order each hour, and the set that could correct it is blocked, which people do not end. */
const isRejectedMember = ({ metadata, status }: VirtualServer): boolean =>
  metadata.ownerReferences !== undefined && currentReason(status?.conditions) === 'CreateRejected';

/** Waits for the limit on orders, or for an absence that an empty list makes longer. */
const waitsForHour = ({ status }: VirtualServer): boolean => {
  const { reason, message = '' } = status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
  return reason === 'CreateLimit' || (reason === 'CreateFailed' && message.includes('If this lasts until'));
};

/** A change that is refused for good may have been accepted before that: it is forgotten half an hour after it was sent. */
const waitsForChange = (object: VirtualServer): boolean => mayBeChanging(object) && !isTried(object);

const FOR_PRICES = new Set(['PriceLimit', 'PricePending', 'ChangeLimited']);

/** The longest shutdown of a settled world, in which people look after servers that are shutting down (ms). */
const LONG_MS = 3 * MINUTE;
/** After so many rounds of a settling world, the provider shows all that it has. */
const OPENED_AFTER = 4;
/** How long a settled world must cause no write (ms). */
const REST_MS = 35 * MINUTE;
/** Writing log lines takes time, so only one run in this many writes all of them, for the check on their content. */
const LOGGED = 8;

export async function run({ seed, trace = false, actions = 66, withVersions = false }: RunOptions): Promise<RunResult> {
  const world = new SimWorld(seed, { trace, withVersions });
  await world.storm(actions);
  await world.settle();
  return world.end();
}

class SimWorld {
  readonly #seed: number;
  readonly #random: Random;
  readonly #scheduler = new Scheduler(START);
  readonly #network: Network;
  readonly #api: ApiServer;
  readonly #simulation: Simulation;
  readonly #orders = new Orders();
  readonly #setting: Setting;
  readonly #people: People;
  readonly #misfortunes: Misfortunes;
  readonly #isWorse: boolean;
  readonly #violations: string[] = [];
  readonly #trace: string[] = [];
  readonly #tracing: boolean;
  /** One operator without leader election, or two with it. */
  readonly #replicas: Replica[];
  /** Share of the processes, 0 to 1, that write connection Secrets. */
  #flagged: number;
  #isStormy = true;
  readonly #secrets: SecretWatch;
  readonly #hostKeys: HostKeys;
  /** Only in a world in which servers live on after a DELETE. */
  readonly #cancels: CancelWatch | undefined;
  /** Only in a world in which people switch servers off and on. */
  readonly #power: PowerPeople | undefined;
  /** Only in a world with sets. */
  readonly #sets: { people: SetPeople; watch: SetWatch; random: Random } | undefined;
  /** Only in a world in which operators only observe at times. */
  readonly #observing: Random | undefined;
  /** Observes from the start to the end, beside two others with a Lease. */
  readonly #watcher: Replica | undefined;
  /** True while all others only observe too. */
  #isObserved = false;
  /** Only in a world with a limit in money. */
  readonly #prices: PriceWatch | undefined;
  readonly #creates: CreateWatch | undefined;
  readonly #worldApi: WorldApi;
  readonly #apiRandom: Random;
  readonly #words: Random;
  /** Only in a world in which people choose identifiers. */
  readonly #choosing: Random | undefined;
  readonly #late: LateServers;
  readonly #apiMisfortunes: ApiMisfortunes;
  readonly #servers: ServerWatch;
  /** Only in a world in which the API server refuses writes of metadata at times. */
  readonly #refusals: Refusals | undefined;
  /** Only in a world in which other versions of the operator run at times. */
  readonly #formats: Formats | undefined;
  readonly #takers: TakerWatch;
  /** Only in a world in which people change servers in place. */
  readonly #changes: { people: ChangePeople; watch: ChangeWatch } | undefined;
  readonly #way: () => OrderWay;
  /** Whether an operator has started with `--orders=named`. */
  #hasNamedWay = false;
  readonly #named: NamedWatch;
  /** Whether the provider hides the servers of the account once. */
  readonly #isHidden: boolean;
  /** For watches of sets that freeze alone, apart from the random numbers of the rest of the world. */
  readonly #freezing: Random;
  #processes = 0;
  #crashes = 0;
  #forgotten = 0;
  #judged = 0;
  #events = 0;

  constructor(seed: number, { trace, withVersions }: Required<Pick<RunOptions, 'trace' | 'withVersions'>>) {
    this.#seed = seed;
    this.#tracing = trace;
    this.#random = new Random(seed);
    this.#freezing = new Random(seed ^ FREEZING_SEED);
    // In one run in four, the provider is reliable.
    this.#isWorse = this.#random.chance(0.75);
    this.#setting = drawSetting(this.#random);
    // A world without such a limit behaves as if there were none: the limit has its own random numbers.
    const priceRandom = new Random(seed ^ PRICES_SEED);
    const isLimited = priceRandom.chance(WITH_PRICE_LIMIT);
    this.#apiRandom = new Random(seed ^ API_SEED);
    this.#words = new Random(seed ^ MISNAMED_SEED);

    const named = new Random(seed ^ NAMED_SEED);
    const worded = withWords(withOrders(drawApi(this.#apiRandom), named), new Random(seed ^ WORDS_SEED));
    const ordering = withFurtherFields(worded, new Random(seed ^ FIELDS_SEED));
    const power = new Random(seed ^ POWER_SEED);
    const isSwitched = power.chance(WITH_POWER);
    const listed = withPages(ordering, new Random(seed ^ PAGES_SEED));
    const priced = withPriceList(listed, new Random(seed ^ PRICE_LIST_SEED));
    const changing = new Random(seed ^ CHANGES_SEED);
    const hasChanges = changing.chance(WITH_CHANGES);
    const changed = hasChanges ? { ...priced, variants: { ...priced.variants, ...drawChanges(changing) } } : priced;
    const slept = (): WorldApi => withSleep(withPower(changed, power), new Random(seed ^ SLEEP_SEED));
    this.#worldApi = isSwitched ? withLocks(slept(), new Random(seed ^ LOCKS_SEED)) : changed;
    const { api, variants } = this.#worldApi;
    if (isLimited) this.#setting.flags.maxPricePerNamespace = drawPriceLimits(priceRandom);
    const scheduler = this.#scheduler;
    const orderErrors = this.#isWorse ? { share: drawOrderErrors(named), random: named } : undefined;
    this.#network = {
      scheduler,
      random: this.#random,
      kube: { ...CALM },
      provider: { ...CALM },
      orderErrors,
      silentSsh: 0,
    };
    this.#api = new ApiServer(() => scheduler.now);
    this.#simulation = new Simulation({
      clock: {
        now: () => scheduler.now,
        // Only a proxy that holds an order back waits here.
        sleep: (ms) =>
          new Promise((resolve) => {
            scheduler.after(ms, resolve);
            scheduler.after(ms, () => this.#named.delivered(ms));
          }),
      },
      origin: 'http://provider.example',
      accounts: [
        { name: OWN_ACCOUNT, keys: ['key', 'key-2'].map((keyId) => ({ keyId, secret: 'secret-0' })) },
        { name: OTHER_ACCOUNT, keys: [OTHER_KEY] },
      ],
      ...(this.#isWorse && drawProvider(this.#random)),
      ...this.#worldApi,
      ...drawTasks(new Random(seed ^ TASKS_SEED)),
      // Servers are there sooner in a world with a limit in money, so that more prices are known.
      taskDurationMs: (isLimited ? 1 : 5) * MINUTE,
      recordRequests: false,
    });
    const tell = (what: string): void => this.#tell(what);
    const cancelRandom = new Random(seed ^ CANCEL_SEED);
    const choosing = new Random(seed ^ CHOSEN_SEED);
    this.#choosing = choosing.chance(WITH_CHOSEN) && isChoice(this.#worldApi) ? choosing : undefined;
    const isSlowToCancel = cancelRandom.chance(SLOW_TO_CANCEL);
    this.#people = new People({
      api: this.#api,
      simulation: this.#simulation,
      orders: this.#orders,
      random: this.#random,
      now: () => scheduler.now,
      tell,
      models: isLimited ? priceRandom : undefined,
      fields: new Random(seed ^ FIELDS_SEED),
      userData: new Random(seed ^ USER_DATA_SEED),
      hasty: { random: new Random(seed ^ HASTY_SEED), crash: (act) => this.#crashAll(act) },
      choosing: this.#choosing,
      hasList: hasList(this.#worldApi),
      hasZones: hasZones(this.#worldApi),
    });
    const { ownership, truth } = this.#people;
    // Servers may live on after a DELETE that was answered with 200: no denial is false then (documented limit).
    const absences = new Absences(isSlowToCancel || variants.cancelWhileSwitching === 'ignored');
    this.#isHidden = hasList(this.#worldApi) && !absences.areTrue && new Random(seed ^ HIDING_SEED).chance(WITH_HIDING);
    const around = { api: this.#api, simulation: this.#simulation, truth, ownership, tell };
    this.#late = new LateServers({ ...around, random: this.#apiRandom });
    this.#apiMisfortunes = new ApiMisfortunes({
      simulation: this.#simulation,
      orders: this.#orders,
      world: this.#worldApi,
      random: this.#apiRandom,
      absences,
      late: this.#late,
      now: () => scheduler.now,
      later: (ms, act) => void scheduler.after(ms, act),
      tell,
    });
    const way = drawWay(new Random(seed ^ WAYS_SEED));
    this.#way = withNamedWay(way, this.#worldApi, new Random(seed ^ NAMED_WAY_SEED));
    this.#named = new NamedWatch({
      api: this.#api,
      simulation: this.#simulation,
      orders: this.#orders,
      people: this.#people,
      now: () => scheduler.now,
      tell,
    });
    const canStart = api === 'public' && this.#worldApi.variants.power !== 'missing';
    this.#changes = hasChanges
      ? {
          people: new ChangePeople({ ...around, random: changing, canStart }),
          watch: new ChangeWatch({ ...around, now: () => scheduler.now }),
        }
      : undefined;
    this.#takers = new TakerWatch(this.#api, () => scheduler.now);
    this.#servers = new ServerWatch({ api: this.#api, truth, ownership, now: () => scheduler.now });
    this.#misfortunes = new Misfortunes({
      simulation: this.#simulation,
      random: this.#random,
      now: () => scheduler.now,
      tell,
      isRecognized: (serial) => this.#people.ownership.isRecognized(serial),
      areAllNamed: () => this.#people.ownership.areAllNamed() && !this.#late.areHidden,
      absences,
      isLate: (serial) => this.#late.has(serial),
      onNumbersRepeat: () => (this.#people.ownership.numbersRepeat = true),
    });
    const refusing = new Random(seed ^ REFUSALS_SEED);
    const refused = { api: this.#api, network: this.#network, ownership, random: refusing, tell };
    this.#refusals = refusing.chance(WITH_REFUSALS) ? new Refusals(refused) : undefined;
    const versions = new Random(seed ^ FORMATS_SEED);
    const replaceAll = (act: () => void, ms: number): void => this.#replaceAll(act, ms);
    const isShown = (identifier: string): boolean => this.#named.isShown(identifier);
    const mayBeRecognized = (object: VirtualServer): boolean => {
      const serial = this.#people.ownership.serverOf(object)?.serial;
      const isThere = this.#simulation.aliveServers().some((life) => life.serial === serial);
      return isThere && (this.#isObserved || this.#watcher !== undefined);
    };
    const now = (): number => scheduler.now;
    const replaced = { api: this.#api, random: versions, now, tell, replaceAll, isShown, mayBeRecognized };
    this.#formats = versions.chance(WITH_VERSIONS) || withVersions ? new Formats(replaced) : undefined;
    const { maxPricePerNamespace, maxCreatesPerHour } = this.#setting.flags;
    const hasPrices = api === 'public' && this.#worldApi.variants.priceList !== 'missing';
    const parts = { api: this.#api, orders: this.#orders, now: () => scheduler.now, hasList: hasPrices };
    this.#prices = maxPricePerNamespace.usual === 0 ? undefined : new PriceWatch(parts, maxPricePerNamespace);
    this.#creates = maxCreatesPerHour === 0 ? undefined : new CreateWatch(parts, maxCreatesPerHour);
    this.#flagged = this.#random.pick([1, 1, 1, 0.5, 0]);
    this.#secrets = new SecretWatch(this.#api, () => scheduler.now, this.#flagged === 1, api === 'documented');
    const random = new Random(seed ^ KEYS_SEED);
    this.#hostKeys = new HostKeys({ api: this.#api, simulation: this.#simulation, random, tell });
    const watched = { api: this.#api, simulation: this.#simulation, ownership, truth, random: cancelRandom, tell };
    this.#cancels = isSlowToCancel ? new CancelWatch(watched) : undefined;
    const isForChange = (call: PowerEntry): boolean => this.#changes?.watch.needs(call) === true;
    const switching = { ...watched, now: () => scheduler.now, random: power, isForChange, canStart };
    this.#power = isSwitched ? new PowerPeople(switching) : undefined;
    this.#sets = this.#withSets(tell);
    this.#replicas = (this.#random.chance(0.5) ? ['alone'] : ['left', 'right']).map((name) => {
      const replica = { name, disk: new SimDisk(this.#random), skewMs: this.#random.int(-60_000, 60_000) };
      return Object.assign(replica, { process: this.#start(replica, 0) });
    });
    const observing = new Random(seed ^ OBSERVED_SEED);
    this.#observing = observing.chance(OBSERVED) ? observing : undefined;
    // Without a Lease, nothing would tell the observer that another operator works.
    if (this.#observing === undefined || this.#replicas.length === 1) return;
    const watcher = { name: 'watcher', disk: new SimDisk(observing), skewMs: observing.int(-60_000, 60_000) };
    this.#watcher = Object.assign(watcher, { process: this.#start(watcher, 0) });
  }

  /** Everything at once: people act, processes crash, data is lost, outages happen, caches are stale. */
  async storm(actions: number): Promise<void> {
    for (let i = 0; i < actions; i++) {
      this.#people.act();
      for (let change = 0; change < 3; change++) this.#change();
      this.#hostKeys.act();
      this.#power?.act();
      this.#cancels?.act();
      this.#refusals?.act();
      this.#formats?.act();
      if (this.#sets?.random.chance(0.8) === true) this.#sets.people.act();
      if (this.#isWorse && this.#random.chance(0.4)) this.#misfortunes.act();
      if (this.#isWorse && this.#apiRandom.chance(0.3)) this.#apiMisfortunes.act();
      // Orders whose identifiers people can choose then.
      if (this.#isWorse && this.#choosing?.chance(0.15) === true) this.#apiMisfortunes.fail(this.#choosing);
      if (this.#isWorse && this.#words.chance(0.08)) this.#apiMisfortunes.misname(this.#words);
      this.#changeWeather();
      this.#strike();
      this.#observe();
      await this.#pass(this.#random.int(0, this.#random.chance(0.2) ? 5 * MINUTE : 20_000));
    }
  }

  /** People change and switch servers while nothing but processes fails: few changes get as far as the provider in the storm. */
  async #changeOn(): Promise<void> {
    for (let round = 0; round < 30; round++) {
      if (round % 6 === 0) {
        this.#people.tidy();
        await this.#pass(10 * MINUTE);
      }
      for (let change = 0; change < 3; change++) this.#change();
      this.#power?.act();
      if (this.#random.chance(0.15)) this.#crashLater(this.#random.pick(this.#replicas), this.#random.int(0, 30_000));
      await this.#pass(this.#random.int(5_000, 3 * MINUTE));
    }
  }

  /** People act while the provider hides all servers, and nothing else fails: in the storm, crashes end most proofs of absence. */
  async #hide(): Promise<void> {
    await this.#pass(8 * MINUTE);
    for (let act = 0; act < 15; act++) {
      if (act === 5) this.#apiMisfortunes.hide();
      this.#people.act();
      await this.#pass(this.#random.int(0, MINUTE));
    }
    await this.#pass(HIDDEN_MS);
  }

  /** etcd forgets the order of a server that has ended since, and the processes do not: the object orders again. */
  async #orderAgain(): Promise<void> {
    const created = this.#people.createOnce();
    if (created === undefined) return;
    await this.#pass(20 * MINUTE);
    this.#people.restoreTo(created);
    await this.#pass(20 * MINUTE);
    this.#people.deleteOnce();
  }

  #change(): void {
    try {
      this.#changes?.people.act();
    } catch (error) {
      // The API server refuses a change of a locked field.
      if (!(error instanceof KubeError)) throw error;
    }
  }

  /** Faults stop and people resolve what they can; after that, nothing may be written. */
  async settle(): Promise<void> {
    this.#isStormy = false;
    if (this.#isObserved) this.#observeAll(false);
    this.#network.kube = { ...CALM };
    this.#network.provider = { ...CALM };
    this.#network.silentSsh = 0;
    this.#network.orderErrors = undefined;
    this.#network.diskFull = false;
    this.#misfortunes.end();
    this.#apiMisfortunes.end();
    this.#refusals?.end();
    this.#formats?.end();
    if (this.#isHidden) await this.#hide();
    if (this.#changes !== undefined) await this.#changeOn();
    this.#people.reuseFailed();
    this.#simulation.provider.setVariants({
      heldEvery: 0,
      shutdownMs: Math.min(this.#worldApi.variants.shutdownMs ?? 0, LONG_MS),
      ...(this.#changes && { shutdown: 'obeyed', startsAfterMs: Infinity }),
    });
    if (this.#choosing !== undefined) await this.#orderAgain();
    const isOn = this.#flagged === 1 || (this.#flagged > 0 && this.#random.chance(0.7));
    if (this.#flagged === 0.5) this.#restartAll(isOn);
    if (this.#cancels !== undefined) await this.#endSlowly(this.#cancels);
    if (this.#late.areHidden) await this.#giveUp();
    // More than an hour, so that hourly retries happen and the operator gives up on tasks that outlast it. An expiry in
    // this time can make room for a rollout, which replaces one server after the other. So can each hour of the limit on orders.
    let [changes, least] = [-1, 12];
    for (let round = 0; round < least || (round < least + 12 && this.#isRestless(changes)); round++) {
      const servers = this.#api.servers.list();
      if (round < 96 && servers.some(waitsForHour)) least = Math.max(least, round + 6);
      if (round < 96 && servers.some(waitsForChange)) least = Math.max(least, round + 3);
      // Some orders and cancellations wait until the whole list can be read, and no change reaches a server that shows nothing of its own.
      if (round === OPENED_AFTER) this.#simulation.provider.setVariants({ listsPage: 0, offAddresses: 'kept' });
      if (round === OPENED_AFTER) this.#people.userData.changeSome();
      changes = this.#api.servers.changes.length;
      this.#power?.tidy();
      this.#people.tidy();
      this.#changes?.people.tidy();
      const deletions = this.#sets?.people.deletions;
      this.#sets?.people.tidy();
      // A set needs time for new members.
      if (round < 96 && this.#sets?.people.deletions !== deletions) least = Math.max(least, round + 6);
      await this.#pass(15 * MINUTE);
    }
    const { maxServersPerNamespace } = this.#setting.flags;
    this.#violations.push(...notAtRest(this.#api, this.#people.ownership, maxServersPerNamespace, this.#prices));
    this.#violations.push(...leftOver(this.#api, this.#simulation, this.#orders, this.#people));
    this.#violations.push(...this.#people.catalogs.atRest(), ...this.#people.userData.atRest());
    this.#violations.push(...this.#secrets.atRest(this.#simulation, isOn), ...tellsPasswords(this.#api));
    this.#violations.push(...setsAtRest(this.#api), ...(this.#changes?.watch.atRest() ?? []));
    const { servers, catalogs, sets } = this.#api;
    const [served, read, counted] = [servers, catalogs, sets].map((store) => store.changes.length);
    const { writes } = this.#secrets;
    const sent = this.#simulation.ledger.changes().length;
    await this.#pass(REST_MS);
    if (this.#simulation.ledger.changes().length > sent)
      this.#violations.push('a server was changed again, although nothing had changed');
    const written = servers.changes.slice(served).map(({ object }) => object);
    // What waits for the limit on prices tells what the namespace costs. A change that is tried raises that for a moment,
    // maybe by an unknown price.
    const priced = new Set(written.filter(isTried).map(({ metadata }) => metadata.namespace));
    const isRecounted = ({ metadata, status }: VirtualServer): boolean =>
      priced.has(metadata.namespace) && status?.conditions?.some(({ reason }) => FOR_PRICES.has(reason)) === true;
    const isExpected = (server: VirtualServer): boolean =>
      isTried(server) || isRecounted(server) || isRejectedMember(server);
    for (const object of written.filter((server) => !isExpected(server))) {
      this.#violations.push(
        `${object.metadata.namespace}/${object.metadata.name} was written although nothing had changed`,
      );
    }
    for (const { process } of this.#replicas) this.#violations.push(...wronglyCached(process, this.#api));
    if (catalogs.changes.length !== read) this.#violations.push('a catalog was written although nothing had changed');
    if (sets.changes.slice(counted).some(({ object }) => !priced.has(object.metadata.namespace)))
      this.#violations.push('a set was written although nothing had changed');
    if (this.#secrets.writes > writes) this.#violations.push('a Secret was written although nothing had changed');
    const ordered = orderedTwice(this.#api, this.#simulation, this.#orders, this.#people, hasList(this.#worldApi));
    this.#violations.push(...ordered, ...this.#secrets.violations, ...this.#servers.violations);
    this.#violations.push(...(this.#cancels?.violations ?? []), ...(this.#power?.violations ?? []));
    this.#violations.push(...this.#hostKeys.violations, ...this.#hostKeys.atRest());
    this.#violations.push(...(this.#sets?.watch.violations ?? []), ...(this.#prices?.violations ?? []));
    this.#violations.push(
      ...orderedOtherwise(this.#simulation, this.#orders, this.#api),
      ...orderedUnasked(this.#api),
      ...orderedUnusable(this.#simulation),
    );
    this.#violations.push(...orderedBesideHandOver(this.#api), ...(this.#refusals?.violations ?? []));
    this.#violations.push(...(this.#formats?.violations ?? []), ...this.#named.violations);
    this.#violations.push(...(this.#changes?.watch.violations ?? []));
    this.#violations.push(...this.#takers.violations, ...(this.#creates?.violations ?? []));
  }

  /** Without faults, but with servers that live on after a DELETE, until that is resolved. */
  async #endSlowly(cancels: CancelWatch): Promise<void> {
    cancels.stall();
    for (let round = 0; round < 5; round++) {
      this.#people.tidy();
      this.#sets?.people.tidy();
      await this.#pass(15 * MINUTE);
    }
    this.#violations.push(...cancels.atRest());
    cancels.resolve();
  }

  /** Until operators and users have given up the orders that seem to have failed; then their servers come up. */
  async #giveUp(): Promise<void> {
    for (let round = 0; round < 6; round++) {
      this.#people.tidy();
      await this.#pass(15 * MINUTE);
    }
    this.#late.appear();
  }

  /** Whether an object was written after these changes, or will be soon because its server expires. */
  #isRestless(changes: number): boolean {
    const { servers } = this.#api;
    const [from, to] = [this.#scheduler.now - 2 * MINUTE, this.#scheduler.now + REST_MS + 2 * MINUTE];
    const expires = (object: VirtualServer): boolean => {
      const end = expiryOf(object, recordOf(object)) ?? Infinity;
      return end > from && end < to;
    };
    return servers.changes.length > changes || servers.list().some(expires);
  }

  end(): RunResult {
    for (const { process } of this.#replicas) process.kill();
    this.#watcher?.process.kill();
    return {
      seed: this.#seed,
      lives: this.#people.lives + (this.#sets?.watch.done.created ?? 0),
      members: this.#sets?.watch.done,
      priced: this.#prices?.judged ?? 0,
      listed: this.#prices?.judgedByList ?? 0,
      pricedChanges: this.#prices?.judgedChanges ?? 0,
      hourly: this.#creates?.judged ?? 0,
      compared: this.#people.userData.judged.same + this.#people.userData.judged.changed,
      outdated: this.#people.userData.judged.changed,
      changed: this.#simulation.ledger.changes().length,
      stopped: this.#simulation.ledger.power({ call: 'shutdown' }).length,
      refused: this.#refusals?.judged ?? 0,
      named: this.#named.accepted,
      repeated: this.#named.repeated,
      held: this.#named.held,
      tooLate: this.#named.tooLate,
      ofFailed: this.#named.ofFailed,
      requests: this.#orders.requests,
      repeats: this.#orders.repeats,
      variants: [...drawnIn(this.#worldApi), ...(this.#hasNamedWay ? ['operators have --orders=named'] : [])],
      forgotten: this.#forgotten,
      upgrades: this.#formats?.upgrades ?? 0,
      downgrades: this.#formats?.downgrades ?? 0,
      left: this.#formats?.left ?? 0,
      creates: this.#simulation.ledger.creates().length,
      crashes: this.#crashes,
      events: this.#scheduler.fired,
      violations: [...new Set(this.#violations)],
      trace: this.#trace,
    };
  }

  /** A world without sets behaves as if they did not exist: they have their own random numbers. */
  #withSets(tell: (what: string) => void) {
    const random = new Random(this.#seed ^ SETS_SEED);
    if (!random.chance(WITH_SETS)) return undefined;
    const [api, orders, people, now] = [this.#api, this.#orders, this.#people, (): number => this.#scheduler.now];
    const { truth } = people;
    api.hasPolicy = random.chance(WITH_POLICY);
    const changing = this.#changes && new Random(this.#seed ^ CHANGED_SETS_SEED);
    // What a process reads may be old when it acts on it, and another process may lead.
    const onLook = ({ suspend }: Sender): void => {
      if (this.#isStormy && random.chance(SUSPENDED_AFTER_LOOK)) suspend(random.int(10_000, 30_000));
    };
    return {
      random,
      people: new SetPeople({ api, random, truth, namespaces: NAMESPACES, now, tell, changing }),
      watch: new SetWatch({ api, simulation: this.#simulation, orders, people, now, onLook }),
    };
  }

  #start(replica: Omit<Replica, 'process'>, staleBy: number): SimProcess {
    const { name, disk, skewMs } = replica;
    const identity = `${name}-${this.#processes++}`;
    const observes = this.#isObserved || name === 'watcher';
    const way = this.#way();
    if (way === 'named') this.#hasNamedWay = true;
    const process: SimProcess = new SimProcess({
      network: this.#network,
      api: this.#api,
      simulation: this.#simulation,
      orders: this.#orders,
      hostKeys: this.#hostKeys,
      disk,
      setting: this.#setting,
      way,
      staleBy,
      skewMs,
      sets: this.#sets?.watch,
      prices: this.#prices,
      creates: this.#creates,
      refuse: (call, place, by) => this.#formats?.interrupt(call, place) ?? this.#refusals?.answer(call, place, by),
      connectionSecrets: this.#random.chance(this.#flagged),
      verbose: this.#tracing || this.#seed % LOGGED === 0,
      onLog: (line) => this.#hear({ replica: identity, ...line }),
      onExchange: (exchange) => {
        this.#power?.sentBy(identity, exchange);
        if (observes) this.#violations.push(...actedByObserver(exchange));
        else if (name !== 'alone') this.#violations.push(...sentByAnother(exchange, identity, this.#api));
      },
      onAnswer: (exchange, answer) => {
        this.#named.heard(exchange, answer);
        this.#power?.heardBy(identity, exchange, answer);
      },
      observes: observes
        ? (request) =>
            void this.#violations.push(
              ...writtenByObserver(request),
              ...forgottenByObserver(request, this.#api, (identifier) => this.#exists(identifier)),
            )
        : undefined,
      onFault: (what) => this.#violations.push(what),
      onFailedStart: (error) => this.#startAgain(replica as Replica, process, error),
      ...(name !== 'alone' && { election: { identity, onLost: () => this.#lost(replica as Replica) } }),
    });
    return process;
  }

  #exists(identifier: string): boolean {
    return this.#simulation.aliveServers().some((server) => server.identifier === identifier);
  }

  /** Restarts all processes with or without --connection-secrets. */
  #restartAll(connectionSecrets: boolean): void {
    this.#flagged = Number(connectionSecrets);
    for (const replica of this.#replicas) {
      replica.process.kill();
      replica.process = this.#start(replica, 0);
    }
  }

  /** Restarts the watcher at times, and at times makes all others observe, or act again. */
  #observe(): void {
    const random = this.#observing;
    if (random === undefined) return;
    const watcher = this.#watcher;
    if (watcher !== undefined && random.chance(0.1)) {
      watcher.process.kill();
      watcher.process = this.#start(watcher, random.chance(0.3) ? random.int(1, 10) : 0);
    }
    if (random.chance(this.#isObserved ? 0.3 : 0.05)) this.#observeAll(!this.#isObserved);
  }

  /** Restarts all processes but the watcher with or without --observe-only. */
  #observeAll(isObserved: boolean): void {
    this.#isObserved = isObserved;
    this.#tell(isObserved ? 'all processes only observe' : 'the processes act again');
    for (const replica of this.#replicas) {
      replica.process.kill();
      replica.process = this.#start(replica, 0);
    }
  }

  /** Restarts a process as the kubelet does; only a full disk may prevent it from starting. */
  #startAgain(replica: Replica, process: SimProcess, error: NodeJS.ErrnoException): void {
    this.#tell(`${replica.name} failed to start: ${error.message}`);
    if (error.code !== 'ENOSPC') this.#violations.push(`a process failed to start: ${error.message}`);
    process.kill();
    this.#scheduler.after(RESTART_MS, () => {
      if (replica.process === process) replica.process = this.#start(replica, 0);
    });
  }

  /** Lost lease: the process shuts down in order, and is started again. */
  #lost(replica: Replica): void {
    const { process } = replica;
    void process.stop().then(() => {
      if (replica.process === process) replica.process = this.#start(replica, 0);
    });
  }

  #hear(line: LogLine): void {
    this.#violations.push(...wronglySaid(line, this.#api.restores > 0));
    const { err, msg = '', level = '', time: _time, ...fields } = line;
    this.#tell(`  ${level}: ${msg} ${err?.message ?? ''} ${JSON.stringify(fields)}`);
  }

  async #pass(ms: number): Promise<void> {
    const until = this.#scheduler.now + ms;
    // Advances in steps, so each cancellation is checked soon after it happened.
    while (this.#scheduler.now < until) {
      await this.#scheduler.run(Math.min(until, this.#scheduler.now + MINUTE), () => this.#watchCancels());
      if (this.#random.chance(0.5)) this.#api.collectGarbage();
    }
  }

  #watchCancels(): void {
    // Runs after every event, and few events cancel or report anything.
    const { ledger } = this.#simulation;
    if (ledger.cancelCount > this.#judged) this.#judgeCancels(ledger.cancels());
    if (this.#api.events.length > this.#events) this.#judgeEvents();
    this.#power?.judge();
    this.#changes?.watch.judge(this.#power !== undefined);
  }

  #judgeCancels(cancels: readonly CancelEntry[]): void {
    for (const cancel of cancels.slice(this.#judged)) {
      this.#tell(`the provider cancelled ${cancel.identifier} (serial ${cancel.serial})`);
      this.#violations.push(...cancelledWrongly(cancel, this.#api, this.#people, this.#scheduler.now));
    }
    this.#judged = cancels.length;
  }

  #judgeEvents(): void {
    const { events } = this.#api;
    for (const event of events.slice(this.#events))
      this.#violations.push(
        ...falselyReported(event, this.#api, this.#people, this.#simulation),
        ...falselyTold(event, this.#api, this.#people, { ledger: this.#simulation.ledger, orders: this.#orders }),
      );
    this.#events = events.length;
  }

  #changeWeather(): void {
    const random = this.#random;
    if (random.chance(0.7)) return;
    this.#network.silentSsh = random.pick([0, 0.3, 1]);
    this.#network.diskFull = random.chance(0.3);
    if (random.chance(0.5)) this.#network.kube = drawWeather(random);
    else this.#network.provider = drawWeather(random);
    this.#tell(`weather: ${JSON.stringify({ kube: this.#network.kube, provider: this.#network.provider })}`);
  }

  #strike(): void {
    const random = this.#random;
    const replica = random.pick(this.#replicas);
    const { servers, catalogs, sets } = this.#api;
    if (random.chance(0.1)) replica.process.http.freeze(random.int(0, 10 * MINUTE), [servers, catalogs, sets]);
    const freezing = this.#freezing;
    if (freezing.chance(0.15)) replica.process.http.freeze(freezing.int(0, 10 * MINUTE), [sets]);
    if (random.chance(0.05)) replica.process.http.expire();
    if (random.chance(0.25)) this.#crashLater(replica, random.int(0, 3_000));
    if (random.chance(0.1)) this.#suspendLater(replica, random.int(0, 3_000));
  }

  /**
   * Crashes the replica within the next `ms`, with or without losing the journal, with or without a stale list after
   * it.
   */
  #crashLater(replica: Replica, ms: number): void {
    const random = this.#random;
    this.#scheduler.after(ms, () => {
      this.#crashes += 1;
      const keepsJournal = random.chance(0.7);
      const losesPower = random.chance(0.3);
      this.#tell(
        `${replica.name} crashes${losesPower ? ' with its machine' : ''}, ${keepsJournal ? 'with' : 'without'} the journal`,
      );
      if (keepsJournal && !losesPower) this.#forgotten += 1;
      replica.process.kill();
      if (losesPower) replica.disk.losePower(this.#network);
      if (!keepsJournal) replica.disk = new SimDisk(random);
      replica.process = this.#start(replica, random.chance(0.3) ? random.int(1, 10) : 0);
    });
  }

  /** All processes die now, and start again after `act`. */
  #crashAll(act: () => void, replicas = this.#replicas): void {
    for (const { process } of replicas) process.kill();
    this.#scheduler.after(0, () => {
      act();
      for (const replica of replicas) {
        // Another crash of the same moment has started it already.
        replica.process.kill();
        replica.process = this.#start(replica, 0);
      }
    });
  }

  /** The same with the watcher, which is of the same version; then the processes of this version are suspended. */
  #replaceAll(act: () => void, ms: number): void {
    const replicas = this.#watcher === undefined ? this.#replicas : [...this.#replicas, this.#watcher];
    this.#crashAll(act, replicas);
    if (ms > 0)
      this.#scheduler.after(0, () => {
        for (const { process } of replicas) process.suspend(ms);
      });
  }

  #suspendLater(replica: Replica, ms: number): void {
    const length = this.#random.int(1_000, 10 * MINUTE);
    this.#scheduler.after(ms, () => {
      this.#tell(`${replica.name} is suspended for ${length} ms`);
      replica.process.suspend(length);
    });
  }

  #tell(what: string): void {
    if (this.#tracing) this.#trace.push(`${new Date(this.#scheduler.now).toISOString()} ${what}`);
  }
}
