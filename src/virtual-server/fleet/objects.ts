/** The newest version of every object that the process knows, and what it remembers of each between visits. */
import { RECORD_ANNOTATION } from '../../api/names.ts';
import { parseRecord, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { holdsSomething, viewRecord } from '../decision/record.ts';
import type { Memo } from '../decision/types.ts';
import { isDeepEqual } from '../../kube/merge-patch.ts';
import { keyOf } from '../../kube/resource.ts';
import type { Informer } from '../../kube/types.ts';
import { isLetGo } from '../decision/running.ts';
import { isOlder } from '../../kube/versions.ts';
import type { Holders, Holding } from './holders.ts';
import { holdingOf } from './holding.ts';
import type { Places } from './server-quota.ts';

interface Written {
  object: VirtualServer;
  /** Counts the versions that writes and live reads returned. */
  serial: number;
}

export class Objects {
  readonly #cache: Pick<Informer, 'get'>;
  readonly #holders: Holders;
  readonly #places: Places;
  /** By uid: what our last write, or a live read, returned; newer than the cache until the watch catches up. */
  readonly #written = new Map<string, Written>();
  #serial = 0;
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
    const written = this.#written.get(cached.metadata.uid)?.object;
    return written !== undefined && isNewer(written, cached) ? written : cached;
  }

  /** A version that a write or a live read returned. */
  saw(object: VirtualServer): void {
    const { uid } = object.metadata;
    const known = this.#written.get(uid)?.object;
    if (known !== undefined && !isNewer(object, known)) return;
    const cached = this.#cache.get(keyOf(object));
    const kept = cached !== undefined && isSame(cached, object) ? cached : object;
    this.#written.set(uid, { object: kept, serial: (this.#serial += 1) });
    this.#index(object);
  }

  /** The informer has told of this version; mostly it is what our own write returned, or older. */
  told(object: VirtualServer, previous: VirtualServer | undefined): void {
    const { uid } = object.metadata;
    this.#isThereAgain(keyOf(object), uid);
    if (previous !== undefined && !isNewer(object, previous)) this.#forgetPlan(uid);
    const written = this.#written.get(uid);
    // The cache keeps this very object: another copy of the same version would double the memory.
    if (written !== undefined && isSame(object, written.object)) written.object = object;
    if (written === undefined || !isNewer(written.object, object)) this.#index(object);
  }

  /**
   * Call it before a list is sent, and call the returned function with the version of that list and its objects. It
   * forgets our own writes that were answered before the list and are newer than the list, or than their object there, or
   * whose version has other contents there: only a restore of etcd undoes a write, and versions of before come again
   * after it. Returns the keys of their objects.
   */
  onList(): (resourceVersion: string, listed: readonly VirtualServer[]) => string[] {
    const serial = this.#serial;
    return (resourceVersion, listed) => {
      const present = new Map(listed.map((object) => [object.metadata.uid, object]));
      const isUndone = (written: Written): boolean => {
        const { uid, resourceVersion: ours } = written.object.metadata;
        const isAnswered = written.serial <= serial;
        const shown = present.get(uid) ?? written.object;
        const comesAgain = isSame(shown, written.object) && !isDeepEqual(shown, written.object);
        return isAnswered && (isOlder(resourceVersion, ours) || isNewer(written.object, shown) || comesAgain);
      };
      return [...this.#written.values()].filter(isUndone).map(({ object }) => this.#undo(object));
    };
  }

  /** True when the cache has something that `known` and our own writes do not: somebody else changed the object. */
  hasNews(key: string, known: VirtualServer | undefined): boolean {
    const cached = this.#cache.get(key);
    if (cached === undefined) return false;
    const { uid } = cached.metadata;
    const written = this.#written.get(uid)?.object;
    if (written !== undefined && !isNewer(cached, written)) return false;
    this.#written.delete(uid);
    return known === undefined || !isSame(cached, known);
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
    this.#holders.endReservation(uid);
    this.#holders.set(uid, undefined);
    this.#places.set(last.metadata.namespace, uid, false);
    this.#countLeft(last);
    const written = this.#written.get(uid)?.object;
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

  /** Forgets a write that the API server no longer has; returns the key of its object. */
  #undo(object: VirtualServer): string {
    const key = keyOf(object);
    const { uid, namespace } = object.metadata;
    const cached = this.#cache.get(key);
    this.#written.delete(uid);
    this.#forgetPlan(uid);
    if (cached?.metadata.uid === uid) this.#index(cached);
    else {
      this.#holders.set(uid, undefined);
      this.#places.set(namespace, uid, false);
    }
    return key;
  }

  /** A plan for a version that no longer exists does not hold for the present one. */
  #forgetPlan(uid: string): void {
    const { next: _next, ...memo } = this.memo(uid);
    this.remember(uid, memo);
  }

  /** A restore of etcd brings deleted objects back: such an object is neither gone nor released. */
  #isThereAgain(key: string, uid: string): void {
    const gone = this.#gone.get(key);
    const others = gone?.filter(({ metadata }) => metadata.uid !== uid) ?? [];
    if (gone === undefined || others.length === gone.length) return;
    this.#gone.set(key, others);
    this.#released.delete(uid);
  }

  #index(object: VirtualServer): void {
    const { namespace, uid } = object.metadata;
    const held = heldRecord(object);
    this.#holders.set(uid, holdingOf(object, held));
    this.#places.set(namespace, uid, held !== undefined && (holdsSomething(held) || isTooNew(object)));
    if (held?.identifier !== undefined) this.#places.held(held.identifier);
    if (isLetGo(object)) this.#countLeft(object);
  }

  /** A server that an object was let go without keeps its place, unless another object holds it. */
  #countLeft({ metadata: { namespace, uid } }: VirtualServer): void {
    const left = this.#released.get(uid);
    if (left === undefined) return;
    this.#released.set(uid, undefined);
    if (this.#holders.others(uid).withServer(left, {}).length === 0) this.#places.left(namespace, left);
  }
}

/** The record of an object that still holds what it speaks of. */
function heldRecord(object: VirtualServer): ServerRecord | undefined {
  const record = isLetGo(object) ? undefined : ownRecord(object);
  // A server that was cancelled at its end is held no more.
  return record?.expiredAt === undefined ? record : undefined;
}

/** What such an object holds may stand where this version does not read it. */
function isTooNew(object: VirtualServer): boolean {
  return viewRecord(object, []).kind === 'tooNew';
}

/** What annotation or mirror say, where they were written for this object. */
export function ownRecord(object: VirtualServer): ServerRecord | undefined {
  const view = viewRecord(object, []);
  if (view.kind === 'own') return view.record;
  if (view.kind === 'tooNew') return view.held;
  const { uid, annotations } = object.metadata;
  const parsed = parseRecord(annotations?.[RECORD_ANNOTATION]);
  const own = parsed.ok && parsed.record?.owner === uid ? parsed.record : undefined;
  const mirror = object.status?.record?.owner === uid ? object.status.record : undefined;
  return own?.identifier === undefined ? (mirror ?? own) : own;
}

function isSame(a: VirtualServer, b: VirtualServer): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

function isNewer(a: VirtualServer, b: VirtualServer): boolean {
  return isOlder(b.metadata.resourceVersion, a.metadata.resourceVersion);
}
