/**
 * Orders a server under an identifier that is chosen before, and repeats the order until the provider has answered it. The
 * claim with the identifier is the only write before the request. Whatever happens after it, the same request can be sent
 * again, since at most one server at a time has the identifier; so there is no journal, and the object
 * asks you only after a day.
 */
import { createHash, createHmac } from 'node:crypto';
import { withoutUsual } from '../../api/ordered-fields.ts';
import { isNamed, type Named } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { durationText, timestamp } from '../../base/duration.ts';
import { capitalized } from '../../base/text.ts';
import { callProblem } from '../../accounts/decision/failure.ts';
import type { OrderBody, Session } from '../../provider/types.ts';
import { denied, graceOf, isProven, notRecognized, pauseOf } from '../decision/absence.ts';
import { decide } from '../decision/decide.ts';
import { recognizeFor } from '../decision/identity.ts';
import { saysGone, saysNotCreated } from '../decision/inputs.ts';
import {
  withEvidence,
  withoutDenials,
  withoutFailures,
  withoutPlan,
  type Denials,
  type Memo,
  type Sent,
  type Unlisted,
} from '../decision/memo.ts';
import {
  identifierFor,
  isRepeatedTooLong,
  isUnguessable,
  mayArrive,
  namedBody,
  namedClaim,
  sentAgain,
} from '../decision/named.ts';
import { endVisit, failed, goOn, jittered, parked, retryLater, saysExists, withoutKey } from '../decision/outcome.ts';
import { LISTED, OTHER_KEY } from '../decision/sentences.ts';
import type { Operation, Outcome } from '../decision/types.ts';
import { untilSent, withMemo, type View } from '../decision/view.ts';
import type { OrderTerms } from '../shared/limits.ts';
import type { Visit } from '../visit.ts';
import { readServer } from './reads.ts';
import { readSecrets, userDataDigest, type OrderSecrets } from './user-data.ts';
import { lostToAnother } from './identifier-taken.ts';
import { afterNamedAnswer, waiting } from './named-answer.ts';

/** The first request. Undefined if the process is about to end and orders nothing more. */
export async function orderNamed(
  visit: Visit,
  secrets: OrderSecrets,
  { hourly, expectedPrice }: OrderTerms,
): Promise<Outcome | undefined> {
  const { mint, timers } = visit.services;
  const view = visit.view();
  if (decide(view).type !== 'order') return goOn(view.memo);
  const { body, digest } = requestOf(visit.object, secrets);
  const attempt = mint();
  const identifier = view.object.spec.identifier ?? identifierFor(visit.object, mint());
  const { session, values } = secrets;
  const sent = { body: digest, userDataDigest: userDataDigest(visit.object, values.userDataFrom) };
  const claim = namedClaim(view, { attempt, identifier, account: session.account, ...sent });
  const sending = (): void => {
    visit.keeps(hourly);
    hourly.sent(attempt, timers.monotonic());
  };
  return claimAndSend(visit, view, claim, {
    session,
    body,
    first: { sending, createdNothing: () => hourly.release(), expectedPrice },
  });
}

/** What is sent, and the hash by which a later request is compared with it. */
export function requestOf(
  object: VirtualServer,
  { values, hashKey }: OrderSecrets,
): { body: OrderBody; digest: string } {
  const all = { ...object.spec, ...values };
  return { body: namedBody(object, all), digest: digestOf(namedBody(object, withoutUsual(all)), hashKey) };
}

/** The next request, unless the provider shows the server, or an earlier request may still arrive. */
export async function repeat(
  visit: Visit,
  at: View,
  operation: Extract<Operation, { type: 'repeat' }>,
): Promise<Outcome | undefined> {
  const due = await dueToRepeat(visit, at, operation);
  return 'session' in due ? claimAndSend(visit, due.view, sentAgain(due.record, due.view), due) : due;
}

