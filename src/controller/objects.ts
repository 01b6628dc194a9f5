/** The newest version of every object that the process knows, and what it remembers of each between visits. */
import { FINALIZER, RECORD_ANNOTATION } from '../api/names.ts';
import { parseRecord, type ServerRecord } from '../api/record.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { holdsSomething, viewRecord } from '../decision/record.ts';
import type { Memo } from '../decision/types.ts';
import type { Informer } from '../kube/types.ts';
import type { Holders } from './holders.ts';
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
  /** Uids whose finalizer this process took off itself, with the server that lives on, until that is counted. */
  readonly #released = new Map<string, string | undefined>();

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

  /** The finalizer is about to be taken off; `left`: the server that lives on without the object. */
  released(uid: string, left?: string): void {
    this.#released.set(uid, left);
  }

  gone(key: string, last: VirtualServer): void {
    const { uid } = last.metadata;
    this.#holders.endReservation(uid, key);
    this.#holders.set(uid, key, undefined);
    this.#places.set(last.metadata.namespace, uid, false);
    this.#countLeft(last);
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
      this.#holders.set(uid, key, undefined);
      this.#places.set(object.metadata.namespace, uid, false);
      return { object, released: this.#released.delete(uid) };
    });
  }

  #index(object: VirtualServer): void {
    const { namespace, name, uid, deletionTimestamp, finalizers } = object.metadata;
    // Somebody else's finalizer may keep an object that we have let go.
    const isLetGo = deletionTimestamp !== undefined && finalizers?.includes(FINALIZER) !== true;
    const record = isLetGo ? undefined : ownRecord(object);
    // A server that was cancelled at its end is held no more.
    const held = record?.expiredAt === undefined ? record : undefined;
    this.#holders.set(uid, `${namespace}/${name}`, held?.identifier);
    this.#places.set(namespace, uid, held !== undefined && holdsSomething(held));
    if (held?.identifier !== undefined) this.#places.held(held.identifier);
    if (isLetGo) this.#countLeft(object);
  }

  /** A server that an object was let go without keeps its place, unless another object holds it. */
  #countLeft({ metadata: { namespace, uid } }: VirtualServer): void {
    const left = this.#released.get(uid);
    if (left === undefined) return;
    this.#released.set(uid, undefined);
    if (this.#holders.others(left, uid).length === 0) this.#places.left(namespace, left);
  }
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
