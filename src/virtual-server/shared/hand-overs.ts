/**
 * Indexes which objects hand their servers over to which, and keeps a hand-over and a cancellation of the same server
 * apart. Covers every object that the process sees. Both objects of a hand-over are in one namespace.
 */
import { HAND_OVER_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { keyOf } from '../../kube/resource.ts';
import { giverIn } from '../decision/record.ts';
import type { HandOver } from '../decision/types.ts';
import type { Reservation } from './limits.ts';

interface Entry {
  name: string;
  /** The key of the object that gets the server of this one. */
  target: string | undefined;
  isEnding: boolean;
  /** The object from which this one has taken its server. */
  source: Source | undefined;
}

export interface Source {
  namespace: string;
  name: string;
  uid: string;
}

const keyOfSource = ({ namespace, uid }: Source): string => `${namespace}/${uid}`;

export class HandOvers {
  readonly #byUid = new Map<string, Entry>();
  readonly #givers = new Map<string, Set<string>>();
  /** By `NAMESPACE/UID` of the source: the uid of the object that holds its server now. */
  readonly #takers = new Map<string, string>();
  /** By uid of an object whose server is being cancelled or taken over: the visit that does it. */
  readonly #busy = new Map<string, object>();
  /** By uid of the giver: when a taker last was about to write its record, on the monotonic clock (ms). */
  readonly #tried = new Map<string, number>();
  #since: number | undefined;

  /**
   * `record`: the object's own; undefined: none. Returns the object whose server this one holds now, and the one whose server it
   * no longer holds.
   */
  set(object: VirtualServer, record: ServerRecord | undefined): { source?: Source; freed?: Source } {
    const { namespace, name, uid, annotations, deletionTimestamp } = object.metadata;
    const before = this.forget(uid);
    const named = annotations?.[HAND_OVER_ANNOTATION];
    const giver = giverIn(record);
    const target = named === undefined ? undefined : `${namespace}/${named}`;
    const source = giver && { namespace, name: giver.name, uid: giver.uid };
    const freed = before !== undefined && before.uid !== source?.uid ? { freed: before } : {};
    if (target === undefined && source === undefined) return freed;
    this.#byUid.set(uid, { name, target, source, isEnding: deletionTimestamp !== undefined });
    if (target !== undefined) this.#givers.set(target, (this.#givers.get(target) ?? new Set<string>()).add(uid));
    if (source === undefined) return freed;
    this.#takers.set(keyOfSource(source), uid);
    return { source, ...freed };
  }

  /** Returns the object whose server this one has held. */
  forget(uid: string): Source | undefined {
    const { target, source } = this.#byUid.get(uid) ?? {};
    this.#byUid.delete(uid);
    if (target !== undefined) {
      this.#givers.get(target)?.delete(uid);
      if (this.#givers.get(target)?.size === 0) this.#givers.delete(target);
    }
    if (source === undefined || this.#takers.get(keyOfSource(source)) !== uid) return undefined;
    this.#takers.delete(keyOfSource(source));
    return source;
  }

  /** What concerns this object. */
  of(object: VirtualServer): HandOver {
    const { namespace, uid } = object.metadata;
    const givers = [...(this.#givers.get(keyOf(object)) ?? [])]
      .filter((giver) => giver !== uid)
      .flatMap((giver) => this.#byUid.get(giver) ?? [])
      .map(({ name, isEnding }) => ({ name, isEnding }))
      .sort((a, b) => Number(b.isEnding) - Number(a.isEnding) || (a.name < b.name ? -1 : 1));
    const taker = this.#takers.get(`${namespace}/${uid}`);
    return { givers, takenBy: taker === undefined ? undefined : this.#byUid.get(taker)?.name };
  }

  /** True if another object of the namespace holds the server that this one held. */
  isTaken({ metadata: { namespace, uid } }: VirtualServer): boolean {
    return this.#takers.has(`${namespace}/${uid}`);
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

  /** The keys of the objects that have to look at this one when it changes. */
  concernedBy({ metadata }: VirtualServer, record: ServerRecord | undefined): string[] {
    const { namespace, annotations } = metadata;
    const names = [annotations?.[HAND_OVER_ANNOTATION], record?.takenFrom?.name];
    return names.filter((name) => name !== undefined && name !== '').map((name) => `${namespace}/${name}`);
  }
}
