/** Current and former servers, by serial and by identifier, and how reads show them. */
import { isDeepStrictEqual } from 'node:util';
import type { TaskNumber } from '../base/exact-numbers.ts';
import { POWERING_ON, RUNNING, SHUT_DOWN, type ServerObject } from './server-object.ts';
import { LINK_LOCAL, SAME_MAC, ZERO_MAC, type Addresses, type Settings } from './settings.ts';
import type { Task } from './tasks.ts';

/** Of a dormant server. */
const ASLEEP = 'DORMANT';
const ASLEEP_SHARE = 0.11;

interface End {
  at: number;
  how: 'cancelled' | 'removed' | 'failed';
  /** The account that sent the DELETE. */
  by: string | undefined;
}

export interface SimulatedServer {
  /** Never reused, unlike the identifier. */
  readonly serial: number;
  readonly account: string;
  task: Task | undefined;
  /** Milliseconds since the epoch; Infinity if the server never becomes ready. */
  readyAt: number;
  /** From this time on, no other order can have the identifier, and calls show the server. */
  reservedAt: number;
  /** Its `status` is the one after the change of power that is under way. */
  object: ServerObject;
  /** Until then, reads show this status in place of that of `object`. */
  changing?: { shows: string; until: number };
  /** It was shut down, and starts on its own then. */
  startsAt?: number;
  /** When requests to shut down take effect that nothing ends. */
  stopsAt?: number[];
  /** A change that was accepted: reads show it from `at` on; undefined: from the next start on. */
  resize?: { at: number | undefined; becomes: Partial<ServerObject> };
  shows: Addresses;
  /** How often its IPv6 addresses were changed. */
  renumbered: number;
  wasRead: boolean;
  /** It ends later: a DELETE was answered with 200 at `askedAt`, and the server lives on, or its task is to fail. */
  ending?: Omit<End, 'at'> & { askedAt: number | undefined; endsAt: number };
  /** The body of the order; undefined if no request created the server. */
  body: Readonly<Record<string, unknown>> | undefined;
  end?: End;
}

/** A server that exists or is being created: the account pays for it. */
export interface AliveServer {
  serial: number;
  identifier: string;
  account: string;
  /** Undefined if no request created the server. */
  task: TaskNumber | undefined;
  state: 'creating' | 'running';
  /** The addresses that reads show. */
  shows: Addresses;
}

/** The life of a server so far. */
export interface ServerLife extends Omit<AliveServer, 'state'> {
  state: AliveServer['state'] | End['how'];
  endedAt: number | undefined;
  /** When its first DELETE was answered with 200, if it lived on after that. */
  askedAt: number | undefined;
  /** Whether a GET has shown it. */
  wasRead: boolean;
  /** Undefined unless a DELETE ended it. */
  cancelledBy: string | undefined;
}

/**
 * A server of the account, as reads show it. `creating`: its task is not finished. `lagging`: its task is finished, but
 * reads do not show the server yet. `cancelled`: it is gone, but reads still show it.
 */
export interface FoundServer {
  serial: number;
  state: 'creating' | 'lagging' | 'ready' | 'cancelled';
  /** Another task of the server runs, so it cannot be cancelled now. */
  isLocked: boolean;
  /** A change of its power is under way. */
  isSwitching: boolean;
  object: ServerObject;
}

export class Servers {
  readonly #settings: Settings;
  /** Oldest first. */
  readonly #all = new Map<number, SimulatedServer>();
  readonly #alive = new Map<string, SimulatedServer>();
  /** By identifier: the server that ended last. */
  readonly #gone = new Map<string, SimulatedServer>();
  /** Those that end later. */
  readonly #ending = new Set<SimulatedServer>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  add(server: SimulatedServer): SimulatedServer {
    const { identifier } = server.object;
    if (this.#alive.has(identifier)) throw new Error(`There is already a server ${identifier}`);
    this.#all.set(server.serial, server);
    this.#alive.set(identifier, server);
    return server;
  }

