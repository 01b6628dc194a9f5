/**
 * Indexes which objects hand their servers over to which, and keeps a hand-over and a cancellation of the same server
 * apart. Covers every object that the process sees. Both objects of a hand-over are in one namespace.
 */
import { HAND_OVER_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { keyOf } from '../../kube/resource.ts';
import { sourceKey, sourceOf } from '../decision/known-record.ts';
import type { HandOver } from '../decision/types.ts';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { OwnedIndex } from '../../base/owned-index.ts';
import type { Reservation } from './limits.ts';

export class HandOvers {
  /** By key of the object that gets their servers. */
  readonly #givers = new OwnedIndex<string, HandOver['givers'][number]>();
  /** By `sourceKey`: the names of the objects that hold its server now. */
  readonly #takers = new OwnedIndex<string, string>();
  /** By uid of an object whose server is being cancelled or taken over: the visit that does it. */
  readonly #busy = new Map<string, object>();
  /** By uid of the giver: when a taker last was about to write its record, on the monotonic clock (ms). */
  readonly #tried = new Map<string, number>();
  #since: number | undefined;

  /** `record`: the object's own; undefined: none. */
  set(object: VirtualServer, record: ServerRecord | undefined): void {
    const { namespace, name, uid, annotations, deletionTimestamp } = object.metadata;
    const target = annotations?.[HAND_OVER_ANNOTATION];
    const source = sourceOf(object, record);
    const giver = { name, isEnding: deletionTimestamp !== undefined };
    this.#givers.put(uid, target === undefined ? [] : [[`${namespace}/${target}`, giver]]);
    this.#takers.put(uid, source === undefined ? [] : [[source, name]]);
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#givers.put(uid, []);
    this.#takers.put(uid, []);
    this.#tried.delete(uid);
  }

  /** What concerns this object. */
  of(object: VirtualServer): HandOver {
    const { uid } = object.metadata;
    const givers = [...this.#givers.of(keyOf(object))]
      .filter(([giver]) => giver !== uid)
      .map(([, giver]) => giver)
      .sort((a, b) => Number(b.isEnding) - Number(a.isEnding) || (a.name < b.name ? -1 : 1));
    return { givers, takenBy: [...this.#takers.of(sourceKey(object.metadata)).values()].at(-1) };
  }

  /** True if another object of the namespace holds the server that this one held. */
  isTaken({ metadata }: VirtualServer): boolean {
    return this.#takers.has(sourceKey(metadata));
  }

  /** This visit cancels or takes over the server of the object, until the reservation ends; undefined: another one does. */
  begin(uid: string, visit: object): Reservation | undefined {
    if ((this.#busy.get(uid) ?? visit) !== visit) return undefined;
    this.#busy.set(uid, visit);
    return { release: () => this.#busy.delete(uid) };
  }

  /** A taker is about to write its record. The write may reach the API server later than its sender knows. */
  tries(uid: string, now: number): void {
    this.#tried.set(uid, now);
  }

  /** True if a taker of this server may have written its record within the last `ms`. */
  wasTriedWithin(ms: number, uid: string, now: number): boolean {
    const at = this.#tried.get(uid);
    if (at === undefined || now - at < ms) return at !== undefined;
    this.#tried.delete(uid);
    return false;
  }

  /** How long this process has been at work (ms). A DELETE of an earlier process may still be in flight for a while. */
  ageMs(now: number): number {
    this.#since ??= now;
    return now - this.#since;
  }

  /** The keys of the objects that have to look at this one when it changes. A user may have named the object itself. */
  concernedBy({ metadata }: VirtualServer, record: ServerRecord | undefined): string[] {
    const { namespace, annotations } = metadata;
    const names = [annotations?.[HAND_OVER_ANNOTATION], record?.takenFrom?.name];
    const others = names.filter((name) => name !== undefined && name !== '' && name !== metadata.name);
    return others.map((name) => `${namespace}/${name}`);
  }

  /** True if the other object of a hand-over sees no difference: it reads everything except conditions and fields for users. */
  isSame(before: VirtualServer, after: VirtualServer): boolean {
    const seen = ({ metadata, spec, status }: VirtualServer): object => {
      const { resourceVersion: _version, ...rest } = metadata;
      return { metadata: rest, spec, record: status?.record };
    };
    return isDeepEqual(seen(before), seen(after));
  }
}
