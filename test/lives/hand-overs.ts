/**
 * Simulated people who take deletions back, one request at a time as `kubectl vps undelete` sends them, and who stop in
 * between or do it in another order; and what must be true of every order beside them.
 */
import { currentReason } from '../../src/api/conditions.ts';
import {
  CANCEL_NOW_ANNOTATION,
  FORCE_OFF_ANNOTATION,
  HAND_OVER_ANNOTATION,
  HAND_OVER_MARK_ANNOTATION,
  REBOOT_ANNOTATION,
  TAKE_OVER_ANNOTATION,
} from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { virtualServer, withAnnotations } from '../fixtures/virtual-server.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import type { Surroundings } from './connections.ts';
import { identifierOf } from './ownership.ts';
import type { Random } from './random.ts';

/** Appended to the name of an object that keeps a server until the name of its first object is free. */
const BETWEEN = '-back';

export const targetOf = ({ metadata: { annotations } }: VirtualServer): string | undefined =>
  annotations?.[HAND_OVER_ANNOTATION];
const isDying = ({ metadata }: VirtualServer): boolean => metadata.deletionTimestamp !== undefined;

const MINUTE = 60_000;
/** A mark that no giver has. */
const OTHER_MARK = 'another';

/** A process that dies right after a hand-over, and users who act before the next process starts. */
export interface Hasty {
  /** Apart from those of the rest of the world. */
  random: Random;
  /** Kills the operator, and starts it again after `act`. */
  crash: (act: () => void) => void;
}

export class HandOverPeople {
  readonly #around: Surroundings;
  readonly #hasty: Hasty;
  readonly #taken = new Set<string>();
  #seen = 0;
  #rounds = 0;

