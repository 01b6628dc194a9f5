/** The newest version of every object that the process knows, and what it remembers about each between visits. */
import { FINALIZER } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { ObjectStore } from '../../controller/controller.ts';
import { OwnWrites, isNewer } from '../../controller/own-writes.ts';
import { giverIn, holdsSomething, knownRecord, sourceOf, viewRecord } from '../decision/known-record.ts';
import { takerOf } from '../decision/inputs.ts';
import { orphanPlacesOf, placeOf, type Place } from '../decision/price.ts';
import type { HandOver } from '../decision/types.ts';
import { NEW_MEMO, withEvidence, withoutPlan, type Memo } from '../decision/memo.ts';
import { without } from '../../base/without.ts';
import { keyOf } from '../../kube/resource.ts';
import type { Informer } from '../../controller/informer.ts';
import { isLetGo } from '../../api/server-state.ts';
import { HandOvers } from './hand-overs.ts';
import { holdingOf, type Holders, type Holding } from './holders.ts';
import type { ServerQuota } from './limits.ts';

export class Objects implements ObjectStore<VirtualServer> {
  readonly handOvers = new HandOvers();
  readonly #cache: Pick<Informer<VirtualServer>, 'get'>;
  readonly #holders: Holders;
  readonly #quota: ServerQuota;
  readonly #writes: OwnWrites<VirtualServer>;
  readonly #memos = new Map<string, Memo>();
  /** By key: objects that are gone and not yet taken by `takeGone`. */
  readonly #gone = new Map<string, VirtualServer[]>();
  /** Uids of objects that this process released, with the server that keeps running, until the quota counts it. */
  readonly #released = new Map<string, string | undefined>();

  constructor(cache: Pick<Informer<VirtualServer>, 'get'>, holders: Holders, quota: ServerQuota) {
    this.#cache = cache;
    this.#holders = holders;
    this.#quota = quota;
    this.#writes = new OwnWrites(cache);
  }

  /** The newest version that this process knows; undefined if the object does not exist. */
  newest(key: string): VirtualServer | undefined {
    return this.#writes.newest(key);
  }

  /** A version that a write or a live read returned. The informer may have reported a newer one before the answer arrived. */
  saw(object: VirtualServer): void {
    if (!this.#writes.saw(object)) return;
    const cached = this.#cache.get(keyOf(object));
    const isOutdated = cached?.metadata.uid === object.metadata.uid && isNewer(cached, object);
    this.#index(isOutdated ? cached : object);
  }

  /** The informer has reported this version. */
  told(object: VirtualServer, previous: VirtualServer | undefined): void {
    const { uid } = object.metadata;
    const isBack = this.#isThereAgain(keyOf(object), uid);
    if (previous !== undefined && !isNewer(object, previous)) this.#rolledBack(uid);
    const isKnown = this.#writes.told(object);
    if (isBack || !isKnown) this.#index(this.#writes.newestOf(object));
  }

  /** Like `OwnWrites.onList`. */
  onList(): (resourceVersion: string, listed: readonly VirtualServer[]) => VirtualServer[] {
    const listed = this.#writes.onList();
    return (...answer) => {
      const undone = listed(...answer);
      for (const object of undone) this.#undone(object);
      return undone;
    };
  }

  /** Like `OwnWrites.compare`. */
  compare(known: VirtualServer, live: VirtualServer | undefined): boolean {
    const isUndone = this.#writes.compare(known, live);
    if (isUndone) this.#undone(known);
    return isUndone;
  }

  /** Like `OwnWrites.catchUp`. */
  catchUp(key: string, known: VirtualServer | undefined): boolean {
    return this.#writes.catchUp(key, known);
  }

  memo(uid: string): Memo {
    return this.#memos.get(uid) ?? NEW_MEMO;
  }

  remember(uid: string, memo: Memo): void {
    this.#memos.set(uid, memo);
  }

  /** The finalizer is about to be removed; `left`: the server that keeps running without the object. */
  released(uid: string, left?: string): void {
    this.#released.set(uid, left);
  }

  gone(last: VirtualServer): void {
    const key = keyOf(last);
    this.#holders.forget(last.metadata.uid);
    this.#forget(last);
    this.#countLeft(last);
    this.#gone.set(key, [...(this.#gone.get(key) ?? []), this.#writes.newestOf(last)]);
  }

  /** Forgets the objects of this name that are gone. Returns them; `released`: this process removed the finalizer. */
  takeGone(key: string): { object: VirtualServer; released: boolean }[] {
    const gone = this.#gone.get(key) ?? [];
    this.#gone.delete(key);
    return gone.map((object) => {
      const { uid } = object.metadata;
      this.#writes.gone(object);
      this.#memos.delete(uid);
      // The answer to the last write may have arrived after the watch reported the deletion.
      this.#forget(object);
      return { object, released: this.#released.delete(uid) };
    });
  }

  /** What keeps the object that is to get the server of this one from taking it. */
  takerOf(object: VirtualServer): HandOver['taker'] {
    const { namespace, uid } = object.metadata;
    const name = takerOf(object);
    if (name === undefined) return undefined;
    const taker = this.newest(`${namespace}/${name}`);
    // A deleted object takes over no server, and two objects that name each other would wait forever.
    if (taker === undefined || taker.metadata.deletionTimestamp !== undefined) return 'missing';
    const record = heldRecord(taker);
    const isOther = record !== undefined && holdsSomething(record) && record.takenFrom?.uid !== uid;
    return isOther ? 'holding' : undefined;
  }

  /** The deleted object whose server this one has taken over, while it is still there. */
  giverOf(object: VirtualServer): string | undefined {
    const source = giverIn(knownRecord(object));
    const giver = source && this.newest(`${object.metadata.namespace}/${source.name}`);
    if (giver === undefined || giver.metadata.uid !== source?.uid || isLetGo(giver)) return undefined;
    return giver.metadata.deletionTimestamp === undefined ? undefined : source.name;
  }

  /** What the object is known to hold; for the end of a reservation. */
  holding(uid: string, key: string): Holding | undefined {
    const object = this.newest(key);
    if (object?.metadata.uid !== uid || this.handOvers.isTaken(object)) return undefined;
    return holdingOf(object, heldRecord(object));
  }

  /** The API server has lost what this process wrote to the object. */
  #undone(object: VirtualServer): void {
    const { uid } = object.metadata;
    const cached = this.#cache.get(keyOf(object));
    this.#rolledBack(uid);
    if (cached?.metadata.uid === uid) this.#index(cached);
    else this.#forget(object);
  }

  /**
   * A plan for a version that no longer exists does not apply to the present one. Nor does the end of its server: the object may order
   * another one under the same identifier.
   */
  #rolledBack(uid: string): void {
    this.remember(uid, withEvidence(withoutPlan(this.memo(uid)), { end: undefined }));
  }

