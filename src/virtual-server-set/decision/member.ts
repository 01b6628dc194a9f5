/** What a set has to know about one of its members. Pure. */
import { currentReason, hasTrait, REASONS, type Reason } from '../../api/conditions.ts';
import { openReason } from '../../api/open.ts';
import {
  FINALIZER,
  MEMBER_DELETE_FIRST_ANNOTATION,
  RECORD_ANNOTATION,
  START_OVER_ANNOTATION,
} from '../../api/names.ts';
import { newerRecord, parseRecord, phaseOf, type ServerRecord, mirrorIn } from '../../api/record.ts';
import { isAnnotated, isLetGo, isPaidFor, isPaused } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { durationMs } from '../../base/duration.ts';
import { adviceOf } from '../../controller/conditions.ts';
import { createdFrom, isObserved, revisionOf, type MemberPatch } from './template.ts';

export interface Note {
  reason: Reason;
  /** What is the case, and what you can do, in the member's own words. */
  message: string;
  advice: string;
}

/** The template may say what the operator has not written to the member yet, or may not write. */
export type Kept = 'foreign' | 'bare' | 'protected' | 'retained' | 'paused' | 'toProtect' | 'toRetain' | 'toDelay';

export interface Member {
  object: VirtualServer;
  name: string;
  /** Undefined if the name is not one that the set gives. */
  ordinal: number | undefined;
  createdAt: number;
  /** Of its spec, which an admission policy may have changed when it was created. */
  revision: string;
  /** Short name of the revision that a set created it from; undefined for an adopted member. */
  createdFrom: string | undefined;
  deleting: boolean;
  /** Since when the member is Ready (ms); undefined: it is not. */
  readyAt: number | undefined;
  /** How many servers may exist because of this object: its own, and each one that its record has lost. */
  slots: number;
  /** It needs you, because it is unknown what it ordered. */
  unresolved: Note | undefined;
  /** It has ordered nothing, and cannot until you act. */
  blocked: Note | undefined;
  /** What changed in the template besides what an order sends, and is not written to it yet. */
  update: MemberPatch | undefined;
  /** It holds no server, and no order that may create one. */
  holdsNothing: boolean;
  /** The operator is not done with the last change in place, or the server differs from spec. */
  changing: boolean;
  /** Why the server still differs from spec; undefined if the member does not tell. */
  change: Note | undefined;
  /** A change of its spec may stop the server. */
  mayStop: boolean;
  /** Why it is not Ready; undefined if the member reports no reason. */
  trouble: Note | undefined;
  /** The operator makes no calls for it. */
  paused: boolean;
  /** Why the set must not delete it. */
  kept: Kept | undefined;
  deleteFirst: boolean;
  /** Undefined if no server of it is known to run. */
  price: number | undefined;
}

export function memberOf(object: VirtualServer, ordinal: number | undefined, update?: MemberPatch): Member {
  const { metadata, spec, status } = object;
  const deleting = metadata.deletionTimestamp !== undefined;
  // The operator has written nothing since it let the object go.
  const conditions = isLetGo(object) ? [] : (status?.conditions ?? []);
  const ready = conditions.find(({ type }) => type === 'Ready');
  const records = recordsOf(object);
  const unresolved = unresolvedOf(object, records);
  const isEmpty = records.every((record) => phaseOf(record) === 'unordered');
  const holdsNothing = isEmpty && unresolved === undefined;
  const isStalled = conditions.some(({ type }) => type === 'Stalled');
  const change = conditions.find(({ type }) => type === 'ChangePending');
  const isBlocked = isStalled && holdsNothing && !deleting;
  return {
    object,
    name: metadata.name,
    ordinal,
    createdAt: Date.parse(metadata.creationTimestamp),
    revision: revisionOf(spec),
    createdFrom: createdFrom(object),
    deleting,
    readyAt: ready?.status === 'True' && !deleting ? Date.parse(ready.lastTransitionTime) : undefined,
    slots: 1 + orphansIn(records),
    unresolved,
    update,
    blocked: isBlocked ? noteOf(object, currentReason(conditions)) : undefined,
    holdsNothing,
    changing: !isObserved(object) || change !== undefined,
    change: noteOf(object, change?.reason),
    mayStop: spec.changePolicy === 'AllowStop',
    trouble: noteOf(object, currentReason(conditions)),
    paused: isPaused(object),
    kept: keptOf(object, records, { holdsNothing, update }),
    deleteFirst: isAnnotated(object, MEMBER_DELETE_FIRST_ANNOTATION),
    price: isPaidFor(object) ? status?.price : undefined,
  };
}

/** For which the set waits, and no other member goes in their place. */
const WAITS: ReadonlySet<Kept> = new Set(['foreign', 'bare', 'toDelay']);
export const isKeptByYou = ({ kept }: Member): boolean => kept !== undefined && !WAITS.has(kept);

/** True if the set may delete the member later without you. */
export const isKeptForNow = ({ kept }: Member): boolean => kept === 'bare' || kept === 'toDelay';

