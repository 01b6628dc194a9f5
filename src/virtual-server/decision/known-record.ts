/** Builds one record from the annotation, its mirror in status, the journal and memory. Pure. */
import { without } from '../../base/without.ts';
import { FINALIZER, RECORD_ANNOTATION, START_OVER_ANNOTATION } from '../../api/names.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { Recent, remembering } from '../../base/recent.ts';
import {
  MAX_FAILED,
  MAX_ORPHANS,
  MAX_SETTLED,
  OF_ORDER,
  OF_SERVER,
  RECORD_FORMAT,
  heldIn,
  inPhase,
  newerRecord,
  parseRecord,
  phaseOf,
  unknownIn,
  type FailedOrder,
  type Orphan,
  type ServerRecord,
  mirrorIn,
  type Unordered,
  type StoredRecord,
} from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { withNotedRequests } from '../../api/change-requests.ts';
import { openIn } from '../../api/open.ts';
import { isPaused } from '../../api/server-state.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { fromFormat1 } from './format-1.ts';
import type { AttemptNote } from './types.ts';

export type RecordView =
  /** Nothing was ever attempted for this object. */
  | { kind: 'none' }
  /** `stale`: annotation, finalizer or mirror must be written so that they agree. */
  | { kind: 'own'; record: ServerRecord; stale: boolean }
  /**
   * The record was written for another object. `startOver`: an annotation tells this object to start with a new record.
   */
  | { kind: 'foreign'; record: ServerRecord; startOver: boolean }
  /** `isAlone`: neither the mirror nor the journal has a record. */
  | { kind: 'invalid'; problem: string; isAlone: boolean }
  /** A newer version of the operator wrote it. `held`: what the object holds, as far as this version can read it. */
  | { kind: 'tooNew'; unknown: string; held: ServerRecord }
  | { kind: 'missing' }
  | ({ kind: 'conflict' } & Contradiction);

/** True while the record names a server, or something that may become one. */
export function holdsSomething(record: ServerRecord): record is Exclude<ServerRecord, Unordered> {
  return phaseOf(record) !== 'unordered';
}

/** What is known about this object's server, from every place that stores it. */
export function viewRecord(object: VirtualServer, notes: readonly AttemptNote[]): RecordView {
  const copies = copiesOf(object);
  if (notes.length > 0) return fromCopies(object, copies, notes);
  copies.view ??= fromCopies(object, copies, []);
  return copies.view;
}

function fromCopies(object: VirtualServer, copies: Copies, notes: readonly AttemptNote[]): RecordView {
  const { uid, annotations, finalizers } = object.metadata;
  const { parsed, own, mirror } = copies;
  const newer = (parsed.ok ? undefined : parsed.error.newer) ?? newerRecord(mirror);
  if (newer !== undefined) {
    const held = heldInAny(uid, mirror, parsed.ok ? parsed.value : parsed.error.newer?.held);
    return { kind: 'tooNew', unknown: newer.unknown, held };
  }
  const sent = notes.filter((note) => note.state !== 'minted');
  if (!parsed.ok) {
    return { kind: 'invalid', problem: parsed.error.problem, isAlone: mirror === undefined && sent.length === 0 };
  }
  const annotated = parsed.value;

  if (own === undefined && mirror === undefined && sent.length === 0) {
    if (annotated !== undefined) {
      return { kind: 'foreign', record: annotated, startOver: annotations?.[START_OVER_ANNOTATION] === uid };
    }
    return finalizers?.includes(FINALIZER) === true ? { kind: 'missing' } : { kind: 'none' };
  }
  const merged = withNotes(copies.merged, notes, uid);
  if (!merged.ok) return { kind: 'conflict', ...merged.error };
  const record = merged.value;
  const held = finalizers?.includes(FINALIZER) === true || object.metadata.deletionTimestamp !== undefined;
  // A different key order is not a change, or two versions that run in turn would keep rewriting the record.
  const isWritten = own !== undefined && !copies.isAdded && isDeepEqual(ofAnnotation(object, own, record), own);
  return { kind: 'own', record, stale: !isWritten || !held || isOutlived(mirror, record) };
}