  /** True if a restore of etcd has brought a deleted object back: such an object is neither gone nor released. */
  #isThereAgain(key: string, uid: string): boolean {
    const gone = this.#gone.get(key);
    const others = gone?.filter(({ metadata }) => metadata.uid !== uid) ?? [];
    if (gone === undefined || others.length === gone.length) return false;
    this.#gone.set(key, others);
    this.#released.delete(uid);
    return true;
  }

  /** All that the indexes know of the object comes from this version. */
  #index(object: VirtualServer): void {
    const { namespace, uid } = object.metadata;
    const known = isLetGo(object) ? undefined : knownRecord(object);
    const held = heldRecord(object);
    const takes = sourceOf(object, known);
    const takesPlace = (held !== undefined && holdsSomething(held)) || mayHoldUnread(object);
    this.handOvers.set(object, known);
    this.#holders.set(uid, holdingOf(object, held), takes);
    const orphans = orphanPlacesOf(object, known);
    this.#quota.set(namespace, uid, takesPlace ? placeOf(object, held) : undefined, { orphans, takes });
    if (isLetGo(object)) this.#countLeft(object);
  }

  /** The object is gone. */
  #forget({ metadata: { namespace, uid } }: VirtualServer): void {
    this.handOvers.forget(uid);
    this.#holders.set(uid, undefined);
    this.#quota.set(namespace, uid, undefined);
  }

  /** Servers that were left without their object keep their places in the quota, unless another object holds them. */
  #countLeft(object: VirtualServer): void {
    const { namespace, uid } = object.metadata;
    const left = this.#released.get(uid);
    if (left === undefined) return;
    this.#released.set(uid, undefined);
    const record = knownRecord(object);
    const kept = leftPlace({ ...placeOf(object, record && priced(record)), identifier: left });
    for (const [index, place] of [kept, ...orphanPlacesOf(object, record)].entries())
      this.#quota.left(namespace, `${uid} ${index}`, place);
  }
}

/** The record without changes of unknown price: no visit reads from now on what they will cost. */
function priced<R extends ServerRecord>(record: R): R {
  const { change, changeRequests } = record;
  return {
    ...record,
    ...(change && { change: without(change, 'isUnpriced') }),
    ...(changeRequests && { changeRequests: without(changeRequests, 'isUnpriced') }),
  };
}

/** A server without an object is no longer read, so its last price stays, and an unknown price stays unknown. */
function leftPlace(place: Place): Place {
  return { ...place, state: place.price === undefined ? 'unstated' : undefined };
}

/** The record of an object that still holds what the record names. */
export function heldRecord(object: VirtualServer): ServerRecord | undefined {
  const record = isLetGo(object) ? undefined : knownRecord(object);
  // An expired server was cancelled, so the object no longer holds it.
  return record?.expiredAt === undefined ? record : undefined;
}

/** Such an object may hold something that this version cannot read, or that was lost. */
function mayHoldUnread(object: VirtualServer): boolean {
  if (isLetGo(object)) return false;
  const { kind } = viewRecord(object, []);
  const isHeld = object.metadata.finalizers?.includes(FINALIZER) === true;
  return kind === 'tooNew' || (isHeld && (kind === 'invalid' || kind === 'missing'));
}
