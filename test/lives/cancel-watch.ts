/**
 * A provider that answers a DELETE with 200 while the server keeps running, for a while or forever. Until the server is gone, its
 * object must keep and report it, and no other object may take it over.
 */
import { currentReason } from '../../src/api/conditions.ts';
import { HAND_OVER_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import type { Truth } from './caretaker.ts';
import { isHandedOver } from './hand-overs.ts';
import { keyOf } from './object-store.ts';
import { isAlive, type Ownership } from './ownership.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;
const TAKES_MS = [0, 30_000, 5 * MINUTE, 24 * 60 * MINUTE, Infinity] as const;
/** After this time, each read has shown that the server still runs. */
const TOLD_AFTER_MS = 10 * MINUTE;

interface Parts {
  api: ApiServer;
  simulation: Simulation;
  ownership: Ownership;
  truth: Truth;
  /** Apart from those of the rest of the world. */
  random: Random;
  tell: (what: string) => void;
}

export class CancelWatch {
  readonly violations: string[] = [];
  readonly #parts: Parts;
  /** Uids of objects whose status has told that the provider was asked to cancel the server, and the server's identifier. */
  #told = new Map<string, string>();
  readonly #taken = new Set<string>();
  #seen = 0;
  #restores = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    parts.api.servers.listeners.add(() => this.#follow());
    this.act();
  }

  /** Later DELETEs take another time. */
  act(): void {
    const { random } = this.#parts;
    if (random.chance(0.1)) this.#take(random.pick(TAKES_MS));
  }

  /** Servers that were to be cancelled live on from here. */
  stall(): void {
    this.#take(Infinity);
  }

  /** Violations, once the operator has read every object since the last change. */
  atRest(): string[] {
    const { api, ownership, simulation } = this.#parts;
    return api.servers.list().flatMap((object) => {
      const { metadata, spec, status } = object;
      const life = ownership.serverOf(object);
      const isOld = simulation.now() - (life?.askedAt ?? Infinity) > TOLD_AFTER_MS;
      const isKept = spec.deletionPolicy === 'Retain' || metadata.annotations?.[HAND_OVER_ANNOTATION] !== undefined;
      if (life === undefined || !isAlive(life) || !isOld || isKept) return [];
      if (metadata.deletionTimestamp === undefined) return [];
      const reason = currentReason(status?.conditions) ?? 'nothing';
      const stalled = status?.conditions?.find(({ type }) => type === 'Stalled')?.status;
      if (reason === 'CancellationUnconfirmed' && stalled === 'True' && status?.cancelRequestedAt !== undefined)
        return [];
      return [
        `${keyOf(object)} says ${reason} (Stalled ${stalled ?? 'no'}) of a server that lives on after its DELETE`,
      ];
    });
  }

  /** The provider carries out the next DELETE at once, or users cancel stuck servers in its panel. */
  resolve(): void {
    const { api, ownership, simulation, random, tell } = this.#parts;
    this.#take(0);
    if (random.chance(0.5)) return;
    for (const object of api.servers.list()) {
      const life = ownership.serverOf(object);
      if (currentReason(object.status?.conditions) !== 'CancellationUnconfirmed' || !life || !isAlive(life)) continue;
      tell(`removes server ${life.identifier} of ${keyOf(object)} in the panel`);
      simulation.fleet.removeServer(life.identifier);
    }
  }

  #take(ms: number): void {
    this.#parts.tell(`a server lives on for ${ms} ms after its DELETE`);
    this.#parts.simulation.fleet.setCancelTakes(ms);
  }

  #follow(): void {
    const { api } = this.#parts;
    if (api.restores !== this.#restores) {
      this.#restores = api.restores;
      this.#told = new Map();
    }
    for (const { object, deleted, restored } of api.servers.changes.slice(this.#seen)) {
      if (restored === true) continue;
      if (deleted) this.#judgeRelease(object);
      else this.#judgeHandOver(object);
      this.#learn(object);
    }
    this.#seen = api.servers.changes.length;
  }

  /** A status that a user has wiped proves nothing. */
  #learn({ metadata: { uid }, status }: VirtualServer): void {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    const saysIt =
      ready?.reason === 'CancellationUnconfirmed' || ready?.message.startsWith('The provider answered 200') === true;
    if (status?.identifier === undefined) this.#told.delete(uid);
    else if (saysIt || status.cancelRequestedAt !== undefined) this.#told.set(uid, status.identifier);
  }

  #judgeHandOver(taker: VirtualServer): void {
    const { takenFrom, identifier } = recordOf(taker) ?? {};
    if (takenFrom === undefined || this.#taken.has(`${taker.metadata.uid} ${takenFrom.uid}`)) return;
    this.#taken.add(`${taker.metadata.uid} ${takenFrom.uid}`);
    if (this.#told.get(takenFrom.uid) !== identifier || identifier === undefined) return;
    this.violations.push(`${keyOf(taker)} took over server ${identifier}, which ${takenFrom.name} had asked to cancel`);
  }

  #judgeRelease(object: VirtualServer): void {
    const { api, ownership, truth } = this.#parts;
    const life = ownership.serverOf(object);
    if (life?.askedAt === undefined || !isAlive(life) || object.spec.deletionPolicy === 'Retain') return;
    if (truth.abandonedServers.has(life.serial) || isHandedOver(object, api.servers.list())) return;
    this.violations.push(`${keyOf(object)} was released while server ${life.identifier} lives on after its DELETE`);
  }
}
