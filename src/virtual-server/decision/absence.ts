/**
 * A server that the provider denies, or shows as another one. A single denial proves nothing: a read replica may lag, an
 * endpoint may err. Absence needs several denials spread over a grace period, with the account of the record, non-empty
 * lists, and no 200 in between. Where the provider lists the account's servers, the list has to confirm each denial. The
 * counts live in memory: a restart begins again, which only takes longer. Pure.
 */
import { durationText, timestamp } from '../../base/duration.ts';
import { cut } from '../../base/text.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { isNamed, type ServerRecord, type Held } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isProvisioned, wasRead } from './server-status.ts';
import {
  isGone as isKnownGone,
  wasRequested,
  withEvidence,
  withGone,
  withoutDenials,
  withoutFailures,
  withoutEnd,
  withoutGone,
  answeredCancel,
  type Denials,
  type Memo,
  type Unlisted,
} from './memo.ts';
import type { Denial, Outcome } from './types.ts';
import { SHOWN_CANCELLED, LISTED, NO_OTHER, RESTORE_KEY, YET_LISTED, denialText } from './sentences.ts';
import { isToExpire } from './expiry.ts';
import type { Unrecognized } from './identity.ts';
import { saysGone, takerOf } from './inputs.ts';
import { withoutOpen } from './open.ts';
import { isSentAgain } from './named.ts';
import { goOn, jittered, endVisit, retryLater } from './outcome.ts';
import { cancelIsForbidden, withMemo, type View } from './view.ts';

const NEEDED = 3;
/** How long a gap is at least, however short the grace period is. */
const LEAST_GAP_MS = 10_000;
/** If the list of servers confirms each of them. */
const NEEDED_UNLISTED = 2;
/** So many grace periods, if the server was never read with 200 and may be slow to appear, or if the list of servers is empty. */
export const UNSEEN_PERIODS = 12;

/**
 * Adds one denial of `what` (a server or a task) to the denials in the memo. Denials that come too fast count as one. A
 * gap longer than the grace period restarts the count, since it may hide a 200. One that a busy machine causes is none.
 */
export function denied({ memo, monotonic, timing, inputs }: View, what: string, unlisted: Unlisted = 'no'): Denials {
  const before = memo.evidence.denials?.of === what ? memo.evidence.denials : undefined;
  const isStale = before !== undefined && monotonic - before.lastAt > Math.max(timing.absenceMs, LEAST_GAP_MS);
  const lastAt = monotonic;
  if (before === undefined || isStale)
    return { of: what, since: monotonic, counted: 1, countedAt: monotonic, lastAt, unlisted, inputs };
  if (monotonic - before.countedAt < timing.absenceMs / 4) return { ...before, lastAt, inputs };
  const least = (['no', 'perhaps', 'yes'] as const).find((each) => each === before.unlisted || each === unlisted);
  return { ...before, counted: before.counted + 1, countedAt: monotonic, lastAt, unlisted: least ?? 'no', inputs };
}

/** How long the denials of the record's server have to last (ms). */
export function graceOf({ object, memo, timing }: View, record: ServerRecord, denials: Denials | undefined): number {
  // A DELETE whose answer was lost explains why the server is gone. So does a failed order, if the list confirms it.
  const hasFailed = record.createFailure !== undefined && denials?.unlisted === 'yes';
  const isExplained = (wasRequested(memo, record.identifier) || hasFailed) && !mayComeLate(memo, record);
  // A provider that hides all servers of an account for a while, while it is suspended or by mistake, answers an empty list.
  const isHidden = denials?.unlisted === 'perhaps';
  const isClear = (wasRead(object, record) || isExplained) && !isHidden;
  return timing.absenceMs * (isClear ? 1 : UNSEEN_PERIODS);
}

/**
 * A proxy may hold back a request of this order, whatever became of a later request, or of a DELETE. Not once this process has
 * seen the server.
 */
function mayComeLate({ evidence: { task } }: Memo, record: ServerRecord): boolean {
  if (!isNamed(record) || (task?.state === 'over' && task.identifier === record.identifier)) return false;
  return record.task === undefined || isSentAgain(record);
}

export function isProven(denials: Denials, graceMs: number, { monotonic }: View): boolean {
  return denials.counted >= neededFor(denials) && monotonic - denials.since >= graceMs;
}

const neededFor = ({ unlisted }: Denials): number => (unlisted === 'yes' ? NEEDED_UNLISTED : NEEDED);

