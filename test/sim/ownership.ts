/** Whose a server is, as the provider's ledger and the people know it: by serial, since identifiers can come back. */
import { ADOPT_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { holdingOf } from '../../src/virtual-server/fleet/holding.ts';
import type { ServerLife, Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { recordOf } from '../gen/records.ts';

/** The server that the object holds; one that was cancelled at its end is held no more. */
export function identifierOf(object: VirtualServer): string | undefined {
  const record = recordOf(object);
  return record?.expiredAt === undefined ? record?.identifier : undefined;
}

/** Identifiers are host labels, which ignore case. */
export const isSame = (a: string, b: string | undefined): boolean => a.toLowerCase() === b?.toLowerCase();

/** Whether nobody but the record itself says that the object holds its server: such a record does not keep others off it. */
export function isUnconfirmed(object: VirtualServer): boolean {
  const holding = holdingOf(object, recordOf(object));
  return holding?.identifier !== undefined && holding.isConfirmed !== true;
}

/** Whether one of these other objects holds the server of the object, or is to adopt it. */
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
  /** Whether the provider has begun to count its tasks anew: a number without an identifier may be another order's. */
  numbersRepeat = false;
  readonly #api: ApiServer;
  readonly #simulation: Simulation;
  /** SSH keys of objects that took over another server than the one that was ordered for them: somebody named it. */
  readonly misled = new Set<unknown>();
  /** By uid: serials of servers that the object took over. */
  readonly #adopted = new Map<string, Set<number>>();
  readonly #asked = new Set<string>();
  /** Uid and serial of servers that were gone when the object took them over, and that a lagging read still showed. */
  readonly #adoptedTooLate = new Set<string>();
  /** Serials of servers that an operator has read for their object, and recognizes. */
  readonly #read = new Set<number>();
  #seen = 0;

  constructor(api: ApiServer, simulation: Simulation) {
    this.#api = api;
    this.#simulation = simulation;
    api.servers.listeners.add(() => this.#follow());
  }

  /** Serials of the servers that were ordered for the object: its SSH key is its own. */
  orderedFor({ spec }: VirtualServer): Set<number> {
    const creates = this.#simulation.ledger.creates().filter(({ body }) => body.ssh_keys === spec.sshKeys?.[0]);
    return new Set(creates.map(({ serial }) => serial));
  }

  /** Serials of all servers that are, or were, the object's by right. */
  ownedBy(object: VirtualServer): Set<number> {
    return new Set([...this.orderedFor(object), ...(this.#adopted.get(object.metadata.uid) ?? [])]);
  }

  /** The server that the object means by the identifier that it holds; undefined where none of that name is its own. */
  serverOf(object: VirtualServer): ServerLife | undefined {
    const identifier = identifierOf(object);
    if (identifier === undefined) return undefined;
    const own = this.ownedBy(object);
    const lives = this.#simulation.fleet.history();
    return lives.findLast((life) => own.has(life.serial) && isSame(life.identifier, identifier));
  }

  /** Whether every server that is being created is known, by its identifier, to the object that it was ordered for. */
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
      // Without a hardware address nothing tells a server from the next one of its name.
      if (record?.fingerprint?.macs !== undefined) this.#read.add(this.serverOf(object)?.serial ?? -1);
      if (record?.mode !== 'adopt' || record.identifier === undefined) continue;
      const { identifier } = record;
      const { uid } = object.metadata;
      // Only the first time: later its identifier may be that of another server.
      if (this.#asked.has(`${uid} ${identifier}`)) continue;
      this.#asked.add(`${uid} ${identifier}`);
      const life = this.#simulation.fleet.history().findLast((one) => isSame(one.identifier, identifier));
      if (life === undefined) continue;
      if (!isAlive(life)) this.#adoptedTooLate.add(`${uid} ${life.serial}`);
      const ordered = this.orderedFor(object);
      if (ordered.size > 0 && !ordered.has(life.serial)) this.misled.add(object.spec.sshKeys?.[0]);
      this.#adopted.set(uid, (this.#adopted.get(uid) ?? new Set<number>()).add(life.serial));
    }
    this.#seen = this.#api.servers.changes.length;
  }
}

export const isAlive = ({ state }: ServerLife): boolean => state === 'creating' || state === 'running';