/**
 * What the annotation has to say. While the server is being created, the mirror alone may have the identifier: the task
 * in the annotation leads to it. The write that records the fingerprint adds it. A paused or deleted object may wait for
 * a long time, so its annotation gets the identifier at once, and so does one whose order is in question. What is in `LATER`
 * comes with the next write of the annotation.
 */
function ofAnnotation(object: VirtualServer, own: ServerRecord, found: ServerRecord): StoredRecord {
  const lagging = own.mode === 'named' ? [...LATER, ...OF_NAMED] : LATER;
  const mayLag = object.spec.ttl === undefined ? lagging : lagging.filter((field) => field !== 'readyAt');
  const later = mayLag.filter((field) => own[field] === undefined && found[field] !== undefined);
  const shown = later.length === 0 ? found : without(found, ...later);
  const merged = own.format === found.format ? shown : { ...shown, format: own.format };
  const isOnItsWay = phaseOf(own) === 'following';
  const isInQuestion = (found.doubt ?? found.open ?? found.createFailure) !== undefined;
  const waits = isPaused(object) || object.metadata.deletionTimestamp !== undefined;
  if (!isOnItsWay || waits || isInQuestion) return merged;
  return without(merged, 'identifier');
}

const LATER = ['doubt', 'open', 'readyAt'] as const;
/** The identifier of a named order leads to the rest. */
const OF_NAMED = ['task', 'fingerprint', 'price'] as const;

/** As much of the object's own record as can be read, even if annotation and mirror contradict each other. */
export function knownRecord(object: VirtualServer): ServerRecord | undefined {
  const view = viewRecord(object, []);
  if (view.kind === 'own') return view.record;
  if (view.kind === 'tooNew') return view.held;
  const { own, mirror } = copiesOf(object);
  return own?.identifier === undefined ? (mirror ?? own) : own;
}

interface Copies {
  parsed: ReturnType<typeof parseRecord>;
  /** The record from its two places, if it belongs to this object. */
  own: ServerRecord | undefined;
  mirror: ServerRecord | undefined;
  merged: Result<ServerRecord | undefined, Contradiction>;
  /** The merged record has something that neither copy has. */
  isAdded: boolean;
  /** What follows from them without the journal; computed when first asked for. */
  view?: RecordView;
}

/** A visit asks about the same version many times. Bounded, since each entry takes about a kilobyte. */
const RECENT = 128;
const recent = new Recent<VirtualServer, Copies>(RECENT);
/** Most versions of an object have the same annotation, and one visit follows another after a pause. */
const RECENT_TEXTS = 1024;
const parsedOf = remembering(RECENT_TEXTS, parseRecord);

function copiesOf(object: VirtualServer): Copies {
  const known = recent.get(object);
  if (known !== undefined) return known;
  const { uid, annotations } = object.metadata;
  const parsed = parsedOf(annotations?.[RECORD_ANNOTATION]);
  const own = parsed.ok && parsed.value?.owner === uid ? parsed.value : undefined;
  const found = mirrorIn(object.status);
  const mirror = found?.owner === uid ? found : undefined;
  const stored = mergeRecords(own, mirror);
  const record =
    stored.ok && stored.value !== undefined ? withNotedRequests(fromFormat1(stored.value, object)) : undefined;
  const merged = stored.ok ? ok(record) : stored;
  const copies: Copies = { parsed, own, mirror, merged, isAdded: stored.ok && record !== stored.value };
  recent.set(object, copies);
  return copies;
}

/** Later records win; records of other objects do not count. */
function heldInAny(uid: string, ...records: (object | undefined)[]): ServerRecord {
  const own = records.map((record) => heldIn(record ?? {})).filter(({ owner }) => owner === uid);
  return inPhase(own.reduce<StoredRecord>((held, fields) => ({ ...held, ...fields }), newRecord(uid)));
}

/** The record of an object that had none. */
export function newRecord(uid: string): Unordered {
  return { format: RECORD_FORMAT, owner: uid, mode: 'create' };
}