interface Due {
  session: Session;
  body: OrderBody;
  view: View;
  record: Named;
  /** It is proven that no earlier request has led to a server. */
  isAbsent: boolean;
}

/** The reading part: what happens instead of another request, if something does. */
export async function dueToRepeat(
  visit: Visit,
  at: View,
  { record }: Extract<Operation, { type: 'repeat' }>,
): Promise<Due | Outcome> {
  const key = await visit.key(at);
  if (!key.ok) return withoutKey(visit.view(), 'order', key.error);
  const { session } = key.value;
  const answer = await readServer(record.identifier, record.account, session, visit.object);
  const read = visit.view();
  if (answer.type === 'server') {
    const lost = lostToAnother(read, record, answer.server, 'order');
    if (lost !== undefined) return lost;
    const known = isUnguessable(record.sent) ? undefined : recognizeFor('look', read, record, answer);
    if (known === undefined || known.ok) return goOn(shownMemo(read, record.identifier));
    const other = withEvidence(read.memo, { unrecognized: record.identifier });
    return isDenied(read, record)
      ? answered(withMemo(read, other), record)
      : notRecognized(read, record, 'order', known.error);
  }
  if (answer.type === 'failed') {
    if (!saysExists(answer.error)) return failed(read, 'order', answer.error);
    if (isRepeatedTooLong(record, read)) return unanswered(read, record);
    return waiting(read, record, `${whatIsKnown(record)}. ${capitalized(callProblem(answer.error))}`);
  }
  const isInUse = record.sent.inUse === true;
  if (!answer.counts) {
    visit.suspectKey();
    if (answer.detail === OTHER_KEY && isDenied(read, record)) {
      const unaskable = { identifier: record.identifier, at: read.monotonic };
      const view = withMemo(read, withEvidence(read.memo, { unaskable }));
      if (decide(view).type === 'record') return goOn(view.memo);
    }
    // Another key may see another account, in which the same order would create a second server.
    return answer.detail === LISTED && !isRepeatedTooLong(record, read)
      ? waiting(read, record, `${whatIsKnown(record)}. ${LISTED_UNSHOWN}`)
      : invisible(read, record, answer.detail);
  }
  const denials = deniedBy(read, record, answer.unlisted);
  const view = withMemo(read, withEvidence(read.memo, { denials }));
  if (mayArrive(record, view))
    return endVisit(
      view,
      { record, verdict: stillOnItsWay(record, view) },
      {
        operation: 'order',
        afterMs: Math.min(untilSent(record, view), view.timing.pollMs),
      },
    );
  // You have answered for the requests so far; another one would make your answer wrong (decide.ts, attemptCreatedNothing).
  if (isDenied(view, record)) return decide(view).type === 'record' ? goOn(view.memo) : answered(view, record);
  const secrets = await readSecrets(visit.object, visit.services.kube, key.value.session);
  if (!secrets.ok) return unsendable(view, record, denials, SECRET_MISSING);
  const { body, digest } = requestOf(visit.object, secrets.value);
  if (digest !== record.sent.body) return unsendable(view, record, denials, CHANGED_SINCE);
  if (isInUse) return unsendable(view, record, denials);
  if (isRepeatedTooLong(record, view)) return unanswered(view, record);
  const isAbsent = denials.unlisted !== 'no' && isProven(denials, graceOf(view, record, denials), view);
  const { sent: last } = view.memo.evidence;
  const isRefused = last?.attempt === record.attempt && last.answer === 'refused';
  return isRefused && !isAbsent
    ? refusedBefore(view, record, denials)
    : { session: secrets.value.session, body, view, record, isAbsent };
}

/** You say that the order has led to no server. */
const isDenied = ({ object }: View, record: Named): boolean =>
  saysNotCreated(object, record) || saysGone(object, record);

