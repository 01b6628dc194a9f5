/**
 * Judges each change of a server and each call about its power: it is the server of an object that asks for it, and nothing is
 * stopped without AllowStop. In the end, no server is off, and where an object tells of no change, its server is what spec says.
 */
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { isPaused } from '../../src/api/server-state.ts';
import { differencesOf } from '../../src/virtual-server/decision/change-fields.ts';
import type { Server } from '../../src/provider/types.ts';
import type { PowerEntry } from '../../src/simulator/ledger.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { keyOf } from './object-store.ts';
import { UNDER_WAY_MS } from './oracles.ts';
import { isAlive, isSame, type Ownership } from './ownership.ts';

/** Three for a generation of spec, each of them repeated seven times if it has no answer. */
const MOST_STOPS = 24;

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
  /** Of which object, and which of its specs. */
  generation: string;
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
  /** By generation of an object: how often its server was shut down for changes. */
  readonly #stops = new Map<string, number>();
  #restoredAt: number | undefined;
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
      const { uid, generation, deletionTimestamp } = object.metadata;
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
        generation: `${keyOf(object)} ${uid} ${generation}`,
        change,
        stop: change && changePolicy === 'AllowStop',
        start: !deleted && object.spec.power !== 'Off' && object.spec.power !== 'Dormant',
      });
    }
    this.#seen = api.servers.changes.length;
  }

  /** Called after every event. `switchedToo`: people also switch servers, and `PowerPeople` judges the calls about power. */
  judge(switchedToo: boolean): void {
    const { ledger } = this.#around.simulation;
    for (const { serial, identifier } of ledger.changes().slice(this.#changes)) {
      this.#changes += 1;
      if (!this.#isAsked('change', { serial, identifier }))
        this.violations.push(`server ${identifier} (serial ${serial}) was changed, which no object asked for`);
    }
    if (switchedToo) return;
    for (const entry of ledger.power().slice(this.#switches)) {
      this.#switches += 1;
      const { call, identifier, serial } = entry;
      if (!this.needs(entry))
        this.violations.push(`server ${identifier} (serial ${serial}) got ${call}, which no change needs`);
      if (call === 'shutdown') this.#countStop(serial);
    }
  }

  /** A restore of etcd takes back what the record has counted. */
  #countStop(serial: number): void {
    const { restoredAt } = this.#around.api;
    if (restoredAt !== this.#restoredAt) this.#stops.clear();
    this.#restoredAt = restoredAt;
    const { generation } = [...this.#current.values()].find((version) => version.serial === serial) ?? {};
    if (generation === undefined) return;
    const stops = (this.#stops.get(generation) ?? 0) + 1;
    this.#stops.set(generation, stops);
    if (stops === MOST_STOPS + 1)
      this.violations.push(`${generation} shuts its server down more than ${MOST_STOPS} times`);
  }

  /** Whether an object may have needed the call for a change of its server. */
  needs({ call, ...server }: PowerEntry): boolean {
    if (call === 'power-on') return this.#isAsked('start', server);
    return call === 'shutdown' && this.#isAsked('stop', server);
  }

  #isAsked(what: 'change' | 'stop' | 'start', { serial, identifier }: { serial: number; identifier: string }): boolean {
    const since = this.#around.now() - UNDER_WAY_MS;
    const versions = [...this.#versions, ...this.#current.values()].filter(({ at }) => at >= since);
    // The server that was meant may have ended, and this one got its identifier, while the request was on its way.
    const former = this.#around.simulation.fleet.history().filter((life) => {
      return isSame(identifier, life.identifier) && life.endedAt !== undefined && life.endedAt >= since;
    });
    const meant = new Set<number | undefined>([serial, ...former.map((life) => life.serial)]);
    return versions.some((version) => meant.has(version.serial) && version[what]);
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
        ({ field, from, to }) => `${keyOf(object)} has ${field} ${from} instead of ${to}, without telling`,
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
