/** What an outcome means for one object: record, status, Events, and when to check again. Pure. */
import { timestamp } from '../../base/timestamp.ts';
import { eventOf, type Verdict } from '../../controller/conditions.ts';
import type { Reason } from '../../api/conditions.ts';
import { unknownIn, type ServerRecord } from '../../api/record.ts';
import { capitalized } from '../../base/text.ts';
import { withoutDenials } from './absence.ts';
import { compose, eventsOf } from './compose.ts';
import { heard } from './confirmation.ts';
import { connectionCondition } from './connection.ts';
import { callProblem, reasonOf } from '../../accounts/decision/failure.ts';
import { untilExpiry } from './expiry.ts';
import { orphanMessage, saysGone, saysNotCreated } from './inputs.ts';
import { goOn, rest, retryLater } from './settle/next.ts';
import { newRecord } from './record.ts';
import { settleCreate } from './settle/create.ts';
import { settleAdoption, settleDelete, settleServer } from './settle/server.ts';
import { settleTask } from './settle/task.ts';
import type { Action, Memo, Next, Outcome, RecordChange } from './types.ts';
import { firstSeen, isOverdue, withMemo, type View } from './view.ts';
import { goneAdvice, replaceAdvice, resolveAdvice } from './words.ts';

/** `at`: the version of the object that the action was decided on, with the current facts. */
export function settle(at: View, action: Action, outcome: Outcome): Next {
  const next = settleOne(at, action, outcome);
  const { object, facts, inputs: looked } = at;
  const about = action.type === 'park' ? action.retry : action.type;
  if (!LOOKS.has(about)) return next;
  // A `not-created` annotation waits until the operator has asked the provider again, and no longer.
  const { record } = object.status ?? {};
  const again = next.again || (facts.memo.looked !== looked && record !== undefined && saysNotCreated(object, record));
  return { ...next, again, memo: { ...next.memo, looked } };
}

/** Actions that ask the provider about a task or a server. A park in place of one had no key to ask with. */
const LOOKS = new Set<Action['type'] | undefined>(['pollTask', 'readServer', 'deleteServer']);

function settleOne(at: View, action: Action, outcome: Outcome): Next {
  if (outcome.type === 'failed') return failed(at, action, outcome);
  switch (action.type) {
    case 'wait':
      return settleWait(at, action.afterMs);
    case 'park':
      return settlePark(at, action, outcome);
    case 'record':
      return settleRecord(at, action.record, action.why);
    case 'claim':
      if (outcome.type === 'minted') return settleClaim(at, action, outcome.attempt);
      break;
    case 'create':
      if (outcome.type === 'sent') return settleCreate(at, action.record, outcome.result);
      break;
    case 'adopt':
      return settleAdoption(at, action, outcome);
    case 'pollTask':
      return settleTask(at, action.record, outcome);
    case 'readServer':
      return settleServer(at, action, outcome);
    case 'deleteServer':
      return settleDelete(at, action, outcome);
    case 'release':
      return settleRelease(at, action);
    case 'gather':
      break;
  }
  throw new Error(`outcome ${outcome.type} does not belong to action ${action.type}`);
}

/** The record to mirror: the object's own, or the present mirror if annotation and mirror cannot be merged. */
function recordOf({ object, own }: View): ServerRecord | undefined {
  return own ?? object.status?.record;
}

function failed(at: View, action: Action, { error, cancelAsked, said }: Extract<Outcome, { type: 'failed' }>): Next {
  const { object, facts, deleting } = at;
  const record = recordOf(at);
  const isAbout = action.type === 'readServer' || action.type === 'deleteServer' || action.type === 'pollTask';
  if (isAbout && deleting && record?.identifier !== undefined && saysGone(object, record))
    return goOn({ ...facts.memo, gone: record.identifier });
  const verdict: Verdict = {
    reason: reasonOf(error),
    message: capitalized(callProblem(error, adviceOf(at, action, record))),
  };
  const isAsked = action.type === 'deleteServer' && cancelAsked === true;
  const isAnswered = action.type === 'deleteServer' && said !== undefined;
  // The server was shown right before the DELETE, and denials count only without a 200 in between.
  const isShown = action.type === 'deleteServer' && action.leave.ok && action.leave.shown.type === 'server';
  const memo = {
    ...(isShown ? withoutDenials(facts.memo) : facts.memo),
    ...(isAsked && { cancelAsked: action.identifier }),
    ...(isAnswered && { cancelAnswered: heard(facts, action.identifier, said) }),
  };
  return retryLater(withMemo(at, memo), action.type, { record, verdict }, error.retryAfterMs);
}

/** What you can do if a call keeps failing. */
function adviceOf({ object, facts, deleting }: View, action: Action, record: ServerRecord | undefined): string {
  if (record === undefined) return '';
  if (action.type === 'pollTask' && isOverdue(record, facts.now)) return resolveAdvice(object, record);
  const { identifier } = record;
  if (action.type !== 'deleteServer' || !deleting || identifier === undefined) return '';
  return goneAdvice(object, identifier);
}