/** How long until the next check (ms). */
export function pauseOf({ since }: Denials, graceMs: number, { monotonic, timing }: View): number {
  const left = since + graceMs - monotonic;
  // The pause grows, but stays short enough that no gap restarts the count.
  const pause = Math.min(Math.max(timing.pollMs, (monotonic - since) / 8), timing.absenceMs / 2);
  return left > 0 ? Math.min(left, pause) : pause;
}

/** The verdict while the absence is unproven. `said`: what the provider answers. `pauseMs`: until the next check. */
export function unprovenVerdict(
  denials: Denials,
  said: string,
  graceMs: number,
  pauseMs: number,
  { now, monotonic }: View,
): Verdict {
  const earliest = timestamp(now + Math.max(0, denials.since + graceMs - monotonic));
  const needed = neededFor(denials);
  return {
    reason: 'AbsenceUnproven',
    message:
      `The provider answers that ${said}, which may be an error of the provider. The operator has counted ` +
      `${Math.min(denials.counted, needed)} of at least ${needed} such answers, and believes them at ${earliest} at the earliest. ` +
      `Next check in ${durationText(pauseMs)} (at ${timestamp(now + pauseMs)})`,
  };
}

function inUseVerdict(identifier: string, { object }: View, goes: boolean): Verdict {
  const isToCancel = goes && cancelIsForbidden(object) === undefined;
  const then = isToCancel ? ', and cancels it as soon as the provider shows it' : '';
  return {
    reason: 'AbsenceUnproven',
    message:
      `The provider does not show server ${identifier}, but has answered that its identifier is in use: the server may still be on its ` +
      `way. The operator keeps checking${then}`,
  };
}

/** True if the object needs its server no longer. One that names a taker stays without its server, and tells you. */
function isEnding(view: View, record: ServerRecord): boolean {
  if (takerOf(view.object) !== undefined) return false;
  return view.deleting || isToExpire(view, record);
}

/** You say that the server is gone, and the provider does not say otherwise. A list may keep a server that it shows as cancelled. */
const isSaidGone = ({ object }: View, record: ServerRecord, { detail, isCancelled }: Denial): boolean =>
  saysGone(object, record) && (detail !== LISTED || isCancelled === true);

/** Applies your annotation when the provider does not show the server; undefined if there is none for this server. */
export function goneByAnnotation(at: View, record: ServerRecord, denial: Denial): Outcome | undefined {
  if (record.identifier === undefined || !isSaidGone(at, record, denial)) return undefined;
  const goes = isEnding(at, record);
  return goes ? goOn(withGone(at.memo, record.identifier)) : sealed(at, record, jittered(at.timing.resyncMs, at));
}

/** Records the absence of the server, so that another server with its identifier is not mistaken for it later. */
export function sealed(at: View, record: Held, afterMs: number): Outcome {
  const { missingAt = timestamp(at.now) } = record;
  // What was open is answered: there is no server.
  const gone = record.missingAt === undefined ? { ...withoutOpen(record), missingAt } : record;
  const plan = { operation: 'look', afterMs } as const;
  const changed = gone === record ? undefined : gone;
  const parts = { record: gone, verdict: missingVerdict(at.object, gone) };
  return endVisit(at, parts, plan, withoutFailures(at.memo), changed);
}

function missingVerdict(
  object: VirtualServer,
  { identifier = '', missingAt = '' }: ServerRecord,
  why?: string,
): Verdict {
  const taker = takerOf(object);
  if (taker !== undefined && object.metadata.deletionTimestamp !== undefined) {
    const message =
      `The provider no longer has server ${identifier} (missing since ${missingAt}), so it cannot be handed over to ` +
      `${cut(taker, 64)}. The operator orders nothing in its place unasked`;
    return { reason: 'HandOverRefused', message };
  }
  const other = why === undefined ? '' : `A server ${identifier} exists again, but it is a different server: ${why}. `;
  return {
    reason: 'ServerMissing',
    message:
      `The provider no longer has server ${identifier} (missing since ${missingAt}). If you did not cancel it, look for it in the provider's control ` +
      `panel. If it is there, keep this object, and check the API key and the base URL; the operator keeps checking. ` +
      `${other}${NO_OTHER}`,
  };
}

