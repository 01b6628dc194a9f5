/** The ways a step ends: wait until a time, park with a reason, retry later, or continue at once. Pure. */
import { hasTrait, type ReadyReason } from '../../api/conditions.ts';
import { NOT_CREATED_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../api/names.ts';
import { standingReason } from '../../api/open.ts';
import { isNamed, mirrorIn, type ServerRecord } from '../../api/record.ts';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { capitalized, ended } from '../../base/text.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { backoffMs, callProblem, keyPauseMs, reasonOf, type Missing } from '../../accounts/decision/failure.ts';
import type { ProviderError, ResponseError } from '../../provider/error.ts';
import { changedEvent } from './change-event.ts';
import { compose, eventsOf, type Parts } from './compose.ts';
import { withOpen } from './open.ts';
import { untilDelayEnd } from './delay.ts';
import { untilExpiry } from './expiry.ts';
import { saysGone, saysNotCreated, takerOf } from './inputs.ts';
import {
  wasSent,
  withEvidence,
  withGone,
  withoutGone,
  withoutPlan,
  type Calls,
  type Memo,
  type Planned,
} from './memo.ts';
import { atLatest, NOW, ON_CHANGE, withPlan, type Pause } from './next.ts';
import type { Operation, Outcome, Park } from './types.ts';
import type { View } from './view.ts';

/**
 * Ends the visit: the status shows `verdict`. The next visit comes as planned, or when the server expires or its delay ends.
 */
export function endVisit(at: View, parts: Parts, when: Pause, memo: Memo = at.memo, record?: ServerRecord): Outcome {
  const { object, own } = at;
  const isAsked = wasSent(memo, parts.record?.identifier);
  const known = own && parts.record && parts.verdict && withOpen(parts.record, parts.verdict, at.now);
  const isOpened = known !== undefined && known !== parts.record;
  const shown = isOpened ? { ...parts, record: known } : parts;
  const noted = withWordNote(withKeyNote(shown, at), at);
  const status = compose(object, { ...noted, isAsked }, at.now);
  const changed = changedEvent(own, status);
  const events = eventsOf(object.status, status);
  return {
    record: isOpened ? known : record,
    status,
    memo: {
      ...withoutPlan(memo),
      calls: callsOf(when.operation, parts),
      ...(parts.verdict?.reason !== 'Creating' && { toldAt: undefined }),
    },
    events: changed === undefined ? events : [...events, changed],
    when: atLatest(when, untilEnd(at, parts.record)),
    shows: noted.verdict,
  };
}

/** How often a visit that ends like this is repeated with calls. */
function callsOf(planned: Planned | undefined, { verdict, connection }: Parts): Calls {
  if (planned === 'follow') return hasTrait(verdict?.reason, 'aboutKey') ? 'none' : 'poll';
  if (planned !== 'look' || hasTrait(verdict?.reason, 'aboutKey')) return 'none';
  return connection?.reason === 'ConnectionSecretFailed' || hasTrait(verdict?.reason, 'readAtPoll') ? 'poll' : 'resync';
}

/** ms until time alone changes what the operator may do: the server expires, or the delay of a deletion ends. */
function untilEnd(at: View, record: ServerRecord | undefined): number {
  return Math.min(untilExpiry(at, record), untilDelayEnd(at, record));
}

/** Adds a note to the verdict while a key other than the Secret's is in use, since that cannot last. */
function withKeyNote(parts: Parts, { key }: View): Parts {
  if (parts.verdict === undefined || key?.ok !== true || key.value.note === undefined) return parts;
  return { ...parts, verdict: { ...parts.verdict, message: `${ended(parts.verdict.message)} ${key.value.note}` } };
}

/** Says what your word about an order under an identifier waits for. */
function withWordNote(parts: Parts, { object }: View): Parts {
  const { record, verdict } = parts;
  if (verdict === undefined || record === undefined || !isNamed(record)) return parts;
  const gone = saysGone(object, record) ? SERVER_GONE_ANNOTATION : undefined;
  const word = saysNotCreated(object, record) ? NOT_CREATED_ANNOTATION : gone;
  if (word === undefined) return parts;
  const until = `the provider denies server ${record.identifier}, and no request of its order can be on its way`;
  return {
    ...parts,
    verdict: { ...verdict, message: `${ended(verdict.message)} Annotation ${word} counts only once ${until}` },
  };
}

/** Spreads a pause over its last tenth, so that objects created together do not stay in step. */
export function jittered(ms: number, { jitter }: Pick<View, 'jitter'>): number {
  return Math.round(ms * (0.9 + 0.1 * jitter));
}

/** Continues at once: the operator decides again. The status does not change yet. */
export function goOn(memo: Memo, more: Pick<Outcome, 'record'> = {}): Outcome {
  return { memo, events: [], when: NOW, ...more };
}

/** Retries a failed operation after a growing pause, or after the time that the provider asks for. */
export function retryLater(at: View, operation: Planned, parts: Parts, atLeastMs = 0, record?: ServerRecord): Outcome {
  const { memo, jitter, timing } = at;
  const failures = memo.failures + 1;
  // After you fix a Secret, the operator should not wait for the longest pause.
  const afterMs = hasTrait(parts.verdict?.reason, 'aboutKey')
    ? Math.min(timing.pollMs, keyPauseMs(failures, jitter, atLeastMs))
    : backoffMs(failures, jitter, atLeastMs);
  return endVisit(at, parts, { operation, afterMs }, { ...memo, failures }, record);
}

/** The record to mirror: the object's own, or the present mirror if annotation and mirror cannot be merged. */
export function recordToMirror({ object, own }: View): ServerRecord | undefined {
  return own ?? mirrorIn(object.status);
}

/**
 * `verdict`: what this process has found. An observer, or an operator that has ended, may have written another one since. It is
 * replaced, but not at once each time: two writers of one status would fight.
 */
export function waited(at: View, when: Pause, verdict?: Verdict): Outcome {
  const { object, memo, monotonic, timing } = at;
  const record = recordToMirror(at);
  const idle = { memo: at.memo, events: [], when: atLatest(when, untilEnd(at, record)) };
  if (object.metadata.deletionTimestamp !== undefined && object.metadata.finalizers === undefined) return idle;
  const kept = compose(object, { record }, at.now);
  const status = verdict === undefined ? kept : compose(object, { record, verdict }, at.now);
  if (memo.plan === undefined || isDeepEqual(status, kept))
    return { ...idle, status: kept, events: eventsOf(object.status, kept) };
  const leftMs = (memo.plan.restoredAt ?? -Infinity) + timing.pollMs - monotonic;
  if (leftMs > 0) return { ...idle, when: atLatest(idle.when, leftMs) };
  const restored = { ...memo, plan: { ...memo.plan, restoredAt: monotonic } };
  return { ...idle, memo: restored, status, events: eventsOf(object.status, status) };
}

/** `more`: what else changes in the status. */
export function parked(at: View, { verdict, when = ON_CHANGE }: Park, more: Omit<Parts, 'record'> = {}): Outcome {
  const parts = { record: recordToMirror(at), ...more, verdict };
  if (!('afterMs' in when)) return retryLater(at, when.operation, parts, when.atLeastMs);
  const next = endVisit(at, parts, when);
  // If the object stays for another reason, the absence of its server has to be proven again.
  return { ...next, memo: withoutGone(next.memo) };
}

/** There is no key to make calls with, so the operation has to wait. */
export function withoutKey(at: View, operation: Planned, { reason, message, advice, retryAfterMs }: Missing): Outcome {
  const verdict = { reason: doubtShown(at) ?? reason, message, advice };
  const after = retryAfterMs === undefined ? {} : { afterMs: retryAfterMs };
  return parked(at, { verdict, when: { operation, ...after } });
}

/** An order lacks something, so it has to wait. */
export function lacking(at: View, { reason, message, subject, retryAfterMs }: Missing): Outcome {
  const verdict = { reason, message, ...(subject !== undefined && { subject }) };
  return parked(at, { verdict, when: { operation: 'order', atLeastMs: retryAfterMs } });
}

/** A doubt is more important than the call that has just failed. */
export const doubtShown = ({ own }: View): ReadyReason | undefined => {
  const reason = standingReason(own);
  return hasTrait(reason, 'doubt') ? (reason as ReadyReason) : undefined;
};

/** A call of the operation failed. `record`: the new one, if it has changed. */
export function failed(at: View, operation: Planned, error: ProviderError, record?: ServerRecord): Outcome {
  const verdict: Verdict = {
    reason: doubtShown(at) ?? reasonOf(error),
    message: capitalized(callProblem(error)),
  };
  const parts = { record: record ?? recordToMirror(at), verdict };
  return { ...retryLater(at, operation, parts, error.retryAfterMs, record), error };
}

/** As the provider answers for a server that is still being created. */
export const saysExists = (error: ProviderError | ResponseError): boolean => 'status' in error && error.status === 409;

/**
 * Your annotation that the server is gone is enough if the provider cannot be asked. Undefined if there is none, or if the
 * object is not being deleted, or is to hand the server over. `error`: of the call about the server.
 */
export function goneUnasked({ object, own, deleting, memo }: View, error?: ProviderError): Outcome | undefined {
  if (error !== undefined && saysExists(error)) return undefined;
  if (!deleting || own?.identifier === undefined || !saysGone(object, own) || takerOf(object) !== undefined)
    return undefined;
  return goOn(withGone(memo, own.identifier));
}

/** What you say of an order waits until the operator has asked the provider again, and no longer. */
export function withAsked(at: View, operation: Operation, next: Outcome): Outcome {
  const { object, inputs } = at;
  if (!ABOUT_SERVER.has(operation.type)) return next;
  const record = mirrorIn(object.status);
  const isSaid =
    record !== undefined && (saysNotCreated(object, record) || (isNamed(record) && saysGone(object, record)));
  const { asked, denials: before } = at.memo.evidence;
  const { denials } = next.memo.evidence;
  const isOld = denials !== undefined && denials === before;
  const isDenied = !isOld && denials?.inputs === inputs && before?.inputs !== inputs;
  const isFirst = isSaid && (asked !== inputs || isDenied);
  const memo = withEvidence(next.memo, { asked: inputs, denials: isOld ? { ...denials, inputs: undefined } : denials });
  return isFirst
    ? { ...next, when: NOW, memo: withPlan(memo, next.when, at.now, inputs, next.shows) }
    : { ...next, memo };
}

/** Operations that ask the provider about a task or a server, or had no key to ask with. */
const ABOUT_SERVER = new Set<Operation['type']>(['follow', 'look', 'cancel', 'repeat']);