  end(server: SimulatedServer, { how, by }: Omit<End, 'at'>, at = this.#settings.clock.now()): void {
    server.end = { at, how, by };
    this.#ending.delete(server);
    this.#alive.delete(server.object.identifier);
    this.#gone.set(server.object.identifier, server);
  }

  /** The server lives on for `ms`, or until the time that an earlier DELETE has set. */
  endLater(server: SimulatedServer, by: string, ms: number): void {
    const now = this.#settings.clock.now();
    const { askedAt = now, endsAt = Infinity } = server.ending ?? {};
    server.ending = { askedAt, endsAt: Math.min(endsAt, now + ms), how: 'cancelled', by };
    this.#ending.add(server);
    this.#endDue();
  }

  /** The task of the server fails at this time: the server never becomes ready. */
  failAt(server: SimulatedServer, at: number): void {
    server.readyAt = Infinity;
    server.ending = { askedAt: server.ending?.askedAt, endsAt: at, how: 'failed', by: undefined };
    this.#ending.add(server);
    this.#endDue();
  }

  /** The server is ready now, even if its task was to fail. */
  completeNow(server: SimulatedServer): void {
    server.readyAt = this.#settings.clock.now();
    if (server.ending?.how !== 'failed') return;
    delete server.ending;
    this.#ending.delete(server);
  }