function settleWait(at: View, afterMs: number | undefined): Next {
  const { object, facts } = at;
  const record = recordOf(at);
  const requeueAfterMs = Math.min(afterMs ?? Infinity, untilExpiry(object, record, facts));
  const idle = {
    memo: facts.memo,
    events: [],
    again: false,
    ...(Number.isFinite(requeueAfterMs) && { requeueAfterMs }),
  };
  if (object.metadata.deletionTimestamp !== undefined && object.metadata.finalizers === undefined) return idle;
  const status = compose(object, { record }, facts.now);
  return { ...idle, status, events: eventsOf(object.status, status) };
}

function settlePark(at: View, action: Extract<Action, { type: 'park' }>, outcome: Outcome): Next {
  const { verdict, retry, afterMs, atLeastMs } = action;
  const connection = outcome.type === 'done' ? connectionCondition(at.object, outcome.connection) : undefined;
  const parts = { record: recordOf(at), verdict, ...(action.empties === true && { fields: {}, connection }) };
  if (connection !== undefined) return retryLater(at, 'park', parts);
  if (retry !== undefined && afterMs === undefined) return retryLater(at, retry, parts, atLeastMs);
  const next = rest(at, parts, retry === undefined || afterMs === undefined ? undefined : { action: retry, afterMs });
  // If the object stays for another reason, the absence of its server has to be proven again.
  const { gone: _gone, ...rested } = next.memo;
  const memo = rememberForeign(rested, at, verdict);
  return {
    ...next,
    memo,
    ...(afterMs !== undefined && { requeueAfterMs: Math.min(afterMs, next.requeueAfterMs ?? afterMs) }),
  };
}

/** The wait for another process's create starts when its attempt was first seen here. */
function rememberForeign(memo: Memo, at: View, verdict: Verdict): Memo {
  const attempt = recordOf(at)?.attempt;
  if (verdict.reason !== 'CreateInFlight' || attempt === undefined) return memo;
  return { ...memo, foreignAttempt: { attempt, since: firstSeen(attempt, at.facts) } };
}

function settleRecord({ object, facts }: View, record: ServerRecord, why: RecordChange): Next {
  const { next: _next, ...memo } = facts.memo;
  // Write the mirror in the same step: a new attempt must never meet the mirror of an older one.
  const mirrored = object.status?.record === undefined ? {} : { status: compose(object, { record }, facts.now) };
  if (why === 'expired') {
    // From now on the provider may give the addresses to another customer.
    const isCancelled = facts.memo.cancelled === record.identifier;
    const end = isCancelled ? 'The operator cancelled the server' : 'The server no longer exists at the provider';
    const message = `Server ${record.identifier ?? ''} has expired. ${end}. ${replaceAdvice(object)}`;
    const verdict = { reason: 'Expired' as const, message };
    const status = compose(object, { record, fields: {}, verdict }, facts.now);
    return { record, status, memo, events: eventsOf(object.status, status), again: true };
  }
  const verdict =
    why === 'notCreated'
      ? { reason: 'Pending' as const, message: 'The order created nothing; the operator is about to order again' }
      : undefined;
  const status =
    verdict === undefined ? mirrored : { status: compose(object, { record, fields: {}, verdict }, facts.now) };
  return { record, ...status, memo, events: [], again: true };
}

function settleClaim({ object, facts }: View, action: Extract<Action, { type: 'claim' }>, attempt: string): Next {
  const { orphans, settled } = action.record ?? {};
  const record: ServerRecord = {
    ...(action.record && unknownIn(action.record)),
    ...newRecord(object.metadata.uid),
    account: action.account,
    attempt,
    attemptedAt: timestamp(facts.now),
    ...(orphans !== undefined && { orphans }),
    ...(settled !== undefined && { settled }),
  };
  return goOn(facts.memo, { record, claimed: attempt });
}

function settleRelease({ object, facts }: View, action: Extract<Action, { type: 'release' }>): Next {
  const { record, why } = action;
  const left =
    record?.identifier ??
    (record?.task !== undefined ? `of task ${record.task}` : `of attempt ${record?.attempt ?? ''}`);
  const wasAsked = record?.identifier !== undefined && facts.memo.cancelAsked === record.identifier;
  const tell = (reason: Reason, message: string): Next => ({
    record: null,
    memo: facts.memo,
    events: [eventOf({ reason, message })],
    again: false,
  });
  if (why === 'cancelled' || (why === 'gone' && wasAsked))
    return tell('ServerCancelled', `Server ${left} was cancelled`);
  if (why === 'gone')
    return tell(
      'ServerGone',
      `Server ${left} no longer exists at the provider, and this process did not cancel it. If you did not cancel it ` +
        "elsewhere, look for it in the provider's control panel",
    );
  if (why === 'retained') {
    const orphaned = record?.orphans === undefined ? '' : `. ${orphanMessage(object, record)}`;
    const message =
      `Server ${left} keeps running and costs money, because spec.deletionPolicy is Retain. To cancel the server, use the ` +
      `provider's control panel. To let the operator manage it again, create an object that adopts it${orphaned}`;
    return tell('RetainedServer', message);
  }
  return { record: null, memo: facts.memo, events: [], again: false };
}