/** True if the mirror names a resolved attempt: the operator must never claim a new attempt next to it. */
function isOutlived(mirror: ServerRecord | undefined, record: ServerRecord): boolean {
  return mirror?.attempt !== undefined && mirror.attempt !== record.attempt;
}

interface Contradiction {
  /** Names the field and both values. */
  problem: string;
  /** What the annotation contradicts. */
  other: 'status.record' | 'the journal';
}

/**
 * The operator writes the annotation before its mirror, so the mirror normally lags. After a restored backup or a forced
 * apply, and while the server is being created, the annotation may lag instead. Either way the later one has everything
 * that the earlier one has, and more. Anything else is a contradiction that only you can resolve.
 */
function mergeRecords(
  annotated: ServerRecord | undefined,
  mirror: ServerRecord | undefined,
): Result<ServerRecord | undefined, Contradiction> {
  if (annotated === undefined || mirror === undefined) return ok(annotated ?? mirror);
  return mergeBoth(annotated, ofSameRequest(annotated, mirror));
}

/** The mirror without the task of an earlier request, if the order was sent again since. */
function ofSameRequest({ sent }: ServerRecord, mirror: ServerRecord): ServerRecord {
  if (sent === undefined || mirror.sent === undefined || sent.at === mirror.sent.at) return mirror;
  return inPhase(without<StoredRecord, 'task' | 'createFailure'>(mirror, 'task', 'createFailure'));
}

function mergeBoth(annotated: ServerRecord, mirror: ServerRecord): Result<ServerRecord, Contradiction> {
  for (const field of ['identifier', 'task', 'attempt'] as const) {
    const [a, b] = [annotated[field], mirror[field]];
    // An adoption replaces a server that the order led to in vain, and it always comes later than the order.
    if (field === 'identifier' && (annotated.mode === 'adopt') !== (mirror.mode === 'adopt')) continue;
    if (a !== undefined && b !== undefined && a !== b) {
      return err({ problem: `${field} is ${a} in the annotation and ${b} in status.record`, other: 'status.record' });
    }
  }
  if (annotated.orphans === undefined && annotated.settled === undefined && isDeepEqual(annotated, mirror))
    return ok(annotated);
  const orphans = mergeOrphans(annotated.orphans, mirror.orphans);
  const settled = mergeSettled(annotated.settled, mirror.settled);
  // The side that lags may still list an order that is open again, or that has not been listed yet.
  const open = annotated.attempt ?? mirror.attempt;
  const held = annotated.identifier ?? mirror.identifier;
  const lists = [mirror.failed, annotated.failed].map((list) =>
    list?.filter(({ attempt, identifier }) => attempt !== open && !isSameIdentifier(identifier, held)),
  );
  const failed = mergeFailed(...lists);
  const format = Math.max(annotated.format ?? 1, mirror.format ?? 1);
  const found = { ...(orphans && { orphans }), ...(failed && { failed }), ...(settled && { settled }) };
  const merged = { ...(format > 1 && { format }), ...found };
  // What has happened to a server stays true, whichever side still records it.
  const [readyAt, expiredAt] = (['readyAt', 'expiredAt'] as const).map((end) => annotated[end] ?? mirror[end]);
  const ends = { ...(readyAt !== undefined && { readyAt }), ...(expiredAt !== undefined && { expiredAt }) };
  const adopted = [annotated, mirror].find((record) => record.mode === 'adopt' && record.identifier !== undefined);
  // Adopting resolves an attempt: the side that lags behind the adoption still carries the attempt.
  if (adopted !== undefined && annotated.mode !== mirror.mode)
    return ok(
      inPhase({ ...unknownIn(mirror), ...unknownIn(annotated), ...without(adopted, 'failed'), ...ends, ...merged }),
    );
  const later = annotated.identifier === undefined && mirror.identifier !== undefined ? mirror : annotated;
  return ok(inPhase({ ...without({ ...mirror, ...annotated, ...definedOf(later) }, 'failed'), ...ends, ...merged }));
}

function definedOf(record: ServerRecord): StoredRecord {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]: [string, unknown]) => value !== undefined),
  ) as StoredRecord;
}