  #endDue(): void {
    const now = this.#settings.clock.now();
    for (const server of this.#ending) {
      if (server.ending && server.ending.endsAt <= now) this.end(server, server.ending, server.ending.endsAt);
    }
  }

  isReady(server: SimulatedServer): boolean {
    return this.#settings.clock.now() >= server.readyAt;
  }

  /** The server that no call shows yet, since its order has not taken the identifier. */
  unreserved(identifier: string): SimulatedServer | undefined {
    const server = this.#lookUp(this.#alive, identifier);
    return server === undefined || this.#isReserved(server) ? undefined : server;
  }

  /** Whether an order for this identifier has failed, and keeps it. */
  isKept(identifier: string): boolean {
    const { end, reservedAt = Infinity } = this.#lookUp(this.#gone, identifier) ?? {};
    if (end?.how !== 'failed' || end.at < reservedAt) return false;
    return this.#settings.clock.now() < end.at + this.#settings.variants.failedNameMs;
  }

  #isReserved({ reservedAt }: SimulatedServer): boolean {
    return this.#settings.clock.now() >= reservedAt;
  }

  isAlive(identifier: string): boolean {
    return this.#lookUp(this.#alive, identifier) !== undefined;
  }

  /** The task of a server of the account that an order with this body creates; undefined if there is none. */
  taskOf(account: string, identifier: string, body: Readonly<Record<string, unknown>>): Task | undefined {
    const server = this.#lookUp(this.#alive, identifier);
    const isSame = server?.account === account && !this.isReady(server) && isDeepStrictEqual(server.body, body);
    return isSame ? server.task : undefined;
  }

  /** Throws if no such server is alive. */
  alive(identifier: string): SimulatedServer {
    const server = this.#lookUp(this.#alive, identifier);
    if (!server) throw new Error(`There is no server ${identifier}`);
    return server;
  }

  /** The last server with this identifier. Throws if there was none, or if one is alive. */
  latestGone(identifier: string): SimulatedServer {
    if (this.isAlive(identifier)) throw new Error(`Server ${identifier} is still alive`);
    const server = this.#lookUp(this.#gone, identifier);
    if (!server) throw new Error(`There was no server ${identifier}`);
    return server;
  }

  /** Undefined if the server is not alive. */
  bySerial(serial: number): SimulatedServer | undefined {
    this.#endDue();
    const server = this.#all.get(serial);
    return server?.end ? undefined : server;
  }

  find(account: string, identifier: string): FoundServer | undefined {
    const server = this.#lookUp(this.#alive, identifier);
    if (server?.account === account && this.#isReserved(server))
      return this.#found(server, this.#stateOf(server), identifier);
    const gone = this.#lookUp(this.#gone, identifier);
    if (gone?.account !== account || !(this.#isStillShown(gone) || this.#isKeptAs(gone, 'shown'))) return undefined;
    return this.#found(gone, 'cancelled', identifier);
  }

  /** The servers of the account as its list shows them. One that is gone comes before its successor of the same name. */
  list(account: string): ServerObject[] {
    this.#endDue();
    const { lag, variants, clock } = this.#settings;
    const now = clock.now();
    const shown: ServerObject[] = [];
    const show = (server: SimulatedServer): number => shown.push(this.#shown(server, server.object.identifier));
    if (lag.cancelMs > 0 || variants.cancelled !== 'forgotten')
      for (const server of this.#gone.values())
        if (server.account === account && (this.#isStillShown(server) || this.#isKeptAs(server, 'listed')))
          show(server);
    for (const server of this.#alive.values()) {
      if (server.account !== account || !this.#isReserved(server)) continue;
      if (server.task && now < server.task.createdAt + lag.listMs) continue;
      if (variants.listsCreating || this.#stateOf(server) === 'ready') show(server);
    }
    return shown;
  }

  /** A GET has shown the server. */
  wasRead(serial: number): void {
    const server = this.#all.get(serial);
    if (server) server.wasRead = true;
  }

  listAlive(account?: string): AliveServer[] {
    this.#endDue();
    const alive: AliveServer[] = [];
    for (const server of this.#alive.values()) {
      if (account === undefined || server.account === account) alive.push(this.#describe(server));
    }
    return alive;
  }

  history(): ServerLife[] {
    this.#endDue();
    return Array.from(this.#all.values(), (server) => {
      const { end, wasRead } = server;
      const described = this.#describe(server);
      const askedAt = server.ending?.askedAt;
      return {
        ...described,
        state: end?.how ?? described.state,
        endedAt: end?.at,
        askedAt,
        cancelledBy: end?.by,
        wasRead,
      };
    });
  }

  #found(server: SimulatedServer, state: FoundServer['state'], asked: string): FoundServer {
    const { serial, readyAt } = server;
    const now = this.#settings.clock.now();
    const isLocked = now >= readyAt && now < readyAt + this.#settings.variants.lockedMs;
    const object = this.#shown(server, asked);
    const { changing, stopsAt = [] } = server;
    const isSwitching = stopsAt.length > 0 || (changing !== undefined && now < changing.until);
    return { serial, state, isLocked, isSwitching, object };
  }

  #describe(server: SimulatedServer): AliveServer {
    const { serial, account, task, object, shows } = server;
    const state = this.isReady(server) ? 'running' : 'creating';
    return { serial, identifier: object.identifier, account, task: task?.number, state, shows };
  }

  #stateOf(server: SimulatedServer): FoundServer['state'] {
    if (!this.isReady(server)) return 'creating';
    return this.#settings.clock.now() < server.readyAt + this.#settings.lag.serverMs ? 'lagging' : 'ready';
  }

  /** Never true for a server cancelled during its task, since reads never showed it. */
  #isStillShown({ end, readyAt }: SimulatedServer): boolean {
    if (end?.how !== 'cancelled' || readyAt > end.at) return false;
    return this.#settings.clock.now() < end.at + this.#settings.lag.cancelMs;
  }

  /** Whether the list keeps the server after its end, or reads too. */
  #isKeptAs({ end, readyAt }: SimulatedServer, how: 'listed' | 'shown'): boolean {
    const { cancelled, cancelledMs } = this.#settings.variants;
    const isKept = cancelled === 'shown' || cancelled === how;
    if (!isKept || end?.how !== 'cancelled' || readyAt > end.at) return false;
    return this.#settings.clock.now() < end.at + cancelledMs;
  }

  #isShownAsCancelled(server: SimulatedServer): boolean {
    return !this.#isStillShown(server) && this.#isKeptAs(server, 'listed');
  }

  /** The status that reads show. */
  statusOf(server: SimulatedServer): string {
    const { object, readyAt, changing } = server;
    const now = this.#settings.clock.now();
    if (this.#isShownAsCancelled(server)) return this.#settings.variants.cancelledAs;
    if (changing !== undefined && now < changing.until) return changing.shows;
    const isPaused = now >= readyAt && now < readyAt + this.#settings.variants.pausedMs;
    return isPaused && object.status === RUNNING ? POWERING_ON : object.status;
  }

  /** What was changed, or has started, before now. */
  settle(server: SimulatedServer): void {
    const { resize, stopsAt = [] } = server;
    const now = this.#settings.clock.now();
    for (const at of stopsAt.filter((one) => now >= one)) {
      server.object = { ...server.object, status: SHUT_DOWN };
      server.startsAt = at + this.#settings.variants.startsAfterMs;
      server.stopsAt = stopsAt.filter((one) => now < one);
    }
    const { startsAt = Infinity } = server;
    if (now >= startsAt) {
      server.object = { ...server.object, status: RUNNING };
      delete server.startsAt;
      if (resize !== undefined) resize.at ??= startsAt;
    }
    if (resize?.at === undefined || now < resize.at) return;
    server.object = { ...server.object, ...resize.becomes, upgrade_specs: null };
    delete server.resize;
  }

  #shown(server: SimulatedServer, asked: string): ServerObject {
    this.settle(server);
    const object = this.#asleep(server.object);
    const { cancelledAddresses, offAddresses } = this.#settings.variants;
    const identifier = this.#spelled(object.identifier, asked);
    const status = this.statusOf(server);
    const isBare = this.#isShownAsCancelled(server)
      ? cancelledAddresses === 'dropped'
      : status === SHUT_DOWN && offAddresses === 'dropped';
    const shows = isBare ? 'none' : server.shows;
    if (shows === 'all' && identifier === object.identifier && status === object.status) return object;
    const { admin_console: console } = object;
    return {
      ...object,
      status,
      identifier,
      admin_console: { ...console, username: console.username === object.identifier ? identifier : console.username },
      ...shownAddresses(object, shows),
    };
  }

  /** What a dormant server costs, and is shown as. */
  #asleep(object: ServerObject): ServerObject {
    const { asleep } = this.#settings.variants;
    if (object.dormant !== true || asleep === 'same') return object;
    const { price, product } = object;
    const isPriced = typeof price === 'number';
    return {
      ...object,
      price: isPriced ? price * ASLEEP_SHARE : price,
      product: asleep === 'renamed' ? ASLEEP : product,
    };
  }

  #spelled(identifier: string, asked: string): string {
    switch (this.#settings.identifierCase) {
      case 'echo':
        return asked;
      case 'upper-in-server':
        return identifier.toUpperCase();
      case 'upper-in-task':
        return identifier.toLowerCase();
      case 'as-is':
      case 'ignored':
        return identifier;
    }
  }

  #lookUp(servers: ReadonlyMap<string, SimulatedServer>, identifier: string): SimulatedServer | undefined {
    this.#endDue();
    const exact = servers.get(identifier);
    if (exact !== undefined || this.#settings.identifierCase === 'as-is') return exact;
    const wanted = identifier.toLowerCase();
    for (const [key, server] of servers) if (key.toLowerCase() === wanted) return server;
    return undefined;
  }
}

function shownAddresses({ macs, ipv6 }: ServerObject, shows: Addresses): Pick<ServerObject, 'macs' | 'ipv6'> {
  switch (shows) {
    case 'all':
      return { macs, ipv6 };
    case 'no-macs':
      return { macs: [], ipv6 };
    case 'none':
      return { macs: [], ipv6: [] };
    case 'zero-macs':
      return { macs: [ZERO_MAC], ipv6 };
    case 'same-macs':
      return { macs: [SAME_MAC], ipv6 };
    case 'link-local':
      return { macs: [], ipv6: [LINK_LOCAL] };
  }
}
