/**
 * Judges each change of a server and each call about its power: it is the server of an object that asks for it, and nothing is
 * stopped without AllowStop. In the end, no server is off, and where an object says nothing about a change, its server is what spec says.
 */
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { isPaused } from '../../src/api/server-state.ts';
import { differencesOf } from '../../src/virtual-server/decision/change.ts';
import type { Server } from '../../src/provider/types.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { keyOf } from './object-store.ts';
import { UNDER_WAY_MS } from './oracles.ts';
import { isAlive, type Ownership } from './ownership.ts';

interface Around {
  api: ApiServer;
  simulation: Simulation;
  ownership: Ownership;
  now: () => number;
}

/** What a version of an object allows, and since when. */
interface Allowed {
  at: number;
  serial: number | undefined;
  /** Of each policy that counts. */
  change: boolean;
  stop: boolean;
  start: boolean;
}

export class ChangeWatch {
  readonly violations: string[] = [];
  readonly #around: Around;
  readonly #versions: Allowed[] = [];
  /** By uid: the version that counts now. */
  readonly #current = new Map<string, Allowed>();
  #seen = 0;
  #changes = 0;
  #switches = 0;

  constructor(around: Around) {
    this.#around = around;
    around.api.servers.listeners.add(() => this.#follow());
  }

  #follow(): void {
    const { api, ownership, now } = this.#around;
    for (const { object, deleted } of api.servers.changes.slice(this.#seen)) {
      const { uid, deletionTimestamp } = object.metadata;
      const { changePolicy = 'Never' } = object.spec;
      const before = this.#current.get(uid);
      // Calls of an earlier version may be under way.
      if (before !== undefined) this.#versions.push({ ...before, at: now() });
      const isActive = !deleted && deletionTimestamp === undefined && !isPaused(object);
      const serial = ownership.serverOf(object)?.serial;
      const change = isActive && changePolicy !== 'Never';
      this.#current.set(uid, {
        at: Infinity,
        serial,
        change,
        stop: change && changePolicy === 'AllowStop',
        start: !deleted,
      });
    }
    this.#seen = api.servers.changes.length;
  }

  /** Called after every event. */
  judge(): void {
    const { ledger } = this.#around.simulation;
    for (const { serial, identifier } of ledger.changes().slice(this.#changes)) {
      this.#changes += 1;
      this.#expect('change', serial, `server ${identifier} was changed`);
    }
    for (const { serial, identifier, call } of ledger.power().slice(this.#switches)) {
      this.#switches += 1;
      if (call === 'power-on') this.#expect('start', serial, `server ${identifier} was started`);
      else if (call === 'shutdown') this.#expect('stop', serial, `server ${identifier} was shut down`);
      else this.violations.push(`server ${identifier} got the call ${call}, which no change needs`);
    }
  }

  #expect(what: 'change' | 'stop' | 'start', serial: number, done: string): void {
    const since = this.#around.now() - UNDER_WAY_MS;
    const versions = [...this.#versions, ...this.#current.values()].filter(({ at }) => at >= since);
    if (versions.some((version) => version.serial === serial && version[what])) return;
    this.violations.push(`${done} (serial ${serial}), which no object asked for`);
  }

  /** What is wrong in a settled world. */
  atRest(): string[] {
    const { api, ownership, simulation } = this.#around;
    return api.servers.list().flatMap((object) => {
      const own = ownership.serverOf(object);
      const isSettled = object.status?.conditions?.some(
        ({ type, reason }) => type === 'Ready' && reason === 'Available',
      );
      if (own === undefined || !isAlive(own) || isSettled !== true || isPaused(object)) return [];
      const server = simulation.fleet.find(own.account, own.identifier)?.object;
      if (server === undefined) return [];
      const isTold = object.status?.conditions?.some(({ type }) => type === 'ChangePending') === true;
      if (isTold) return [];
      const differing = differencesOf(object, shown(server, object));
      return differing.map(
        ({ field, from, to }) => `${keyOf(object)} has ${field} ${from} instead of ${to}, and says nothing`,
      );
    });
  }
}

/** What the provider shows: the fields that are compared. */
function shown(server: NonNullable<ReturnType<Simulation['fleet']['find']>>['object'], object: VirtualServer): Server {
  const { specs } = server;
  return {
    identifier: object.status?.identifier ?? '',
    name: server.name ?? undefined,
    product: server.product,
    specs: { diskSize: specs.disk_size, extraCores: specs.extra_cores, extraMemory: specs.extra_ram },
    cpuMode: server.cpu_mode,
    netDevice: server.net_device,
    diskBus: server.disk_bus,
    tablet: server.tablet,
    ipv4: [],
    ipv6: [],
    macs: [],
  };
}