/** What you say waits until no request can be on its way. */
function answered(at: View, record: Named): Outcome {
  const message =
    `You say that order ${record.attempt} has not created server ${record.identifier}. The operator ` +
    'orders again when the order can no longer be on its way';
  const afterMs = Math.min(untilSent(record, at), at.timing.pollMs);
  return endVisit(at, { record, verdict: { reason: 'Creating', message } }, { operation: 'order', afterMs });
}

/** Denials count together only if the list of servers confirms each, or if it confirms none. */
function deniedBy(at: View, { identifier }: Named, unlisted: Unlisted): Denials {
  const what = `server ${identifier}`;
  const { denials: before } = at.memo.evidence;
  if (before?.of !== what) return denied(at, what, unlisted);
  if (unlisted === 'no') return { ...before, lastAt: at.monotonic, inputs: at.inputs };
  return denied(before.unlisted === 'no' ? withMemo(at, withoutDenials(at.memo)) : at, what, unlisted);
}

/** Under this key, nothing proves that an order has led to no server, so none is sent again. */
function invisible(at: View, record: Named, detail: string): Outcome {
  const message =
    `Order ${record.attempt} has no answer, and its server ${record.identifier} is not visible with this API key, which does not prove that there is none: ` +
    `${detail}. The operator keeps checking`;
  return retryLater(at, 'order', { record, verdict: { reason: 'ServerNotVisible', message } }, at.timing.pollMs);
}

/** The server exists: its own reads tell everything else. */
export function shownMemo({ memo }: View, identifier: string): Memo {
  const task = { state: 'over', identifier } as const;
  return withEvidence(withoutPlan(withoutFailures(memo)), { task, denials: undefined });
}

/** From here on, only the API server and the provider can cause a wait. */
async function claimAndSend(
  visit: Visit,
  view: View,
  claim: Named,
  {
    session,
    body,
    first,
    isAbsent = false,
  }: {
    session: Session;
    body: OrderBody;
    first?: { sending: () => void; createdNothing: () => void; expectedPrice: number | undefined };
    isAbsent?: boolean;
  },
): Promise<Outcome | undefined> {
  const { limit, timers } = visit.services;
  if (visit.hasChangedSince(view)) return goOn(visit.view().memo);
  if (!visit.beginsOrder()) return undefined;
  // The write fails if the object has changed, so it is a live read too: the object exists, and wants a server.
  // Nothing is on its way if the write fails, whether it was carried out or not.
  const sent: Sent = { attempt: claim.attempt, at: claim.sent.at, answer: 'other', since: timers.monotonic() };
  // Earlier denials prove nothing about this request, nor does the end of an earlier server with this identifier about its server.
  const { user_data_string: text } = body;
  const ordered = { attempt: claim.attempt, userData: typeof text === 'string' ? text : undefined };
  const memo = withEvidence(withoutPlan(view.memo), {
    ordered,
    sent,
    denials: undefined,
    ...(first !== undefined && { end: undefined }),
  });
  await visit.commit({ name: 'claim', next: goOn(memo, { record: claim }) });
  const liveAt = timers.monotonic();
  const claimed = visit.view();
  const own = claimed.own;
  if (visit.hasChangedSince(view) || claimed.deleting || own === undefined || !isNamed(own) || !isOf(own, claim))
    return goOn(claimed.memo);
  if (first === undefined) limit.again(visit.object.metadata.namespace, own.attempt, timers.monotonic());
  else first.sending();
  const request = first === undefined ? 'repeat' : 'order';
  const maySend = visit.gate(request, own.identifier, () => visit.mayActOn(liveAt));
  const answer = await session.orderNamed(own.identifier, body, maySend);
  // A provider may refuse an order and carry it out all the same.
  if (answer.kind === 'notCreated' || answer.kind === 'notOffered') first?.createdNothing();
  const earlier = first === undefined ? (isAbsent ? 'absent' : 'unknown') : 'none';
  return afterNamedAnswer(visit.view(), own, answer, { earlier, expectedPrice: first?.expectedPrice });
}