/** Deleted, the first two would be gone without a call to the provider, and nothing would name their servers anymore. */
function keptOf(
  object: VirtualServer,
  records: readonly Partial<ServerRecord>[],
  { holdsNothing, update }: Pick<Member, 'holdsNothing' | 'update'>,
): Member['kept'] {
  const { spec, metadata } = object;
  if (records.length === 0 && isOfAnother(object)) return 'foreign';
  if (!holdsNothing && metadata.finalizers?.includes(FINALIZER) !== true) return 'bare';
  if (spec.deletionProtection) return 'protected';
  if (spec.deletionPolicy === 'Retain') return 'retained';
  if (isPaused(object)) return 'paused';
  const { deletionProtection, deletionPolicy, deletionDelay }: MemberPatch['spec'] = update?.spec ?? {};
  if (deletionProtection === true) return 'toProtect';
  if (deletionPolicy === 'Retain') return 'toRetain';
  return isLonger(deletionDelay, spec.deletionDelay) ? 'toDelay' : undefined;
}

const isLonger = (delay: unknown, than = '0s'): boolean =>
  typeof delay === 'string' && durationMs(delay) > durationMs(than);

/** Why a member is not on its way to Ready; undefined if it is. */
export function troubleOf({ trouble }: Pick<Member, 'trouble'>): Note | undefined {
  return hasTrait(trouble?.reason, 'calm') ? undefined : trouble;
}

/** By what its records say; the message that Ready shows tells of it. */
function unresolvedOf(object: VirtualServer, records: readonly Partial<ServerRecord>[]): Note | undefined {
  const shown = noteOf(object, currentReason(object.status?.conditions));
  if (!isReadable(object, records)) return shown ?? { reason: 'RecordInvalid', message: '', advice: '' };
  const open = isReleased(object)
    ? undefined
    : records.map((record) => openReason(record, 'unresolved')).find((reason) => reason !== undefined);
  if (open !== undefined) return { message: '', advice: '', ...shown, reason: open as Reason };
  const orphaned = noteOf(object, 'OrphanedServer') ?? { reason: 'OrphanedServer', message: '', advice: '' };
  return orphansIn(records) > 0 ? orphaned : undefined;
}

/** The operator removes the annotation together with its finalizer, when it owes the object nothing more. */
const isReleased = (object: VirtualServer): boolean =>
  isLetGo(object) && object.metadata.annotations?.[RECORD_ANNOTATION] === undefined;

/** You may let a copy of another object start with a new record. */
const isToStartOver = ({ metadata: { annotations, uid } }: VirtualServer): boolean =>
  annotations?.[START_OVER_ANNOTATION] === uid;

/** Whether the record of an object without an own one was written for another object. */
function isOfAnother(object: VirtualServer): boolean {
  const parsed = parseRecord(object.metadata.annotations?.[RECORD_ANNOTATION]);
  const held = parsed.ok ? parsed.value : parsed.error.newer?.held;
  return held !== undefined && !isToStartOver(object);
}

/** Whether the records say what the object holds: they are its own, none is lost, and they do not contradict each other. */
function isReadable(object: VirtualServer, records: readonly Partial<ServerRecord>[]): boolean {
  const { metadata } = object;
  const text = metadata.annotations?.[RECORD_ANNOTATION];
  const isHeld = metadata.finalizers?.includes(FINALIZER) === true;
  if (records.length === 0) return text === undefined ? !isHeld : isToStartOver(object);
  if (!parseRecord(text).ok || records.some((record) => newerRecord(record) !== undefined)) return false;
  const [one, other] = records;
  const fields = one?.mode === other?.mode ? (['attempt', 'task', 'identifier'] as const) : [];
  return fields.every((field) => (one?.[field] ?? other?.[field]) === (other?.[field] ?? one?.[field]));
}

function noteOf({ status }: VirtualServer, name: string | undefined): Note | undefined {
  if (name === undefined || !Object.hasOwn(REASONS, name)) return undefined;
  const found = status?.conditions?.find(({ reason }) => reason === name);
  const message = found?.summary ?? found?.message ?? '';
  return { reason: name as Reason, message, advice: found === undefined ? '' : adviceOf(found) };
}

/** The object's own record, from both places; as much of it as can be read. */
function recordsOf({ metadata, status }: VirtualServer): Partial<ServerRecord>[] {
  const parsed = parseRecord(metadata.annotations?.[RECORD_ANNOTATION]);
  const annotated = parsed.ok ? parsed.value : parsed.error.newer?.held;
  const records: (Partial<ServerRecord> | undefined)[] = [annotated, mirrorIn(status)];
  return records.filter((record) => record !== undefined).filter(({ owner }) => owner === metadata.uid);
}

function orphansIn(records: readonly Partial<ServerRecord>[]): number {
  const orphans = records.flatMap((record) => record.orphans ?? []);
  return new Set(orphans.map(({ attempt, task, identifier }) => JSON.stringify([attempt, task, identifier]))).size;
}
