/**
 * Tracks this process's own writes, which are newer than the cache until the watch catches up. The watch reports them
 * later, and that must not trigger a visit.
 */
import { isDeepEqual } from '../base/deep-equal.ts';
import { keyOf, type KubeObject } from '../kube/resource.ts';
import type { Informer } from './informer.ts';
import { isOlder } from '../kube/resource.ts';

interface Written<T> {
  object: T;
  /** Sequence number over all versions that writes and live reads returned. */
  serial: number;
}

export class OwnWrites<T extends KubeObject> {
  readonly #cache: Pick<Informer<T>, 'get'>;
  /** By uid. */
  readonly #written = new Map<string, Written<T>>();
  #serial = 0;

  constructor(cache: Pick<Informer<T>, 'get'>) {
    this.#cache = cache;
  }

  /** The newest known version; undefined if the object does not exist. */
  newest(key: string): T | undefined {
    const cached = this.#cache.get(key);
    return cached && this.newestOf(cached);
  }

  /** This version, or the version of this process's last write if that is newer. */
  newestOf(object: T): T {
    const written = this.#written.get(object.metadata.uid)?.object;
    return written !== undefined && isNewer(written, object) ? written : object;
  }

  /** Records a version that a write or a live read returned. False if another write already returned a newer one. */
  saw(object: T): boolean {
    const { uid } = object.metadata;
    const known = this.#written.get(uid)?.object;
    if (known !== undefined && !isNewer(object, known)) return false;
    const cached = this.#cache.get(keyOf(object));
    const kept = cached !== undefined && isSame(cached, object) ? cached : object;
    this.#written.set(uid, { object: kept, serial: (this.#serial += 1) });
    return true;
  }

  /** The informer reported this version. True if it is the result of an own write, or older: nothing is new in it. */
  told(object: T): boolean {
    const written = this.#written.get(object.metadata.uid);
    if (written === undefined || isNewer(object, written.object)) return false;
    if (!isSame(object, written.object)) return true;
    // After a restore of etcd, a version may come again with other contents.
    const isKnown = isDeepEqual(object, written.object);
    // Share the object with the cache: a second copy of the same version would double the memory.
    written.object = object;
    return isKnown;
  }

  gone(last: T): void {
    this.#written.delete(last.metadata.uid);
  }

  /**
   * Call it before a list request, and call the returned function with the list's version and objects. That function
   * forgets own writes that an etcd restore has undone, and returns their objects. A write is undone if it was answered
   * before the request and is newer than the list or than its object in the list, or if the list has the same version
   * with other contents. Only an etcd restore undoes a write, and old versions reappear after it.
   */
  onList(): (resourceVersion: string, listed: readonly T[]) => T[] {
    const serial = this.#serial;
    return (resourceVersion, listed) => {
      const present = new Map(listed.map((object) => [object.metadata.uid, object]));
      const isUndone = (written: Written<T>): boolean => {
        const { uid, resourceVersion: ours } = written.object.metadata;
        const isAnswered = written.serial <= serial;
        const shown = present.get(uid) ?? written.object;
        const comesAgain = isSame(shown, written.object) && !isDeepEqual(shown, written.object);
        return isAnswered && (isOlder(resourceVersion, ours) || isNewer(written.object, shown) || comesAgain);
      };
      const undone = [...this.#written.values()].filter(isUndone).map(({ object }) => object);
      for (const object of undone) this.gone(object);
      return undone;
    };
  }

  /**
   * `live` is what a read returned that began after `known` was written. If it shows that an etcd restore has undone
   * `known`, forgets `known`; true if it did. Without `live`, nothing vouches for `known`, so it is forgotten too.
   */
  compare(known: T, live: T | undefined): boolean {
    if (this.#written.get(known.metadata.uid)?.object !== known) return false;
    const isUndone = live === undefined || isNewer(known, live) || (isSame(known, live) && !isDeepEqual(known, live));
    if (isUndone) this.gone(known);
    return isUndone;
  }

  /**
   * Forgets the own write once the cache has caught up with it. True if the cached version is neither `known` nor an
   * own write: another client changed the object.
   */
  catchUp(key: string, known: T | undefined): boolean {
    const cached = this.#cache.get(key);
    if (known !== undefined && cached?.metadata.uid !== known.metadata.uid) this.gone(known);
    if (cached === undefined) return false;
    const written = this.#written.get(cached.metadata.uid)?.object;
    if (written !== undefined && !isNewer(cached, written)) return false;
    this.gone(cached);
    return known === undefined || !isSame(cached, known);
  }
}

/** True if both are the same version of the same object. */
export function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

export function isNewer(a: KubeObject, b: KubeObject): boolean {
  return isOlder(b.metadata.resourceVersion, a.metadata.resourceVersion);
}