/** Orphans from all lists, without duplicates. */
export function mergeOrphans(...lists: (readonly Orphan[] | undefined)[]): Orphan[] | undefined {
  const byText = new Map<string, Orphan>();
  for (const orphan of lists.flatMap((list) => list ?? [])) {
    const name = `${orphan.attempt ?? ''} ${orphan.task ?? ''} ${orphan.identifier ?? ''}`;
    byText.set(name, { ...orphan, ...byText.get(name) });
  }
  return byText.size === 0 ? undefined : [...byText.values()];
}

/** Failed orders from all lists, without duplicates; keeps only the newest ones, which come last. */
export function mergeFailed(...lists: (readonly FailedOrder[] | undefined)[]): FailedOrder[] | undefined {
  const byServer = new Map<string, FailedOrder>();
  for (const order of lists.flatMap((list) => list ?? []))
    byServer.set(`${order.attempt ?? ''} ${order.identifier}`, order);
  return byServer.size === 0 ? undefined : [...byServer.values()].slice(-MAX_FAILED);
}

/** Attempts from all lists, without duplicates; keeps only the newest ones, which come last. */
function mergeSettled(...lists: (readonly string[] | undefined)[]): string[] | undefined {
  const attempts = [...new Set(lists.flatMap((list) => list ?? []))];
  return attempts.length === 0 ? undefined : attempts.slice(-MAX_SETTLED);
}

/** Adds what journal and memory know. Never drops a task, never forgets an attempt that may have been sent. */
function withNotes(
  merged: Copies['merged'],
  notes: readonly AttemptNote[],
  uid: string,
): Result<ServerRecord, Contradiction> {
  if (!merged.ok) return merged;
  let record = merged.value ?? newRecord(uid);
  for (const note of notes) {
    const next = withNote(record, note);
    if (!next.ok) return next;
    record = next.value;
  }
  return ok(record.open === openIn(record) ? record : without(record, 'open'));
}

function withNote(record: ServerRecord, note: AttemptNote): Result<ServerRecord, Contradiction> {
  const { attempt, mintedAt, state, task } = note;
  if (record.attempt === attempt) {
    if (state === 'minted') return ok(withoutAttempt(record));
    if (task === undefined || record.task === task) return ok(record);
    if (record.task === undefined) return ok({ ...record, task });
    return err({ problem: `task is ${record.task} in the record and ${task} in the journal`, other: 'the journal' });
  }
  if (state === 'minted') return ok(record);
  if (record.failed?.some((order) => order.attempt === attempt) === true) return ok(record);
  const isSettled = record.settled?.includes(attempt) === true;
  if (!holdsSomething(record) && !isSettled) {
    return ok({
      ...record,
      attempt,
      ...(mintedAt !== undefined && { attemptedAt: mintedAt }),
      ...(note.account !== undefined && { account: note.account }),
      ...(task !== undefined && { task }),
    });
  }
  // You resolved it after checking with the provider, and this process did not notice. A later attempt alone proves
  // nothing: a rolled-back etcd may have lost the earlier one.
  if (task === undefined && (record.mode === 'adopt' || isSettled)) return ok(record);
  const time = mintedAt === undefined ? {} : { attemptedAt: mintedAt };
  const orphans = mergeOrphans(record.orphans, [{ attempt, ...time, ...(task !== undefined && { task }) }]);
  return ok({ ...record, ...(orphans && { orphans }) });
}

/** The orders that the record names, and when each was claimed. */
export function ordersIn(record: ServerRecord | undefined): { attempt: string; attemptedAt: string | undefined }[] {
  const orders = record === undefined ? [] : [record, ...(record.orphans ?? []), ...(record.failed ?? [])];
  return orders.flatMap(({ attempt, attemptedAt }) => (attempt === undefined ? [] : [{ attempt, attemptedAt }]));
}

/** The record after an attempt that created nothing. */
export function withoutAttempt(record: ServerRecord): ServerRecord {
  return without(record, ...OF_ORDER);
}