const digestOf = (body: OrderBody, key: string | undefined): string =>
  (key === undefined ? createHash('sha256') : createHmac('sha256', key))
    .update(JSON.stringify(body))
    .digest('hex')
    .slice(0, 16);

const isOf = (own: Named, claim: Named): boolean =>
  own.attempt === claim.attempt && own.identifier === claim.identifier && own.sent.at === claim.sent.at;

function stillOnItsWay(record: Named, view: View): Verdict {
  const at = timestamp(view.now + untilSent(record, view));
  return {
    reason: 'Creating',
    message:
      `${noAnswer(record.identifier)}, and may still be on its way to the provider. The operator looks for ` +
      `the server, and sends the same order again at ${at} if there is none`,
  };
}

const noAnswer = (identifier: string): string => `The order of server ${identifier} has no answer`;
const inUse = (identifier: string): string => `The provider answers that the identifier ${identifier} is in use`;
/** Of the order whose server is looked for, before what the look has found. */
const whatIsKnown = ({ identifier, sent }: Named): string => (sent.inUse === true ? inUse : noAnswer)(identifier);
const LISTED_UNSHOWN = "The provider's list of servers has the server, but the provider does not show it yet";

const CHANGED_SINCE = 'what it was sent with has changed since: spec or a Secret that spec names';
const SECRET_MISSING = 'what it was sent with can no longer be read: a Secret that spec names';

/**
 * The same order cannot be sent again, or it is of no use: its identifier is in use, by this order or by a failed one. Another
 * order follows once it is proven that there is no server.
 */
function unsendable(view: View, record: Named, denials: Denials, otherwise?: string): Outcome {
  const { object, memo, now, monotonic } = view;
  const { identifier, attempt } = record;
  const grace = graceOf(view, record, denials);
  const why =
    otherwise === undefined
      ? `${inUse(identifier)}, but does not show the server`
      : `${noAnswer(identifier)}, and ${otherwise}`;
  if (denials.unlisted !== 'no' && isProven(denials, grace, view)) {
    const failedOrder = { ...record, createFailure: { said: why, generation: object.metadata.generation } };
    const evidence = { createdNothing: { attempt, at: monotonic } };
    return goOn(withEvidence(memo, evidence), { record: failedOrder });
  }
  if (isRepeatedTooLong(record, view)) return unanswered(view, record);
  const afterMs = pauseOf(denials, grace, view);
  const at = timestamp(now + Math.max(0, denials.since + grace - monotonic));
  const then =
    denials.unlisted === 'no'
      ? 'The operator looks for the server: no list of servers proves that there is none'
      : `The operator looks for the server, and orders another one if it is not there until ${at}`;
  const message = `${why}. ${then}. Next check in ${durationText(afterMs)} (at ${timestamp(now + afterMs)})`;
  return endVisit(
    view,
    { record, verdict: { reason: 'Creating', message } },
    { operation: 'order', afterMs },
    withoutFailures(memo),
  );
}

/** The provider has refused the last request, which proves nothing about those before it. */
function refusedBefore(view: View, record: Named, denials: Denials): Outcome {
  const afterMs = pauseOf(denials, graceOf(view, record, denials), view);
  const message =
    `The provider refuses order ${record.attempt}, of which an earlier request may have created server ${record.identifier}. The operator ` +
    'looks for the server, and sends the same order a last time when it is proven that there is none';
  const parts = { record, verdict: { reason: 'Creating', message } as const };
  return endVisit(view, parts, { operation: 'order', afterMs }, withoutFailures(view.memo));
}

/** Asks you, after a day. */
function unanswered(view: View, record: Named): Outcome {
  const message =
    `Order ${record.attempt} of server ${record.identifier} was sent again for a day, and the provider neither carries it out nor ` +
    'refuses it';
  const afterMs = jittered(view.timing.resyncMs, view);
  return parked(view, { verdict: { reason: 'CreateOutcomeUnknown', message }, when: { operation: 'order', afterMs } });
}
