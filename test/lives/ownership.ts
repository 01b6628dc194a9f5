/**
 * Who owns a server, according to the provider's ledger and people's actions. Keyed by serial, since identifiers can be
 * reused.
 */
import { ACCEPT_SERVER_ANNOTATION, ADOPT_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { holdingOf } from '../../src/virtual-server/shared/holders.ts';
import type { ServerLife, Simulation } from '../../src/simulator/index.ts';
import { SAME_MAC, ZERO_MAC } from '../../src/simulator/settings.ts';
import type { ApiServer } from './api-server.ts';
import { recordOf } from '../fixtures/records.ts';
import type { Orders } from './orders.ts';

/** After this time every operator has seen a version of an object: a watch freezes for at most 10 minutes (ms). */
const KNOWN_AFTER_MS = 20 * 60_000;

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
  /** Serials of servers that showed addresses when they were read: the operator cancels no other server in their place. */
  readonly #addressed = new Set<number>();
  /** By uid: the serial of the server that the last version named; -1 for none. */
  readonly #shownBy = new Map<string, number>();
  /** By uid: since when the object has held a server that shows the same hardware address as others (ms). */
  readonly #alikeSince = new Map<string, number>();
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

  /**
   * Whether an operator could distinguish this server from another one with the same identifier: in order to look at it,
   * or at least to cancel it, if its object is being deleted.
   */
  isRecognized(serial: number): boolean {
    const holder = this.#api.servers.list().find((object) => this.serverOf(object)?.serial === serial);
    // A user's annotation also counts for a later server if no address distinguishes the two.
    const accepted = holder?.metadata.annotations?.[ACCEPT_SERVER_ANNOTATION];
    if (this.#read.has(serial)) return accepted === undefined || accepted.includes(':');
    return this.#addressed.has(serial) && holder?.metadata.deletionTimestamp !== undefined && accepted === undefined;
  }

  /**
   * Whether an operator that looks at this server may take a later one with the same identifier for it: it has no hardware
   * address that no other server has, and a restore of etcd may have undone the deletion of its object (documented limit).
   */
  mayBeTakenForAnother(serial: number): boolean {
    return this.#api.restores > 0 && !this.#read.has(serial);
  }

  /**
   * Whether the server got its identifier from one that ended later than `since`, and no read has shown it: a DELETE for the
   * earlier one may have been in flight (documented limit).
   */
  tookOver(serial: number, since: number): boolean {
    const lives = this.#simulation.fleet.history();
    const life = lives.find((one) => one.serial === serial);
    if (life === undefined || life.wasRead) return false;
    return lives.some(
      (one) => one.serial < serial && isSame(one.identifier, life.identifier) && (one.endedAt ?? 0) > since,
    );
  }

  /**
   * Whether an operator could not know that the only address of the object's server is not its own: no other object with
   * the same key has shown it for long enough (documented limit).
   */
  seemsUnique(object: VirtualServer): boolean {
    const { metadata, spec } = object;
    if (!this.#alikeSince.has(metadata.uid)) return false;
    const knownAt = this.#simulation.now() - KNOWN_AFTER_MS;
    return !this.#api.servers.list().some((other) => {
      const isBeside = other.metadata.uid !== metadata.uid && other.metadata.namespace === metadata.namespace;
      const hasSameKey = other.spec.apiKeySecretRef.name === spec.apiKeySecretRef.name;
      return isBeside && hasSameKey && (this.#alikeSince.get(other.metadata.uid) ?? Infinity) < knownAt;
    });
  }

  #forget(serial: number): void {
    this.#read.delete(serial);
    this.#addressed.delete(serial);
  }

  #follow(): void {
    for (const { object, deleted } of this.#api.servers.changes.slice(this.#seen)) {
      const record = recordOf(object);
      const serial = this.serverOf(object)?.serial ?? -1;
      const { macs = [], ipv6 = [] } = record?.fingerprint ?? {};
      const before = this.#shownBy.get(object.metadata.uid);
      // With the only copy of its record, an object loses the addresses too.
      if (before !== undefined && before !== serial && !deleted) this.#forget(before);
      this.#shownBy.set(object.metadata.uid, serial);
      // Without a unique hardware address, the operator may take a later server with the same name for this one, but not
      // when it cancels.
      const isAlike = macs.includes(SAME_MAC);
      put(this.#read, serial, macs.some((mac) => mac !== ZERO_MAC) && !isAlike);
      put(this.#addressed, serial, macs.length + ipv6.length > 0);
      const holdsAlike = isAlike && !deleted && identifierOf(object) !== undefined && record?.missingAt === undefined;
      const since = this.#alikeSince.get(object.metadata.uid) ?? this.#simulation.now();
      if (holdsAlike) this.#alikeSince.set(object.metadata.uid, since);
      else this.#alikeSince.delete(object.metadata.uid);
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

function put(serials: Set<number>, serial: number, isIn: boolean): void {
  if (isIn) serials.add(serial);
  else serials.delete(serial);
}