/** The record without its order and its server. */
export function withoutClaim(record: ServerRecord): ServerRecord {
  const left = withoutServer(withoutAttempt(record));
  return left.mode === 'named' ? { ...left, mode: 'create' } : left;
}

/**
 * The record after an order that failed, if it has named a server; the operator looks for that server later. `retryAt`: when
 * the next order may follow, RFC 3339; left out: at once.
 */
export function withFailedOrder(record: ServerRecord, retryAt?: string): ServerRecord {
  const { attempt, attemptedAt, ordered, task, identifier, account, createFailure, sent } = record;
  const left = { ...withoutClaim(record), ...settledWith(record) };
  if (createFailure === undefined || identifier === undefined) return left;
  const order: FailedOrder = {
    ...(attempt !== undefined && { attempt }),
    ...(attemptedAt !== undefined && { attemptedAt }),
    ...(task !== undefined && { task }),
    identifier,
    ...(account !== undefined && { account }),
    said: createFailure.said,
    ...(ordered !== undefined && ordered.attempt === attempt && { product: ordered.product }),
    ...(retryAt !== undefined && { retryAt }),
    ...(sent?.chosen && { chosen: true }),
  };
  return { ...left, failed: mergeFailed(record.failed, [order]) };
}

/** The record without these failed orders. */
function withoutFailed<R extends ServerRecord>(record: R, orders: readonly FailedOrder[]): R {
  const left = record.failed?.filter((order) => !orders.includes(order)) ?? [];
  return left.length === 0 ? (without<ServerRecord, 'failed'>(record, 'failed') as R) : { ...record, failed: left };
}

/** The record that holds the server of an order again that had counted as failed. */
export function withOrderAgain(record: ServerRecord, order: FailedOrder): ServerRecord {
  const { attempt, attemptedAt, product, task, identifier, account } = order;
  return {
    ...withoutFailed(record, [order]),
    ...(attempt !== undefined && { attempt }),
    ...(attemptedAt !== undefined && { attemptedAt }),
    ...(attempt !== undefined && product !== undefined && { ordered: { attempt, product } }),
    ...(task !== undefined && { task }),
    ...(account !== undefined && { account }),
    identifier,
  };
}

/**
 * The record with the late server of a failed order, which this object no longer needs, as an orphan. The
 * order does not change while the record has no room for another orphan.
 */
export function withOrphaned<R extends ServerRecord>(record: R, order: FailedOrder): R {
  if ((record.orphans?.length ?? 0) >= MAX_ORPHANS) return record;
  const { attempt, attemptedAt, task, identifier } = order;
  const found = {
    ...(attempt !== undefined && { attempt }),
    ...(attemptedAt !== undefined && { attemptedAt }),
    ...(task !== undefined && { task }),
    identifier,
  };
  return { ...withoutFailed(record, [order]), orphans: mergeOrphans(record.orphans, [found]) };
}

/** The object from which this one has its server; undefined if it has ordered or adopted the server that it holds now. */
export function giverIn(record: ServerRecord | undefined): ServerRecord['takenFrom'] {
  const { takenFrom, identifier } = record ?? {};
  return takenFrom?.identifier === identifier ? takenFrom : undefined;
}

/** The uid alone is not enough: without the admission policies, a record can name an object of another namespace. */
export const sourceKey = ({ namespace, uid }: { namespace: string; uid: string }): string => `${namespace}/${uid}`;

/** The `sourceKey` of the object whose server this one holds. */
export function sourceOf({ metadata }: VirtualServer, record: ServerRecord | undefined): string | undefined {
  const giver = giverIn(record);
  return giver && sourceKey({ namespace: metadata.namespace, uid: giver.uid });
}

/** The record without anything about its server. */
function withoutServer(record: ServerRecord): ServerRecord {
  const fields: StoredRecord = record;
  return inPhase(without(fields, ...OF_SERVER));
}

/** The attempts that you have resolved, including the one in the record; for the record that follows. */
export function settledWith({ settled, attempt }: ServerRecord): Pick<ServerRecord, 'settled'> {
  const all = mergeSettled(settled, attempt === undefined ? undefined : [attempt]);
  return { ...(all && { settled: all }) };
}
