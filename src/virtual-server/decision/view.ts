/** One object and everything known about it, with small questions that several checks share. */
import type { ReadyReason } from '../../api/conditions.ts';
import { HAND_OVER_ANNOTATION } from '../../api/names.ts';
import { isNamed, phaseOf, type Claimed, type Named, type PhaseName, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import type { Missing } from '../../accounts/decision/failure.ts';
import type { Result } from '../../base/result.ts';
import { cut } from '../../base/text.ts';
import { adoptionOf, inputsOf, takerOf, type Adoption } from './inputs.ts';
import { viewRecord, type RecordView } from './known-record.ts';
import { wasRead } from './server-status.ts';
import { endOf, withEvidence, type Evidence, type Memo, type Planned } from './memo.ts';
import { ON_CHANGE } from './next.ts';
import type { AttemptNote, HandOver, Operation, Others, Park, Timing } from './types.ts';

export interface View {
  object: VirtualServer;
  record: RecordView;
  /** The object's own record; undefined if it has none, e.g. if it is new or a copy. */
  own: ServerRecord | undefined;
  deleting: boolean;
  inputs: string;
  adoption: Adoption;
  /** ms since the epoch. */
  now: number;
  /** ms on a clock that only moves forward. */
  monotonic: number;
  /** ms since the epoch by the API server's clock, if known. */
  apiServerNow?: number | undefined;
  memo: Memo;
  notes: readonly AttemptNote[];
  /** What other objects hold, as far as it may concern this one. */
  others: Others;
  timing: Timing;
  /** How long the last tasks of this product took here, in ascending order (ms). */
  taskTimes: readonly number[];
  /** Why the journal cannot be written; nothing is ordered without it. Undefined if it can. */
  journalProblem?: string | undefined;
  /** A number in [0, 1) for jitter. */
  jitter: number;
  handOver: HandOver;
  /** The API key of this visit; undefined: not read yet. */
  key?: Result<{ account: string; note?: string | undefined }, Missing> | undefined;
}

/** What the object itself does not say. */
export type Circumstances = Omit<View, 'object' | 'record' | 'own' | 'deleting' | 'inputs' | 'adoption'>;

/** For an object with its own record. */
export interface OwnView extends View {
  own: ServerRecord;
}

/** The same version of the object, with a newer memo. */
export function withMemo<V extends View>(view: V, memo: Memo): V {
  return { ...view, memo };
}

export function viewOf(object: VirtualServer, circumstances: Circumstances): View {
  const record = viewRecord(object, circumstances.notes);
  return {
    ...circumstances,
    object,
    record,
    own: record.kind === 'own' ? withTask(record.record, circumstances.memo) : undefined,
    deleting: object.metadata.deletionTimestamp !== undefined,
    inputs: inputsOf(object),
    adoption: adoptionOf(object),
  };
}

/** The annotation does not have the task of a named order: a process that does not know it reads the server instead. */
function withTask(own: ServerRecord, { evidence: { sent } }: Memo): ServerRecord {
  const { task } = sent?.attempt === own.attempt ? (sent ?? {}) : {};
  return task === undefined || !isNamed(own) || own.task === task ? own : { ...own, task };
}

/** `subject`: what the reason is about, for programs (see the schema of conditions). */
export function park(
  reason: ReadyReason,
  message: string,
  when: NonNullable<Park['when']> = ON_CHANGE,
  subject?: string,
): Operation {
  return { type: 'park', verdict: { reason, message, subject }, when };
}

/** `wait` while this operation is planned for later and the inputs have not changed since. */
export function notDue(view: View, operation: Planned): Operation | undefined {
  const { memo, now } = view;
  if (memo.plan?.operation !== operation || memo.plan.inputs !== view.inputs) return undefined;
  const { from, at, verdict } = memo.plan;
  if (now < from || now >= at) return undefined;
  return { type: 'wait', when: { afterMs: at - now }, verdict };
}

/** True once the task has ended: it answered 303, or this very server was read, or counts as gone. */
export function taskIsOver({ object, own, memo }: OwnView): boolean {
  if (own.identifier === undefined) return false;
  if (endOf(memo, own.identifier)?.state === 'gone') return true;
  const { task } = memo.evidence;
  return wasRead(object, own) || (task?.state === 'over' && task.identifier === own.identifier);
}

/** The account of the key in use; undefined if there is no key. */
export const accountOf = ({ key }: Pick<View, 'key'>): string | undefined =>
  key?.ok === true ? key.value.account : undefined;

/** Why the server may not be cancelled before its object is deleted; undefined if it may. */
export function cancelIsForbidden(object: VirtualServer): string | undefined {
  const { spec } = object;
  const taker = takerOf(object);
  if (taker !== undefined) return `annotation ${HAND_OVER_ANNOTATION} names ${cut(taker, 64)}`;
  if (spec.deletionProtection) return 'spec.deletionProtection is true';
  return spec.deletionPolicy === 'Retain' ? 'spec.deletionPolicy is Retain' : undefined;
}

/** Whether a deletion waits until the protection is lifted. A server to retain needs none. */
export const isProtected = ({ deletionProtection, deletionPolicy }: VirtualServerSpec): boolean =>
  deletionProtection && deletionPolicy !== 'Retain';

/** True while the claim is so new to this process that the one that wrote it may still be sending the order. */
export const isNewClaim = (record: Claimed | Named, view: Seen): boolean => untilSent(record, view) > 0;

/** How long until no process can be sending the order of the claim (ms). No clock of another process counts. */
export const untilSent = (record: Claimed | Named, view: Seen): number =>
  Math.max(0, claimOf(record, view).since + view.timing.takeoverMs - view.monotonic);

type Seen = Pick<View, 'memo' | 'monotonic' | 'timing'>;

/** Whether a process may be sending the order of such a record. */
const HAS_CLAIM: Record<PhaseName, boolean> = {
  unordered: false,
  claimed: true,
  following: false,
  named: true,
  held: false,
};

export const hasClaim = (record: ServerRecord): record is Claimed | Named => HAS_CLAIM[phaseOf(record)];

/** The memo that knows since when this process has seen the claim of the record; the same memo if it does, or if there is none. */
export function withClaim(view: View): Memo {
  const { own, memo } = view;
  if (own === undefined || !hasClaim(own)) return memo;
  const claim = claimOf(own, view);
  return claim === memo.evidence.claim ? memo : withEvidence(memo, { claim });
}

function claimOf(record: Claimed | Named, { memo, monotonic }: Seen): Claim {
  const { claim } = memo.evidence;
  const found = claimSince(record, monotonic);
  return claim?.attempt === found.attempt && claim.at === found.at ? claim : found;
}

/** The claim of this record, as this process remembers it. `since`: on the monotonic clock (ms). */
export function claimSince(record: Claimed | Named, since: number): Claim {
  return { attempt: record.attempt, at: isNamed(record) ? record.sent.at : undefined, since };
}

type Claim = NonNullable<Evidence['claim']>;

const OVERDUE_MS = 60 * 60_000;

/** True if the task of this record has run for more than an hour. */
export function isOverdue(record: ServerRecord, now: number): boolean {
  return record.attemptedAt !== undefined && now - Date.parse(record.attemptedAt) > OVERDUE_MS;
}