  constructor(around: Surroundings, hasty: Hasty) {
    this.#around = around;
    this.#hasty = hasty;
    around.api.servers.listeners.add(() => this.#follow());
  }

  /** Some give up what has just taken over a server, and keep the server, while the giver is still there. */
  #follow(): void {
    const { random, crash } = this.#hasty;
    const { changes } = this.#around.api.servers;
    const news = changes.slice(this.#seen);
    this.#seen = changes.length;
    for (const { object, restored } of news) {
      const { uid } = object.metadata;
      if (restored === true || this.#taken.has(uid) || recordOf(object)?.takenFrom === undefined) continue;
      this.#taken.add(uid);
      if (random.chance(0.5)) crash(() => this.#leave(object));
    }
  }

  /** Deletes the taker with `Retain`, and takes the annotation of its giver back. */
  #leave({ metadata: { namespace, name, uid } }: VirtualServer): void {
    const { api, truth, now, tell } = this.#around;
    const taker = api.servers.get(namespace, name);
    const source = taker && recordOf(taker)?.takenFrom;
    if (taker === undefined || source === undefined || taker.metadata.uid !== uid || isDying(taker)) return;
    tell(`leave the server of ${namespace}/${name}, from ${source.name}`);
    const retained = {
      deletionPolicy: 'Retain',
      deletionProtection: false,
      expiresAt: undefined,
      ttl: undefined,
    } as const;
    api.servers.editSpec(namespace, name, retained);
    truth.guardedAt.set(uid, now());
    api.servers.delete(namespace, name);
    const giver = api.servers.get(namespace, source.name);
    if (giver?.metadata.uid === source.uid) this.#annotate(giver, null);
  }

  /** Does one random step. Returns true if it has created an object. */
  act(): boolean {
    const { api, random } = this.#around;
    const objects = api.servers.list();
    if (objects.length === 0) return false;
    const begun = objects.filter((object) => targetOf(object) !== undefined);
    const dying = objects.filter((object) => isDying(object) && identifierOf(object) !== undefined);
    const [some] = [begun, dying].filter((chosen) => chosen.length > 0 && random.chance(0.6));
    const chosen = random.pick(some ?? objects);
    if (random.chance(0.1)) return this.#meddle(chosen);
    return this.#step(chosen);
  }

  /** Finishes what is begun; what cannot be finished is given up after a while. */
  tidy(): void {
    this.#rounds += 1;
    for (const object of this.#around.api.servers.list()) {
      if (this.#rounds > 3) this.#giveUp(object);
      if (targetOf(object) === undefined) continue;
      if (this.#rounds > 3) this.#annotate(object, null);
      else this.#step(object);
    }
  }

  /** Lets an object that waits in vain for another object's server order a new one. */
  #giveUp({ metadata: { namespace, name, annotations }, status }: VirtualServer): void {
    const isWaiting = annotations?.[TAKE_OVER_ANNOTATION] !== undefined;
    if (!isWaiting || currentReason(status?.conditions) !== 'HandOverRefused') return;
    this.#around.api.servers.annotate(namespace, name, { [TAKE_OVER_ANNOTATION]: null });
  }

  /** The next request of `undelete`, as the objects show it. */
  #step(object: VirtualServer): boolean {
    const { api, random, tell } = this.#around;
    const { namespace, name } = object.metadata;
    const target = targetOf(object);
    if (target === undefined) {
      if (!isDying(object) || recordOf(object)?.identifier === undefined) return false;
      // Most take the object back under its own name, the others under a new one.
      const mark = this.#hasty.random.chance(0.7) ? object.metadata.uid : null;
      this.#annotate(object, random.chance(0.7) ? `${name}${BETWEEN}` : `${name}-new`, mark);
      return false;
    }
    const taker = api.servers.get(namespace, target);
    if (taker === undefined) {
      const back: Record<string, string> = target === `${name}${BETWEEN}` ? { [HAND_OVER_ANNOTATION]: name } : {};
      // A mistake: another order than the one of the server.
      const product = random.chance(0.1) ? 'VPSX16' : object.spec.product;
      const spec = { ...object.spec, product, ...this.#slip(object) };
      tell(`create ${namespace}/${target} from ${name}`);
      api.create(namespace, withAnnotations({ ...back, ...this.#words(object) })({ ...virtualServer(target), spec }));
      return true;
    }
    // The object between has the server, so it goes as soon as it has no name to wait for.
    const isBack = name === `${target}${BETWEEN}` && !isDying(object) && identifierOf(object) !== undefined;
    if (isBack && !isDying(taker)) {
      tell(`delete ${namespace}/${name}, which hands over to ${target}`);
      api.servers.delete(namespace, name);
    }
    return false;
  }

  /** Other clients create the object from older manifests, with an expiry in the past or near future, or with other guards. */
  #slip({ spec }: VirtualServer): Partial<VirtualServer['spec']> {
    const { random } = this.#hasty;
    const { now } = this.#around;
    if (random.chance(0.6)) return {};
    const at = new Date(now() + random.int(-60, 10) * MINUTE).toISOString();
    const ending = { deletionPolicy: 'Delete', expiresAt: undefined, ttl: undefined } as const;
    return random.pick<Partial<VirtualServer['spec']>>([
      { ...ending, expiresAt: at },
      { ...ending, expiresAt: at },
      { ...ending, ttl: `${random.int(1, 90)}m` },
      { deletionProtection: !spec.deletionProtection },
      { ...ending, deletionPolicy: spec.deletionPolicy === 'Retain' ? 'Delete' : 'Retain' },
      { deletionDelay: random.chance(0.5) ? undefined : '1m' },
    ]);
  }

  /** Most objects have the mark of the one that names them; some are those of other clients. */
  #words(object: VirtualServer): Record<string, string> {
    const { random } = this.#hasty;
    const given = object.metadata.annotations?.[HAND_OVER_MARK_ANNOTATION];
    const other = random.chance(0.5) ? OTHER_MARK : undefined;
    const mark = random.chance(0.15) ? other : given;
    const identifier = random.chance(0.05) ? identifierOf(object) : undefined;
    // A manifest in Git keeps what it once asked for.
    const asked = random.chance(0.7) ? [REBOOT_ANNOTATION, FORCE_OFF_ANNOTATION] : [];
    return {
      ...Object.fromEntries(
        Object.entries(object.metadata.annotations ?? {}).filter(([annotation]) => asked.includes(annotation)),
      ),
      ...(mark !== undefined && { [TAKE_OVER_ANNOTATION]: mark }),
      ...(identifier !== undefined && { [CANCEL_NOW_ANNOTATION]: identifier }),
    };
  }

  /** Names any object, or takes a hand-over back. */
  #meddle(object: VirtualServer): boolean {
    const { api, random } = this.#around;
    const { namespace } = object.metadata;
    const named = api.servers.list().filter(({ metadata }) => metadata.namespace === namespace);
    this.#annotate(object, random.chance(0.5) ? null : random.pick(named).metadata.name);
    return false;
  }

  #annotate({ metadata: { namespace, name, uid } }: VirtualServer, target: string | null, mark?: string | null): void {
    const { api, truth, now, tell } = this.#around;
    tell(`hand-over=${target ?? ''} on ${namespace}/${name}`);
    const marked = target === null ? null : mark;
    api.servers.annotate(namespace, name, {
      [HAND_OVER_ANNOTATION]: target,
      ...(marked !== undefined && { [HAND_OVER_MARK_ANNOTATION]: marked }),
    });
    truth.handedAt.set(uid, now());
  }
}

/** Whether another of these objects has taken the server of this one over: its record counts then. */
export function isHandedOver({ metadata: { uid } }: VirtualServer, objects: readonly VirtualServer[]): boolean {
  return objects.some((other) => {
    const record = recordOf(other);
    return record?.takenFrom?.uid === uid && record.takenFrom.identifier === record.identifier;
  });
}

/** Name of the object that had taken over the server of this one, and was released with the server left running. */
export function leftByTaker({ metadata: { uid } }: VirtualServer, { servers: { changes }, restores }: ApiServer) {
  // A restore of etcd may bring the giver back.
  if (restores > 0) return undefined;
  const taking = changes.filter(({ object }) => recordOf(object)?.takenFrom?.uid === uid);
  const takers = new Set(taking.map(({ object }) => object.metadata.uid));
  const left = changes.find(
    ({ object, deleted }) => deleted && takers.has(object.metadata.uid) && object.spec.deletionPolicy === 'Retain',
  );
  return left?.object.metadata.name;
}

/** No order is claimed for an object that a giver has named since before the object was created, nor by a giver. */
export function orderedBesideHandOver({ servers: { changes }, restores }: ApiServer): string[] {
  // A restore of etcd may lose the annotation and keep a process that acts on what it has seen.
  if (restores > 0) return [];
  const created = new Map<string, number>();
  const named = new Map<string, { target: string; since: number; namespace: string; uid: string }>();
  const attempts = new Set<string>();
  return changes.flatMap(({ object, deleted }, index) => {
    const { uid, name, namespace } = object.metadata;
    if (!created.has(uid)) created.set(uid, index);
    const made = created.get(uid) ?? index;
    const { attempt } = recordOf(object) ?? {};
    const isClaim = attempt !== undefined && !attempts.has(attempt);
    if (attempt !== undefined) attempts.add(attempt);
    const giver = [...named.values()].find(
      (one) => one.target === name && one.namespace === namespace && one.uid !== uid && one.since < made,
    );
    const own = named.get(uid);
    const target = targetOf(object);
    if (deleted || target === undefined) named.delete(uid);
    else if (own?.target !== target) named.set(uid, { target, since: index, namespace, uid });
    if (!isClaim) return [];
    if (giver !== undefined) return [`${namespace}/${name} claimed order ${attempt} although ${giver.uid} names it`];
    return own !== undefined && own.since === made ? [`${namespace}/${name} claimed order ${attempt} as a giver`] : [];
  });
}
