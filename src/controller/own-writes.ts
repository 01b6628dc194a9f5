/**
 * What this process has written itself: newer than the cache until the watch catches up. The watch tells of it later, and
 * that must cause no visit.
 */
import { isDeepEqual } from '../kube/merge-patch.ts';
import { keyOf, type KubeObject } from '../kube/resource.ts';
import type { Informer } from '../kube/types.ts';
import { isOlder } from '../kube/versions.ts';

interface Written<T> {
  object: T;
  /** Counts the versions that writes and live reads returned. */
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

  /** The newest version known here; undefined when the object does not exist. */
  newest(key: string): T | undefined {
    const cached = this.#cache.get(key);
    return cached && this.newestOf(cached);
  }

  /** This version, or that of our own last write where it is newer. */
  newestOf(object: T): T {
    const written = this.#written.get(object.metadata.uid)?.object;
    return written !== undefined && isNewer(written, object) ? written : object;
  }

  /** A version that a write or a live read returned. False where a newer one is known from another write. */
  saw(object: T): boolean {
    const { uid } = object.metadata;
    const known = this.#written.get(uid)?.object;
    if (known !== undefined && !isNewer(object, known)) return false;
    const cached = this.#cache.get(keyOf(object));
    const kept = cached !== undefined && isSame(cached, object) ? cached : object;
    this.#written.set(uid, { object: kept, serial: (this.#serial += 1) });
    return true;
  }

  /** The informer has told of this version; mostly it is what our own write returned, or older. */
  told(object: T): void {
    const written = this.#written.get(object.metadata.uid);
    // The cache keeps this very object: another copy of the same version would double the memory.
    if (written !== undefined && isSame(object, written.object)) written.object = object;
  }

  gone(last: T): void {
    this.#written.delete(last.metadata.uid);
  }

  /**
   * Call it before a list is sent, and call the returned function with the version of that list and its objects. It
   * forgets our own writes that were answered before the list and are newer than the list, or than their object there, or
   * whose version has other contents there: only a restore of etcd undoes a write, and versions of before come again
   * after it. Returns what they had written.
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
   * Forgets our own write where the cache has caught up with it. True when the cache has something that neither `known`
   * nor our own writes have: somebody else changed the object.
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

/** True where both are one version of one object. */
export function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

export function isNewer(a: KubeObject, b: KubeObject): boolean {
  return isOlder(b.metadata.resourceVersion, a.metadata.resourceVersion);
}