/** The memo for a server that exists: without its absence, and without another server in its place. */
export function recognized(memo: Memo): Memo {
  const { task } = memo.evidence;
  return withEvidence(withoutEnd(withoutDenials(memo)), {
    unrecognized: undefined,
    task: task?.state === 'silent' ? undefined : task,
  });
}

/** The operator shows and uses nothing of a server that may be another one. */
export function notRecognized(
  before: View,
  record: Held,
  operation: LookOperation,
  { isOther, why, accepts }: Unrecognized,
): Outcome {
  const { identifier } = record;
  const at = withMemo(before, withEvidence(before.memo, { unrecognized: identifier }));
  const { object } = at;
  // Either the object's server had counted as gone and another server got its identifier, or your annotation says that
  // it is gone.
  const isGone = (record.missingAt !== undefined && isOther) || saysGone(object, record);
  if (isGone && isEnding(at, record)) return goOn(withGone(at.memo, identifier));
  const pause = isProvisioned(object.status) ? at.timing.resyncMs : at.timing.pollMs;
  const plan = { operation, afterMs: jittered(pause, at) };
  const memo = withoutFailures(at.memo);
  if (record.missingAt !== undefined && isOther)
    return endVisit(at, { record, verdict: missingVerdict(object, record, why) }, plan, memo);
  if (isGone) return sealed(at, record, plan.afterMs);
  const message =
    `The provider shows a server ${identifier}, but it may not be the server of this object: ${why}. ${RESTORE_KEY}. ` +
    "Otherwise, look at it in the provider's control panel";
  const verdict = { reason: 'IdentityUnproven', message, subject: accepts } as const;
  return endVisit(at, { record, verdict }, plan, memo);
}

/** Each starts by reading the server. */
type LookOperation = 'look' | 'cancel' | 'order';

/**
 * The provider denies the server, in the answer to a read or a DELETE: one hint, and proof together with enough others. Your
 * annotation is proof as well, since only you can check with the provider in another way.
 */
export function absent(at: View, record: Held, operation: LookOperation, denial: Denial): Outcome {
  const { object } = at;
  const { identifier } = record;
  const goes = isEnding(at, record);
  const denials = denial.counts ? denied(at, `server ${identifier}`, denial.unlisted) : at.memo.evidence.denials;
  const memo = withEvidence(withoutFailures(at.memo), { denials });
  if (goes && denial.counts && answeredCancel(memo, record.identifier) !== undefined)
    return goOn(withEvidence(memo, { end: { state: 'confirmed', identifier } }));
  const grace = graceOf(at, record, denials);
  const isKnown = answeredCancel(memo, identifier) !== undefined || isKnownGone(memo, identifier);
  // Its identifier is in use, so it may be on its way for longer than any grace.
  const mayCome = isNamed(record) && record.sent.inUse === true;
  const isProvenNow = isKnown || (!mayCome && denials && isProven(denials, grace, at));
  const isGone = isSaidGone(at, record, denial) || (denial.counts && isProvenNow);
  if (isGone === true && goes) return goOn(withGone(memo, identifier));
  const resync = isProvisioned(object.status) ? at.timing.resyncMs : at.timing.pollMs;
  if (record.missingAt !== undefined && !goes) {
    const plan = { operation, afterMs: jittered(resync, at) };
    return endVisit(at, { record, verdict: missingVerdict(object, record) }, plan, memo);
  }
  if (isGone === true) return sealed(withMemo(at, withoutGone(memo)), record, jittered(resync, at));
  if (!denial.counts || denials === undefined) {
    const pause = goes ? at.timing.pollMs : resync;
    const situation = denial.isCancelled
      ? denialText(identifier, true)
      : `Server ${identifier} is not visible with this API key`;
    const message = `${situation}, which does not prove that it is gone: ${denial.detail}. The operator keeps checking`;
    const subject = denial.isCancelled ? SHOWN_CANCELLED : denial.detail === LISTED ? YET_LISTED : undefined;
    const verdict = { reason: 'ServerNotVisible', message, subject } as const;
    return retryLater(at, operation, { record, verdict }, pause);
  }
  const afterMs = pauseOf(denials, grace, at);
  const verdict = mayCome
    ? inUseVerdict(identifier, at, goes)
    : unprovenVerdict(
        denials,
        `server ${identifier} ${denial.isCancelled ? 'is cancelled' : 'does not exist'}`,
        grace,
        afterMs,
        at,
      );
  return endVisit(at, { record, verdict }, { operation, afterMs }, memo);
}
