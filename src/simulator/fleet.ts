/** Servers: what exists, for which account, and since when. The clock alone decides completion; there are no timers. */
import type { ChangeRequest } from './api/api.ts';
import type { TaskNumber } from '../base/exact-numbers.ts';
import type { Ledger, SwitchCall } from './ledger.ts';
import type {
  Addresses,
  IdentifierCase,
  IdentifierFrom,
  Lag,
  Settings,
  SimulatedProduct,
  TaskNumbering,
} from './settings.ts';
import {
  ipv6Of,
  macOf,
  ipv4Of,
  newServerObject,
  POWERING_ON,
  RUNNING,
  SHUT_DOWN,
  SHUTTING_DOWN,
  type ServerObject,
} from './server-object.ts';
import { type AliveServer, type FoundServer, type ServerLife, Servers, type SimulatedServer } from './servers.ts';
import { type Task, type TaskResponse, Tasks } from './tasks.ts';
import type { FailedTask, Variants } from './variants.ts';

/** Without `macs`: a server keeps its hardware addresses for life. */
type ServerPatch = Partial<Omit<ServerObject, 'identifier' | 'macs'>>;

export interface FailOptions {
  text?: string;
  account?: string;
  /** False: answers of the task omit the identifier, before it fails and after. */
  identifier?: boolean;
  /** How the task answers from then on. */
  as?: FailedTask;
  /** The task fails after this time from now. */
  afterMs?: number;
}

/** What an order may ask for besides product and size of the disk. */
interface Asked {
  /** The client has chosen it, and no server has it now. */
  identifier?: string | undefined;
  name?: string | null;
  diskType?: string;
  ipv4?: boolean;
  zone?: ServerObject['zone'] | undefined;
  extraCores?: number;
  extraMemory?: number;
  devices?: Partial<ServerObject>;
}

interface StallOptions {
  text?: string;
  serverAppears?: boolean;
  account?: string;
}

/** The defaults of the device that a change of the other one takes back. */
function takenBackBy(set: object): Partial<ServerObject> {
  if ('tablet' in set) return { cpu_mode: 'performance' };
  return 'cpu_mode' in set ? { tablet: true } : {};
}

/** Why the provider refuses the call for a server in this state; undefined if it does not. */
function refusalOf(call: SwitchCall, isDormant: boolean, status: string): string | undefined {
  const isOff = status === SHUT_DOWN;
  if (call === 'wake') return isDormant ? undefined : 'Server is not dormant';
  if (isDormant) return call === 'dormant' ? 'Server is already dormant' : 'Server is dormant';
  if (call === 'dormant') return undefined;
  if (call === 'power-on') return isOff ? undefined : 'Server is already running';
  return isOff ? 'Server is not running' : undefined;
}

const NAME_TAKEN = 'Failed: identifier is already in use';

export class Fleet {
  readonly #settings: Settings;
  readonly #ledger: Ledger;
  readonly #tasks: Tasks;
  readonly #servers: Servers;
  /** Every identifier that the provider ever assigned. */
  readonly #identifiers = new Set<string>();
  /** Every identifier that a client chose; they can be chosen again. */
  readonly #chosen = new Set<string>();
  /** Identifiers of former servers, for the next creates. */
  readonly #returning: string[] = [];
  #serial = 0;
  #taskDurationMs: number;

  constructor(settings: Settings, ledger: Ledger) {
    this.#settings = settings;
    this.#ledger = ledger;
    this.#tasks = new Tasks(settings, ledger);
    this.#servers = new Servers(settings);
    this.#taskDurationMs = settings.taskDurationMs;
  }

