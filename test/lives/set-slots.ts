/** Counts the servers of a set that exist or may exist, from the provider's ledger and the actions of users. */
import { SET_LABEL } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { currentReason } from '../../src/api/conditions.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import { keyOf } from './object-store.ts';
import type { Orders } from './orders.ts';
import type { People } from './people.ts';
import { controllerOf, isAlive } from './set-members.ts';

export interface SetSlotsParts {
  api: ApiServer;
  simulation: Simulation;
  orders: Orders;
  people: People;
  now: () => number;
}

interface Known {
  object: VirtualServer;
  exists: boolean;
}

export class SetSlots {
  readonly #parts: SetSlotsParts;
  /** By uid: every VirtualServer that ever existed. */
  readonly #known = new Map<string, Known>();
  /** Uids of members that a person has released. */
  readonly #released = new Set<string>();
  /** Uids of objects whose server another object has taken over. */
  readonly #handedOver = new Set<string>();
  #seen = 0;

  constructor(parts: SetSlotsParts) {
    this.#parts = parts;
    parts.api.servers.listeners.add(() => this.#learn());
  }

  /** The uid of the set for which servers of this object count. */
  setOf(uid: string): string | undefined {
    const known = this.#known.get(uid);
    const isKept = known?.object.spec.deletionPolicy === 'Retain' || this.#handedOver.has(uid);
    const isLeft = known?.exists === false && isKept;
    return known === undefined || isLeft || this.#released.has(uid)
      ? undefined
      : controllerOf(known.object.metadata)?.uid;
  }

  /** The set has adopted this object. */
  adopted(uid: string): void {
    this.#released.delete(uid);
  }

  /** The slots that are filled; `except`: without those of this member. */
  filled(set: string, except?: string): number {
    const slots = this.#counted(set).map(([uid, { object, exists }]) => {
      if (uid === except) return 0;
      const own = this.#aliveOf(uid);
      if (!exists) return own.length;
      const held = this.#parts.people.ownership.serverOf(object)?.serial;
      const others = own.filter((serial) => serial !== held).length;
      const isOrdering = held === undefined && recordOf(object)?.attempt !== undefined;
      return 1 + (isOrdering ? Math.max(0, others - 1) : others);
    });
    return sum(slots);
  }

  /** The servers that exist, and the orders that may still arrive. */
  servers(set: string): number {
    const counts = this.#counted(set).map(([uid, { object, exists }]) => {
      const isOpen = exists && recordOf(object)?.attempt !== undefined && this.#parts.orders.of(uid).size === 0;
      return isOpen ? 1 : this.#aliveOf(uid).length;
    });
    return sum(counts);
  }

  /** For violations: every object that counts. */
  picture(set: string): string {
    const members = this.#counted(set).map(([uid, { object, exists }]) => {
      const state = exists ? (isAlive(object) ? '' : ' deleting') : ' gone';
      const reason = currentReason(object.status?.conditions) ?? 'new';
      return `${keyOf(object)}${state} ${reason} servers [${this.#aliveOf(uid).join()}]`;
    });
    return members.join('; ');
  }

  #counted(set: string): [string, Known][] {
    return [...this.#known].filter(([uid]) => this.setOf(uid) === set);
  }

  /** Serials of the existing servers that were ordered for the object, except those that a user gave up and those that no process could know. */
  #aliveOf(uid: string): number[] {
    const { simulation, orders, people } = this.#parts;
    const { truth, ownership } = people;
    if (truth.abandoned.has(uid) || ownership.misled.has(uid)) return [];
    const own = orders.of(uid);
    const serials = simulation.aliveServers().map(({ serial }) => serial);
    return serials.filter(
      (serial) => own.has(serial) && !truth.abandonedServers.has(serial) && !truth.late.has(serial),
    );
  }

  #learn(): void {
    const { api, people, now } = this.#parts;
    for (const { object, deleted, restored } of api.servers.changes.slice(this.#seen)) {
      const { metadata, spec } = object;
      const { uid } = metadata;
      const { takenFrom } = recordOf(object) ?? {};
      if (takenFrom !== undefined) this.#handedOver.add(takenFrom.uid);
      const before = this.#known.get(uid)?.object.spec;
      // The operator writes a changed template to the members, later than the person who changed it.
      if (before !== undefined && guardsOf(before) !== guardsOf(spec)) people.truth.guardedAt.set(uid, now());
      this.#known.set(uid, { object, exists: !deleted });
      const owner = controllerOf(metadata);
      if (restored === true) this.#released.delete(uid);
      if (owner !== undefined && metadata.labels?.[SET_LABEL] !== owner.name && isAlive(object))
        this.#released.add(uid);
    }
    this.#seen = api.servers.changes.length;
  }
}

const guardsOf = ({ deletionPolicy, deletionProtection }: VirtualServer['spec']): string =>
  `${deletionPolicy} ${String(deletionProtection)}`;

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
