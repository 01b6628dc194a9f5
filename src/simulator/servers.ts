/** Current and former servers, by serial and by identifier, and how reads show them. */
import { LINK_LOCAL, SAME_MAC, ZERO_MAC, type Addresses, type Settings, type SimulatedProduct } from './settings.ts';
import type { Task } from './tasks.ts';

/** The server resource with every documented field. */
export interface ServerObject {
  identifier: string;
  name: string | null;
  status: string;
  product: string;
  price: number;
  zone: { name: string; code: string };
  host_server: string;
  specs: { cores: number; disk_size: number; ram: number; disk_type: string };
  boot_device: string;
  net_device: string;
  disk_bus: string;
  cpu_mode: string;
  iso_image: string;
  ipv4: unknown[];
  ipv6: string[];
  macs: string[];
  vnc: { mode: string; password: string; display: number; port: number; ipv4: string; ipv6: string };
  admin_console: { hostname: string; username: string };
  ssh_proxy: { hostname: string; port: number };
}

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
  object: ServerObject;
  shows: Addresses;
  /** How often its IPv6 addresses were changed. */
  renumbered: number;
  wasRead: boolean;
  /** A DELETE was answered with 200, and the server lives on. */
  ending?: { askedAt: number; endsAt: number; by: string };
  end?: End;
}

/** A server that exists or is being created: the account pays for it. */
export interface AliveServer {
  serial: number;
  identifier: string;
  account: string;
  /** Undefined if no request created the server. */
  task: number | undefined;
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
  object: ServerObject;
}

export class Servers {
  readonly #settings: Settings;
  /** Oldest first. */
  readonly #all = new Map<number, SimulatedServer>();
  readonly #alive = new Map<string, SimulatedServer>();
  /** By identifier: the server that ended last. */
  readonly #gone = new Map<string, SimulatedServer>();
  /** Those that live on for a while after a DELETE. */
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

  end(server: SimulatedServer, end: Omit<End, 'at'>, at = this.#settings.clock.now()): void {
    server.end = { at, ...end };
    this.#ending.delete(server);
    this.#alive.delete(server.object.identifier);
    this.#gone.set(server.object.identifier, server);
  }

  /** The server lives on for `ms`, or until the time that an earlier DELETE has set. */
  endLater(server: SimulatedServer, by: string, ms: number): void {
    const now = this.#settings.clock.now();
    const { askedAt = now, endsAt = Infinity } = server.ending ?? {};
    server.ending = { askedAt, endsAt: Math.min(endsAt, now + ms), by };
    this.#ending.add(server);
    this.#endDue();
  }

  #endDue(): void {
    const now = this.#settings.clock.now();
    for (const server of this.#ending) {
      const { endsAt, by } = server.ending ?? { endsAt: Infinity, by: undefined };
      if (endsAt <= now) this.end(server, { how: 'cancelled', by }, endsAt);
    }
  }

  isReady(server: SimulatedServer): boolean {
    return this.#settings.clock.now() >= server.readyAt;
  }

  isAlive(identifier: string): boolean {
    return this.#lookUp(this.#alive, identifier) !== undefined;
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
    if (server?.account === account) return this.#found(server, this.#stateOf(server), identifier);
    const gone = this.#lookUp(this.#gone, identifier);
    if (gone?.account !== account || !this.#isStillShown(gone)) return undefined;
    return this.#found(gone, 'cancelled', identifier);
  }

  /** A GET has shown the server. */
  read(serial: number): void {
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
    return { serial: server.serial, state, object: this.#shown(server, asked) };
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

  #shown({ object, shows }: SimulatedServer, asked: string): ServerObject {
    const identifier = this.#spelled(object.identifier, asked);
    if (shows === 'all' && identifier === object.identifier) return object;
    const { admin_console: console } = object;
    return {
      ...object,
      identifier,
      admin_console: { ...console, username: console.username === object.identifier ? identifier : console.username },
      ...shownAddresses(object, shows),
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

/** An IPv6-only server; its addresses and ports derive from `serial` (from 1). */
export function newServerObject(
  identifier: string,
  serial: number,
  product: SimulatedProduct,
  diskSize: number,
): ServerObject {
  const host = encodeURIComponent(identifier);
  return {
    identifier,
    name: null,
    status: 'running',
    product: product.code,
    price: product.price + diskSize * (product.diskPrice ?? 0),
    zone: { name: 'Simulated Zone One', code: 'SIM1' },
    host_server: `host${(serial % 7) + 1}`,
    specs: { cores: product.cores, disk_size: diskSize, ram: product.ram, disk_type: 'ssd' },
    boot_device: 'hd',
    net_device: 'virtio',
    disk_bus: 'virtio',
    cpu_mode: 'performance',
    iso_image: '',
    ipv4: [],
    ipv6: [ipv6Of(serial, 0)],
    macs: [macOf(serial)],
    vnc: {
      mode: 'disabled',
      password: `vnc-password-${serial}`,
      display: serial % 100,
      port: 5900 + (serial % 100),
      ipv4: '192.0.2.10',
      ipv6: '2001:db8:ffff::10',
    },
    admin_console: { hostname: `admin.${host}.vs.example.com`, username: identifier },
    ssh_proxy: { hostname: `ssh-proxy${(serial % 3) + 1}.example.com`, port: 20_000 + (serial % 40_000) },
  };
}

/** Each server has a separate network, so no two servers share an address; `renumbered` counts its changes. */
export function ipv6Of(serial: number, renumbered: number): string {
  return `2001:db8:${(serial >>> 16).toString(16)}:${(serial & 0xffff).toString(16)}::${(renumbered + 2).toString(16)}`;
}

/** Unique up to 4 billion servers and 256 network cards, and constant for the life of a server. */
export function macOf(serial: number, card = 0): string {
  const hex = (serial >>> 0).toString(16).padStart(8, '0');
  const vendor = card === 0 ? '52:54' : `02:${card.toString(16).padStart(2, '0')}`;
  return `${vendor}:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}:${hex.slice(6, 8)}`;
}