  /** Returns the number of the task. */
  create(
    account: string,
    product: SimulatedProduct,
    diskSize: number,
    body: Record<string, unknown>,
    { identifier: chosen, name = null, diskType = 'ssd', ipv4 = false, zone, ...more }: Asked = {},
  ): TaskNumber {
    const now = this.#settings.clock.now();
    if (chosen !== undefined) {
      this.#chosen.add(chosen);
      const rival = this.#servers.unreserved(chosen);
      if (rival !== undefined && this.#settings.variants.secondOrder === 'fails')
        return this.#lose(account, chosen, body, rival.reservedAt);
      if (rival !== undefined) this.#giveWay(rival);
    }
    const server = this.#newServer(account, chosen ?? this.#nextIdentifier(), product, diskSize);
    const { serial, object } = server;
    const { identifier } = object;
    server.object = {
      ...object,
      name: shownName(name, this.#settings.variants.names),
      specs: { ...object.specs, ...extras(object, more), disk_type: diskType },
      ...more.devices,
      zone: zone ?? object.zone,
      ...(ipv4 && { ipv4: [ipv4Of(serial)], price: object.price + (product.ipv4Price ?? 0) }),
    };
    server.body = body;
    const task = this.#tasks.open(account, { serial, identifier }, this.#taskDurationMs);
    server.task = task;
    server.readyAt = now + task.durationMs;
    if (chosen !== undefined) server.reservedAt = now + this.#settings.variants.nameReservedAfterMs;
    this.#ledger.append({ kind: 'create', at: now, serial, task: task.number, identifier, account, body });
    return task.number;
  }

  /** An accepted order that creates no server, because an earlier one takes the identifier at this time. */
  #lose(account: string, identifier: string, body: Record<string, unknown>, at: number): TaskNumber {
    const serial = ++this.#serial;
    const task = this.#tasks.open(account, { serial, identifier }, Infinity);
    this.#failForName(task, at);
    this.#ledger.append({
      kind: 'create',
      at: task.createdAt,
      serial,
      task: task.number,
      identifier,
      account,
      body,
    });
    return task.number;
  }

  /** A later order takes the identifier. */
  #giveWay(rival: SimulatedServer): void {
    const now = this.#settings.clock.now();
    if (rival.task) this.#failForName(rival.task, now);
    this.#servers.end(rival, { how: 'failed', by: undefined });
  }

  #failForName(task: Task, at: number): void {
    const { failedTask } = this.#settings.variants;
    const as = failedTask === 'error-then-pending' ? 'error' : failedTask;
    task.failure = { at, text: NAME_TAKEN, as, told: false };
  }

  /** Whether an order of any account has taken this identifier. */
  isInUse(identifier: string): boolean {
    if (this.#servers.isAlive(identifier)) return this.#servers.unreserved(identifier) === undefined;
    return this.#chosen.has(identifier) && this.#servers.isKept(identifier);
  }

  /** The number of the running task of an equal order for this identifier; undefined if there is none. */
  taskOf(account: string, identifier: string, body: Readonly<Record<string, unknown>>): TaskNumber | undefined {
    return this.#servers.taskOf(account, identifier, body)?.number;
  }

  /** The servers of the account as the list of servers shows them. */
  list(account: string): ServerObject[] {
    return this.#servers.list(account);
  }

  /** Undefined if the account has no such task. */
  pollTask(account: string, number: TaskNumber): TaskResponse | undefined {
    return this.#tasks.poll(account, number);
  }

  /** Undefined if the account has no such server. */
  find(account: string, identifier: string): FoundServer | undefined {
    return this.#servers.find(account, identifier);
  }

  /** What the server costs awake; `find` shows what reads do. */
  priceOf(identifier: string): number {
    const server = this.#servers.alive(identifier);
    this.#servers.settle(server);
    return server.object.price;
  }

  /** A GET has shown the server. */
  wasRead(serial: number): void {
    this.#servers.wasRead(serial);
  }

  /** Cancels the server, at once or after `cancelTakesMs`, and hides the task if it was still creating the server. */
  cancel(account: string, identifier: string): void {
    const server = this.#servers.alive(identifier);
    const isCreating = server.task !== undefined && !this.#servers.isReady(server);
    if (server.task && (isCreating || this.#settings.variants.taskOfCancelled === 'forgotten'))
      server.task.hidden = true;
    if (isCreating) {
      this.#servers.end(server, { how: 'cancelled', by: account });
    } else this.#servers.endLater(server, account, this.#settings.cancelTakesMs);
    const { serial, object } = server;
    const at = this.#settings.clock.now();
    this.#ledger.append({ kind: 'cancel', at, serial, identifier: object.identifier, account });
  }

  /** Switches a server. `product`: of a server that wakes. Returns why the provider refuses that; undefined if it does it. */
  switch(account: string, identifier: string, call: SwitchCall, product?: SimulatedProduct): string | undefined {
    const server = this.#servers.alive(identifier);
    this.#servers.settle(server);
    const isDormant = server.object.dormant === true;
    const status = this.#servers.statusOf(server);
    const refusal = refusalOf(call, isDormant, status);
    if (refusal !== undefined) return refusal;
    // Whatever the server was changing to, this call decides.
    delete server.changing;
    delete server.startsAt;
    const now = this.#settings.clock.now();
    const { pausedMs, shutdown, shutdownMs, startsAfterMs, wakes } = this.#settings.variants;
    const become = (status: string, changing?: SimulatedServer['changing']): void => {
      server.object = { ...server.object, status };
      if (changing !== undefined) server.changing = changing;
    };
    const start = (): void => {
      become(RUNNING, { shows: POWERING_ON, until: now + pausedMs });
      if (server.resize?.at !== undefined || server.resize === undefined) return;
      server.object = { ...server.object, ...server.resize.becomes, upgrade_specs: null };
      delete server.resize;
    };
    switch (call) {
      case 'power-on':
      case 'reboot':
        start();
        break;
      case 'shutdown':
        if (shutdown === 'obeyed') {
          become(SHUT_DOWN, { shows: SHUTTING_DOWN, until: now + shutdownMs });
          server.startsAt = now + shutdownMs + startsAfterMs;
        }
        if (shutdown === 'unfinished') become(SHUTTING_DOWN);
        if (shutdown === 'queued') server.stopsAt = [...(server.stopsAt ?? []), now + shutdownMs];
        break;
      case 'power-off':
        become(SHUT_DOWN);
        break;
      case 'dormant':
        become(SHUT_DOWN);
        server.object.dormant = true;
        break;
      case 'wake':
        server.object = { ...server.object, product: product?.code ?? server.object.product, dormant: false };
        if (wakes === 'running') start();
    }
    const { serial, object } = server;
    this.#ledger.append({ kind: 'power', at: now, serial, identifier: object.identifier, account, call });
    return undefined;
  }

  /** The actual servers, whatever lag or false answers hide. */
  aliveServers(account?: string): AliveServer[] {
    return this.#servers.listAlive(account);
  }

  /** Every server that ever existed, by serial, with its account and its end. */
  history(): ServerLife[] {
    return this.#servers.history();
  }

  /** Adds a ready server without a request; `patch` overrides fields, including `identifier`. */
  addServer(account: string, patch: ServerPatch & { identifier?: string } = {}): ServerObject {
    const identifier = this.#givenOut(patch.identifier ?? this.#settings.newIdentifier());
    const server = this.#addReady(account, identifier, patch.product);
    server.object = { ...server.object, ...patch };
    return server.object;
  }

  /** Changes the server. Returns why not; undefined: it does. */
  change(account: string, identifier: string, body: Record<string, unknown>, asked: ChangeRequest): string | undefined {
    const server = this.#servers.alive(identifier);
    this.#servers.settle(server);
    const { variants, clock, diskSizes } = this.#settings;
    const now = clock.now();
    const { object } = server;
    const { product, diskSize, extraCores, extraMemory, ...devices } = asked;
    if (asked.needsOff && this.#servers.statusOf(server) !== SHUT_DOWN) return 'The server must be shut down';
    const { name, cpu_mode, net_device, disk_bus, tablet } = devices;
    const shown = name === undefined ? undefined : shownName(name, variants.names);
    const simple = { name: shown, cpu_mode, net_device, disk_bus, tablet };
    const set = Object.fromEntries(Object.entries(simple).filter(([, value]) => value !== undefined));
    const before = { ...object, ...server.resize?.becomes };
    if (diskSize !== undefined && diskSize < before.specs.disk_size) return 'A disk cannot be made smaller';
    if (diskSize !== undefined && diskSizes[before.specs.disk_type]?.includes(diskSize) !== true)
      return 'Invalid disk size';
    const isSeen = variants.changes !== 'unseen';
    if (isSeen) server.object = { ...object, ...set, ...(variants.changes === 'excluding' && takenBackBy(set)) };
    if (isSeen && (product ?? diskSize ?? extraCores ?? extraMemory) !== undefined) {
      const was = this.#settings.products.find(({ code }) => code === before.product);
      const model = product ?? was;
      const { disk_size, disk_type, extra_cores = 0, extra_ram = 0 } = before.specs;
      const [cores, ram] = [extraCores ?? extra_cores, extraMemory ?? extra_ram];
      const size = diskSize ?? disk_size;
      const specs = {
        cores: (model?.cores ?? 1) + cores,
        ram: (model?.ram ?? 0) + ram,
        disk_size: size,
        disk_type,
        extra_cores: cores,
        extra_ram: ram,
      };
      const grown = (model?.price ?? 0) - (was?.price ?? 0) + (size - disk_size) * (model?.diskPrice ?? 0);
      const becomes = { product: model?.code ?? before.product, specs, price: before.price + grown };
      const waits = variants.changes === 'at-restart' && this.#servers.statusOf(server) !== SHUT_DOWN;
      server.resize = { at: waits ? undefined : now + variants.changeTakesMs, becomes };
      if (waits) server.object.upgrade_specs = { disk_type, disk_size: size, cores: specs.cores, ram: specs.ram };
    }
    this.#ledger.append({
      kind: 'change',
      at: now,
      serial: server.serial,
      identifier: object.identifier,
      account,
      body,
    });
    return undefined;
  }

  /** Changes a server without a request, as a user of the provider's control panel would. */
  updateServer(identifier: string, patch: ServerPatch): void {
    const server = this.#servers.alive(identifier);
    server.object = { ...server.object, ...patch };
    if (patch.status === undefined) return;
    delete server.changing;
    delete server.startsAt;
  }

  /** Removes a server without a request and without a `cancel` in the ledger. */
  removeServer(identifier: string): void {
    this.#servers.end(this.#servers.alive(identifier), { how: 'removed', by: undefined });
  }

  /** Gives the identifier of a former server to a new, ready server, by default in the same account. */
  reuseIdentifier(identifier: string, account?: string): ServerObject {
    const earlier = this.#servers.latestGone(identifier);
    return this.#addReady(account ?? earlier.account, earlier.object.identifier, earlier.object.product).object;
  }

  /** Gives the identifier of a former server to the next server that is ordered. */
  reuseAtNextCreate(identifier: string): void {
    this.#returning.push(this.#servers.latestGone(identifier).object.identifier);
  }

  /** Changes the IPv6 addresses of the server; its MACs stay. */
  renumber(identifier: string): void {
    const server = this.#servers.alive(identifier);
    server.renumbered += 1;
    this.updateServer(identifier, { ipv6: [ipv6Of(server.serial, server.renumbered)] });
  }

  /** Adds network cards, whose addresses reads show before the others. */
  addNetworkCards(identifier: string, count: number): void {
    const server = this.#servers.alive(identifier);
    const added = Array.from({ length: count }, (_, index) => macOf(server.serial, server.object.macs.length + index));
    server.object = { ...server.object, macs: [...added, ...server.object.macs] };
  }

  /** Decides which addresses reads of this server show. */
  showAddresses(identifier: string, addresses: Addresses): void {
    this.#servers.alive(identifier).shows = addresses;
  }

  /** Reads show all addresses of this server. After `same-macs` they show no hardware address: it never becomes another. */
  showOwnAddresses(identifier: string): void {
    const { shows } = this.#servers.alive(identifier);
    this.showAddresses(identifier, shows === 'same-macs' ? 'no-macs' : 'all');
  }

  /** For new servers. */
  setAddresses(addresses: Addresses): void {
    this.#settings.addresses = addresses;
  }

  /** For later DELETEs. */
  setCancelTakes(ms: number): void {
    this.#settings.cancelTakesMs = ms;
  }

  setLag(lag: Partial<Lag>): void {
    this.#settings.lag = { ...this.#settings.lag, ...lag };
  }

  /** Counters of the other numbering keep their values. */
  setTaskNumbering(numbering: TaskNumbering): void {
    this.#settings.taskNumbering = numbering;
  }

  setIdentifierCase(identifierCase: IdentifierCase): void {
    this.#settings.identifierCase = identifierCase;
  }

  setIdentifierFrom(from: IdentifierFrom): void {
    this.#settings.identifierFrom = from;
  }

  /** Later creates reuse earlier task numbers; with `account`, only those of that account. */
  restartTaskCounter(account?: string): void {
    this.#tasks.restartCounter(account);
  }

  /** For new creates. */
  setTaskDuration(ms: number): void {
    this.#taskDurationMs = ms;
  }

  /** Finishes the newest task with this number now, stalled or not. */
  completeTask(number: TaskNumber, account?: string): void {
    this.#complete(this.#tasks.newest(number, account));
  }

  /** Finishes the task that creates this server now, stalled or not. A later task may have its number. */
  completeServer(serial: number): void {
    this.#complete(this.#tasks.of(serial));
  }

  #complete(task: Task): void {
    const now = this.#settings.clock.now();
    task.stalled = undefined;
    task.failure = undefined;
    task.durationMs = now - task.createdAt;
    const server = this.#servers.bySerial(task.serial);
    if (server) this.#servers.completeNow(server);
  }

  /** Hides the newest task with this number; its server is still created. */
  vanishTask(number: TaskNumber, account?: string): void {
    this.#tasks.newest(number, account).hidden = true;
  }

  /** The task never ends, and shows its usual text or `text`. Its server appears only with `serverAppears`. */
  stallTask(number: TaskNumber, options: StallOptions = {}): void {
    const task = this.#tasks.newest(number, options.account);
    task.stalled = { text: options.text };
    const server = this.#servers.bySerial(task.serial);
    if (server && !options.serverAppears) server.readyAt = Infinity;
  }

  /**
   * The task fails, in a form that the documentation does not show, and creates no server. As `error-then-pending` it only
   * seems to fail. What the options omit, the variants decide.
   */
  failTask(number: TaskNumber, { text = 'Installation failed', account, ...options }: FailOptions = {}): void {
    const { failedTask, failedTaskIdentifier, taskFailsAfterMs } = this.#settings.variants;
    const { identifier = failedTaskIdentifier, as = failedTask, afterMs = taskFailsAfterMs } = options;
    const task = this.#tasks.newest(number, account);
    const at = this.#settings.clock.now() + afterMs;
    task.failure = { at, text, as, told: false };
    task.showsIdentifier = identifier;
    const server = this.#servers.bySerial(task.serial);
    if (server && as !== 'error-then-pending') this.#servers.failAt(server, at);
  }

  #nextIdentifier(): string {
    const returning = this.#returning.shift();
    if (returning !== undefined && !this.#servers.isAlive(returning)) return returning;
    let identifier = this.#settings.newIdentifier();
    while (this.#chosen.has(identifier)) identifier = this.#settings.newIdentifier();
    return this.#givenOut(identifier);
  }

  #givenOut(identifier: string): string {
    if (this.#identifiers.has(identifier)) throw new Error(`Identifier ${identifier} was assigned before`);
    this.#identifiers.add(identifier);
    return identifier;
  }

  #addReady(account: string, identifier: string, code: string | undefined): SimulatedServer {
    const { products, diskSizes } = this.#settings;
    const product = products.find((one) => one.code === code) ?? products[0];
    if (!product) throw new Error('The simulator has no products');
    return this.#newServer(account, identifier, product, diskSizes['ssd']?.[0] ?? 10);
  }

  /** A server that is ready at once; `create` makes it wait for its task. */
  #newServer(account: string, identifier: string, product: SimulatedProduct, diskSize: number): SimulatedServer {
    const serial = ++this.#serial;
    const object = newServerObject(identifier, serial, product, diskSize);
    const shows = this.#settings.addresses;
    const ready = { task: undefined, readyAt: -Infinity, reservedAt: -Infinity, body: undefined };
    const server = { serial, account, ...ready, object, shows, renumbered: 0, wasRead: false };
    return this.#servers.add(server);
  }
}

function extras({ specs: { cores, ram } }: ServerObject, { extraCores = 0, extraMemory = 0 }: Asked): object {
  if (extraCores + extraMemory === 0) return {};
  return { cores: cores + extraCores, ram: ram + extraMemory, extra_cores: extraCores, extra_ram: extraMemory };
}

/** Shorter than the shortest name with the operator's mark. */
const CUT_NAME = 12;

function shownName(name: string | null, names: Variants['names']): string | null {
  if (names === 'dropped') return null;
  return names === 'cut' ? (name?.slice(0, CUT_NAME) ?? null) : name;
}
