/**
 * Who owns a server, according to the provider's ledger and people's actions. Keyed by serial, since identifiers can be
 * reused.
 */
import { ADOPT_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { holdingOf } from '../../src/virtual-server/fleet/holding.ts';
import type { ServerLife, Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { recordOf } from '../gen/records.ts';
import type { Orders } from './orders.ts';

/** The server that the object holds; undefined once the server was cancelled at its expiry. */
export function identifierOf(object: VirtualServer): string | undefined {
  const record = recordOf(object);
  return record?.expiredAt === undefined ? record?.identifier : undefined;
}

/** Identifiers are host labels, which ignore case. */
export const isSame = (a: string, b: string | undefined): boolean => a.toLowerCase() === b?.toLowerCase();

/**
 * Whether only the record itself claims the object's server. Such a record does not stop other objects from adopting
 * it.
 */
export function isUnconfirmed(object: VirtualServer): boolean {
  const holding = holdingOf(object, recordOf(object));
  return holding?.identifier !== undefined && holding.isConfirmed !== true;
}

/** Whether one of these other objects holds the object's server, or is asked to adopt it. */
export function isContested(object: VirtualServer, objects: readonly VirtualServer[]): boolean {
  const identifier = identifierOf(object);
  if (identifier === undefined) return false;
  return objects
    .filter(({ metadata: { uid } }) => uid !== object.metadata.uid)
    .some((other) => {
      const asked = other.metadata.annotations?.[ADOPT_ANNOTATION];
      return isSame(identifier, asked) || isSame(identifier, identifierOf(other));
    });
}

export class Ownership {
  /**
   * Whether the provider's task counter has started over: a task number without an identifier may be another order's.
   */
  numbersRepeat = false;
  readonly #api: ApiServer;
  readonly #simulation: Simulation;
  readonly #orders: Orders;
  /** Uids of objects for which a person named another server than the one that was ordered for them. */
  readonly misled = new Set<string>();
  /** By uid: serials of servers that the object adopted. */
  readonly #adopted = new Map<string, Set<number>>();
  readonly #asked = new Set<string>();
  /**
   * Uid and serial of servers that were already gone when the object adopted them, because a lagging read still showed
   * them.
   */
  readonly #adoptedTooLate = new Set<string>();
  /** Serials of servers that an operator has read for their object and can recognize by the object's record. */
  readonly #read = new Set<number>();
  #seen = 0;

  constructor(api: ApiServer, simulation: Simulation, orders: Orders) {
    this.#api = api;
    this.#simulation = simulation;
    this.#orders = orders;
    api.servers.listeners.add(() => this.#follow());
  }

  /** Serials of the servers that were ordered for the object. */
  orderedFor({ metadata: { uid } }: VirtualServer): ReadonlySet<number> {
    return this.#orders.of(uid);
  }

  /** Serials of all servers that rightfully belong, or belonged, to the object. */
  ownedBy(object: VirtualServer): Set<number> {
    return new Set([...this.orderedFor(object), ...(this.#adopted.get(object.metadata.uid) ?? [])]);
  }

  /**
   * The server behind the identifier that the object holds; undefined if none of the object's own servers has that
   * name.
   */
  serverOf(object: VirtualServer): ServerLife | undefined {
    const identifier = identifierOf(object);
    if (identifier === undefined) return undefined;
    const own = this.ownedBy(object);
    const lives = this.#simulation.fleet.history();
    return lives.findLast((life) => own.has(life.serial) && isSame(life.identifier, identifier));
  }

  /** Whether every server that is being created is known by its identifier to the object that ordered it. */
  areAllNamed(): boolean {
    const named = new Set(this.#api.servers.list().map((object) => this.serverOf(object)?.serial));
    const creating = this.#simulation.aliveServers().filter(({ state }) => state === 'creating');
    const knowsItsIdentifier = (object: VirtualServer) => {
      const record = recordOf(object);
      return record?.attempt === undefined || record.identifier !== undefined;
    };
    return creating.every(({ serial }) => named.has(serial)) && this.#api.servers.list().every(knowsItsIdentifier);
  }

  isAdopted(serial: number): boolean {
    return [...this.#adopted.values()].some((serials) => serials.has(serial));
  }

  adoptedTooLate({ metadata: { uid } }: VirtualServer, { serial }: ServerLife): boolean {
    return this.#adoptedTooLate.has(`${uid} ${serial}`);
  }

  isRecognized(serial: number): boolean {
    return this.#read.has(serial);
  }

  #follow(): void {
    for (const { object } of this.#api.servers.changes.slice(this.#seen)) {
      const record = recordOf(object);
      // Without a hardware address, a server cannot be told apart from a later one with the same name.
      const serial = this.serverOf(object)?.serial ?? -1;
      if (record?.fingerprint?.macs !== undefined) this.#read.add(serial);
      else this.#read.delete(serial);
      if (record?.mode !== 'adopt' || record.identifier === undefined) continue;
      const { identifier } = record;
      const { uid } = object.metadata;
      // Counts only the first time: later the identifier may belong to another server.
      if (this.#asked.has(`${uid} ${identifier}`)) continue;
      this.#asked.add(`${uid} ${identifier}`);
      const life = this.#simulation.fleet.history().findLast((one) => isSame(one.identifier, identifier));
      if (life === undefined) continue;
      if (!isAlive(life)) this.#adoptedTooLate.add(`${uid} ${life.serial}`);
      const ordered = this.orderedFor(object);
      if (ordered.size > 0 && !ordered.has(life.serial)) this.misled.add(uid);
      this.#adopted.set(uid, (this.#adopted.get(uid) ?? new Set<number>()).add(life.serial));
    }
    this.#seen = this.#api.servers.changes.length;
  }
}

export const isAlive = ({ state }: ServerLife): boolean => state === 'creating' || state === 'running';
