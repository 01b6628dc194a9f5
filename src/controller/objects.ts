/** The newest version of every object that the process knows, and what it remembers of each between visits. */
import { FINALIZER, RECORD_ANNOTATION } from '../api/names.ts';
import { parseRecord, type ServerRecord } from '../api/record.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { adoptionOf } from '../decision/inputs.ts';
import { holdsSomething, viewRecord } from '../decision/record.ts';
import type { Memo } from '../decision/types.ts';
import type { Informer } from '../kube/types.ts';
import { isProvisioned } from '../decision/status.ts';
import type { Holders, Holding } from './holders.ts';
import type { Places } from './places.ts';

export class Objects {
  readonly #cache: Pick<Informer, 'get'>;
  readonly #holders: Holders;
  readonly #places: Places;
  /** By uid: what our last write, or a live read, returned; newer than the cache until the watch catches up. */
  readonly #written = new Map<string, VirtualServer>();
  readonly #memos = new Map<string, Memo>();
  /** By key: objects that are gone and were not looked at since. */
  readonly #gone = new Map<string, VirtualServer[]>();
  /** Uids whose finalizer this process took off itself. */
  readonly #released = new Set<string>();

  constructor(cache: Pick<Informer, 'get'>, holders: Holders, places: Places) {
    this.#cache = cache;
    this.#holders = holders;
    this.#places = places;
  }

  /** The newest version known here; undefined when the object does not exist. */
  newest(key: string): VirtualServer | undefined {
    const cached = this.#cache.get(key);
    if (cached === undefined) return undefined;
    const written = this.#written.get(cached.metadata.uid);
    return written !== undefined && isNewer(written, cached) ? written : cached;
  }

  /** A version that a write or a live read returned. */
  saw(object: VirtualServer): void {
    const { uid } = object.metadata;
    const known = this.#written.get(uid);
    if (known !== undefined && !isNewer(object, known)) return;
    const cached = this.#cache.get(`${object.metadata.namespace}/${object.metadata.name}`);
    this.#written.set(uid, cached !== undefined && isSame(cached, object) ? cached : object);
    this.#index(object);
  }

  /** The informer has told of this version; mostly it is what our own write returned, or older. */
  told(object: VirtualServer): void {
    const written = this.#written.get(object.metadata.uid);
    if (written === undefined || isNewer(object, written)) this.#index(object);
    // The cache keeps this very object: another copy of the same version would double the memory.
    else if (isSame(object, written)) this.#written.set(object.metadata.uid, object);
  }

  /** True when the cache has something that `known` and our own writes do not: somebody else changed the object. */
  hasNews(key: string, known: VirtualServer | undefined): boolean {
    const cached = this.#cache.get(key);
    if (cached === undefined) return false;
    const { uid } = cached.metadata;
    const written = this.#written.get(uid);
    if (written !== undefined && !isNewer(cached, written)) return false;
    this.#written.delete(uid);
    return known?.metadata.uid !== uid || isNewer(cached, known);
  }

  memo(uid: string): Memo {
    return this.#memos.get(uid) ?? { failures: 0 };
  }

  remember(uid: string, memo: Memo): void {
    this.#memos.set(uid, memo);
  }

  released(uid: string): void {
    this.#released.add(uid);
  }

  gone(key: string, last: VirtualServer): void {
    const { uid } = last.metadata;
    this.#holders.endReservation(uid);
    this.#holders.set(uid, undefined);
    this.#places.set(last.metadata.namespace, uid, false);
    const written = this.#written.get(uid);
    const final = written !== undefined && isNewer(written, last) ? written : last;
    this.#gone.set(key, [...(this.#gone.get(key) ?? []), final]);
  }

  /** Forgets the objects of this name that are gone; returns those whose finalizer somebody else took off. */
  takeGone(key: string): { object: VirtualServer; released: boolean }[] {
    const gone = this.#gone.get(key) ?? [];
    this.#gone.delete(key);
    return gone.map((object) => {
      const { uid } = object.metadata;
      this.#written.delete(uid);
      this.#memos.delete(uid);
      // The answer to our last write may have come after the watch told of the end.
      this.#holders.set(uid, undefined);
      this.#places.set(object.metadata.namespace, uid, false);
      return { object, released: this.#released.delete(uid) };
    });
  }

  /** What the object is known to hold; for the end of a reservation. */
  holding(uid: string, key: string): Holding | undefined {
    const object = this.newest(key);
    return object?.metadata.uid === uid ? holdingOf(object, heldRecord(object)) : undefined;
  }

  #index(object: VirtualServer): void {
    const { namespace, uid } = object.metadata;
    const held = heldRecord(object);
    this.#holders.set(uid, holdingOf(object, held));
    this.#places.set(namespace, uid, held !== undefined && holdsSomething(held));
  }
}

/** The record of an object that still holds what it speaks of. */
function heldRecord(object: VirtualServer): ServerRecord | undefined {
  const { deletionTimestamp, finalizers } = object.metadata;
  // Somebody else's finalizer may keep an object that we have let go.
  const isLetGo = deletionTimestamp !== undefined && finalizers?.includes(FINALIZER) !== true;
  const record = isLetGo ? undefined : ownRecord(object);
  // A server that was cancelled at its end is held no more.
  return record?.expiredAt === undefined ? record : undefined;
}

function holdingOf(object: VirtualServer, record: ServerRecord | undefined): Holding | undefined {
  if (record === undefined) return undefined;
  const { metadata, spec, status } = object;
  const { account, identifier, fingerprint, attempt, task } = record;
  const isRead = identifier !== undefined && status?.record?.identifier === identifier && isProvisioned(status);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    secret: spec.apiKeySecretRef.name,
    account,
    identifier,
    fingerprint,
    task: isRead ? undefined : task,
    isOrdering: attempt !== undefined && identifier === undefined && !isStuck(object, record),
  };
}

/** Whether the order of the record will not tell of a server by itself; an earlier order may have left the conditions. */
function isStuck(object: VirtualServer, { attempt, task }: ServerRecord): boolean {
  // An order without a task that you resolve by an adoption: two such objects would wait for each other.
  if (task === undefined && adoptionOf(object) !== undefined) return true;
  const { record: mirror, conditions } = object.status ?? {};
  if (mirror?.attempt !== attempt || mirror?.task !== task) return false;
  return conditions?.some(({ type, reason }) => type === 'Stalled' || reason === 'TaskOverdue') === true;
}

/** What annotation or mirror say, where they were written for this object. */
export function ownRecord(object: VirtualServer): ServerRecord | undefined {
  const view = viewRecord(object, []);
  if (view.kind === 'own') return view.record;
  const { uid, annotations } = object.metadata;
  const parsed = parseRecord(annotations?.[RECORD_ANNOTATION]);
  const own = parsed.ok && parsed.record?.owner === uid ? parsed.record : undefined;
  const mirror = object.status?.record?.owner === uid ? object.status.record : undefined;
  return own?.identifier === undefined ? (mirror ?? own) : own;
}

function isSame(a: VirtualServer, b: VirtualServer): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

/** Since Kubernetes 1.35 resource versions may be compared as numbers; they were numbers in fact before. */
function isNewer(a: VirtualServer, b: VirtualServer): boolean {
  const [left, right] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return left.length === right.length ? left > right : left.length > right.length;
}
