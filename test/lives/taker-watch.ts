/**
 * Reports a server that was handed over to an object that would end it at once, that gives up a guard of the deleted object, or
 * that is not the one that was meant; and a deleted object that goes without its server while it names another object, which
 * would then order an empty new one.
 */
import { HAND_OVER_ANNOTATION, HAND_OVER_MARK_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { expiryOf } from '../../src/virtual-server/decision/expiry.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import { keyOf } from './object-store.ts';
import { UNDER_WAY_MS } from './oracles.ts';

interface Seen {
  object: VirtualServer;
  /** Until when this version was the newest one (ms since the epoch). */
  until: number;
}

export class TakerWatch {
  readonly violations: string[] = [];
  readonly #api: ApiServer;
  readonly #now: () => number;
  /** By uid: the versions that a hand-over which is under way may have read, oldest first. */
  readonly #versions = new Map<string, Seen[]>();
  /** Uids of objects whose servers others have taken over. */
  readonly #given = new Set<string>();
  #seen = 0;

  constructor(api: ApiServer, now: () => number) {
    this.#api = api;
    this.#now = now;
    api.servers.listeners.add(() => this.#follow());
  }

  #follow(): void {
    const { changes } = this.#api.servers;
    for (const { object, deleted, restored } of changes.slice(this.#seen)) {
      if (restored !== true && deleted) this.#judgeEnd(object);
      if (restored !== true && !deleted) this.#judgeTaker(object);
      this.#remember(object);
    }
    this.#seen = changes.length;
  }

  #remember(object: VirtualServer): void {
    const { uid } = object.metadata;
    const now = this.#now();
    const before = this.#versions.get(uid) ?? [];
    const kept = before.map((seen) => (seen.until === Infinity ? { ...seen, until: now } : seen));
    this.#versions.set(uid, [...kept.filter(({ until }) => now - until < UNDER_WAY_MS), { object, until: Infinity }]);
  }

  #judgeTaker(taker: VirtualServer): void {
    const record = recordOf(taker);
    const { takenFrom, identifier } = record ?? {};
    if (takenFrom === undefined || takenFrom.identifier !== identifier || this.#given.has(takenFrom.uid)) return;
    this.#given.add(takenFrom.uid);
    const now = this.#now();
    const says = (what: string): void => {
      this.violations.push(`${keyOf(taker)} took over the server of ${takenFrom.name} ${what}`);
    };
    if (isUnguarded(taker) && (expiryOf(taker, record) ?? Infinity) <= now) says('although it has expired itself');
    const givers = this.#versions.get(takenFrom.uid)?.map(({ object }) => object) ?? [];
    if (givers.length === 0) return;
    if (givers.every((giver) => !isMeant(giver, taker))) says('although it is not the object that was meant');
    if (givers.every((giver) => isWeaker(giver, taker))) says('and gave up what guarded the server');
  }

  /** A restore of etcd may bring back what a process has not seen. */
  #judgeEnd(object: VirtualServer): void {
    const { uid, annotations } = object.metadata;
    const { identifier, owner } = recordOf(object) ?? {};
    const target = annotations?.[HAND_OVER_ANNOTATION];
    if (target === undefined || identifier === undefined || owner !== uid) return;
    if (this.#given.has(uid) || this.#api.restores > 0) return;
    this.violations.push(
      `${keyOf(object)} went without server ${identifier}, although it was to hand it over to ${target}`,
    );
  }
}

const isUnguarded = ({ metadata, spec }: VirtualServer): boolean =>
  !spec.deletionProtection &&
  spec.deletionPolicy === 'Delete' &&
  metadata.annotations?.[HAND_OVER_ANNOTATION] === undefined;

const isMeant = (giver: VirtualServer, taker: VirtualServer): boolean =>
  giver.metadata.annotations?.[HAND_OVER_MARK_ANNOTATION] === taker.metadata.annotations?.[TAKE_OVER_ANNOTATION];

function isWeaker({ spec: before }: VirtualServer, { metadata, spec }: VirtualServer): boolean {
  if (spec.deletionPolicy === 'Retain') return false;
  const isUnprotected = !spec.deletionProtection && metadata.annotations?.[HAND_OVER_ANNOTATION] === undefined;
  return before.deletionPolicy === 'Retain' || (before.deletionProtection && isUnprotected);
}
