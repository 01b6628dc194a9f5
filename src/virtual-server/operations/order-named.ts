/**
 * Orders a server under an identifier that the operator chooses, and repeats the order until the provider has answered it. The
 * claim with the identifier is the only write before the request. Whatever happens after it, the same request can be sent
 * again, since at most one server at a time has the identifier; so there is no journal, and no question to a person.
 */
import { createHash, createHmac } from 'node:crypto';
import { withoutUsual } from '../../api/ordered-fields.ts';
import { isNamed, type Held, type Named, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { durationText, timestamp } from '../../base/duration.ts';
import { capitalized, ended } from '../../base/text.ts';
import { callProblem } from '../../accounts/decision/failure.ts';
import { ProviderError, ResponseError } from '../../provider/error.ts';
import { identifierKey, isSameIdentifier } from '../../base/identifier.ts';
import type { AccountServer, NamedOutcome, OrderBody, Server, Session } from '../../provider/types.ts';
import { UNSEEN_PERIODS, denied, graceOf, isProven, notRecognized, pauseOf } from '../decision/absence.ts';
import { compose } from '../decision/compose.ts';
import { decide } from '../decision/decide.ts';
import { recognizeFor } from '../decision/identity.ts';
import { saysGone, saysNotCreated } from '../decision/inputs.ts';
import { withFailedOrder, withoutClaim } from '../decision/known-record.ts';
import {
  withEvidence,
  withoutDenials,
  withoutFailures,
  withoutPlan,
  type Denials,
  type Memo,
  type Planned,
  type Sent,
  type Unlisted,
} from '../decision/memo.ts';
import {
  arrivesInMs,
  identifierFor,
  isRepeatedTooLong,
  markedName,
  mayArrive,
  namedBody,
  namedClaim,
  namesOwner,
  whoOrdered,
  sentAgain,
  takenVerdict,
} from '../decision/named.ts';
import { orderNotCreated, orderRefused } from '../decision/order-answer.ts';
import { orderedEvent } from '../decision/order-events.ts';
import { endVisit, failed, goOn, jittered, lacking, parked, retryLater, withoutKey } from '../decision/outcome.ts';
import { LISTED, namesOf, cutSaid } from '../decision/sentences.ts';
import type { Operation, Outcome } from '../decision/types.ts';
import { withMemo, type View } from '../decision/view.ts';
import type { OrderTerms } from '../shared/limits.ts';
import type { Visit } from '../visit.ts';
import { reserveServer } from './adopt.ts';
import { orLacking, readServer } from './reads.ts';
import { readSecrets, type OrderSecrets } from './user-data.ts';

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
  const claim = namedClaim(view, { attempt, identifier, account: secrets.session.account, body: digest });
  const sending = (): void => {
    visit.keeps(hourly);
    hourly.sent(attempt, timers.monotonic());
  };
  return claimAndSend(visit, view, claim, {
    session: secrets.session,
    body,
    first: { sending, createdNothing: () => hourly.release(), expectedPrice },
  });
}

/** The identifier of the server that an earlier order of this object has led to. The list may show it before a read does. */
interface Own {
  own: string;
  isRead: boolean;
}

/**
 * The server of an earlier order of this object, whose record was lost; or what happens in place of the order. Undefined if there
 * is none. Asked before an order has a place in any limit, which such a server does not need.
 */
export function earlierServer(visit: Visit, session: Session): Promise<Outcome | Own | undefined> {
  const { identifier } = visit.object.spec;
  return identifier === undefined ? ownListed(visit, session) : lookFor(visit, session, identifier);
}

/** The object holds the server of its earlier order. */
export function holdAgain(visit: Visit, { own, isRead }: Own, secrets: OrderSecrets): Outcome {
  const view = visit.view();
  const { identifier: chosen } = view.object.spec;
  if (decide(view).type !== 'order' || (chosen !== undefined && chosen !== own)) return goOn(view.memo);
  const { digest } = requestOf(visit.object, secrets);
  const claim = { attempt: visit.services.mint(), identifier: own, account: secrets.session.account, body: digest };
  return goOn(isRead ? shownMemo(view, own) : view.memo, { record: namedClaim(view, claim) });
}

/** What is sent, and the hash by which a later request is compared with it. */
function requestOf(object: VirtualServer, { values, hashKey }: OrderSecrets): { body: OrderBody; digest: string } {
  const all = { ...object.spec, ...values };
  return { body: namedBody(object, all), digest: digestOf(namedBody(object, withoutUsual(all)), hashKey) };
}

/** How old the list may be: the record of an order is not lost that soon after it (ms). */
const LIST_AGE_MS = 5_000;

/**
 * The listed server with the whole name that this object's order sends: etcd may have been restored to a time before its claim.
 * One that the record already has as a failed order is looked for elsewhere. You choose among several.
 */
async function ownListed(visit: Visit, session: Session): Promise<Outcome | Own | undefined> {
  const name = markedName(visit.object);
  if (name === undefined) return undefined;
  const listed = await orLacking(() => listedOf(session));
  if (!listed.ok) return lacking(visit.view(), listed.error);
  const view = visit.view();
  const { object, own } = view;
  const earlier = [...(own?.failed ?? []), ...(own?.orphans ?? [])].map((order) => order.identifier);
  const others = visit.services.holders.others(object.metadata.uid);
  const found = (listed.value ?? []).filter(
    ({ identifier, name: shown }) =>
      shown?.trim() === name &&
      !earlier.some((other) => isSameIdentifier(other, identifier)) &&
      others.withServer(identifier, { account: session.account }).length === 0,
  );
  // Pages of a list may overlap.
  const [first, second] = new Map(found.map(({ identifier }) => [identifierKey(identifier), identifier])).values();
  if (first === undefined) return undefined;
  if (second !== undefined)
    return taken(view, own, `The servers ${first} and ${second} have the name of this object's order`, first);
  reserveServer(visit, session.account, first);
  return { own: first, isRead: false };
}

/** Undefined if the provider has never shown a list to this key. What it does not show now may be the server of an earlier order. */
async function listedOf(session: Session): Promise<AccountServer[] | undefined> {
  try {
    return await session.listedServers(LIST_AGE_MS);
  } catch (error) {
    if (!(error instanceof ProviderError) || session.listsServers()) throw error;
    return undefined;
  }
}

/** Whether the identifier that you chose is free: undefined if so. */
async function lookFor(visit: Visit, session: Session, identifier: string): Promise<Outcome | Own | undefined> {
  const { account } = session;
  const holders = visit.services.holders.others(visit.object.metadata.uid).withServer(identifier, { account });
  if (holders.length > 0) {
    const view = visit.view();
    return taken(
      view,
      view.own,
      `The identifier ${identifier} belongs to the server of ${namesOf(holders, view.object)}`,
    );
  }
  reserveServer(visit, account, identifier);
  const answer = await readServer(identifier, undefined, session, visit.object);
  const view = visit.view();
  if (answer.type === 'server') {
    if (namesOwner(view.object, answer.server) === 'own') return { own: identifier, isRead: true };
    const { name } = answer.server;
    const named = name === undefined ? '' : `, with the name ${cutSaid(name)}`;
    return taken(view, view.own, `A server with the identifier ${identifier} is there already${named}`, identifier);
  }
  if (answer.type === 'failed') return failed(view, 'order', answer.error);
  if (answer.counts) return undefined;
  visit.suspectKey();
  if (answer.detail === LISTED)
    return taken(view, view.own, `The identifier ${identifier} is in use: ${LISTED}`, identifier);
  const message = `Nothing was ordered, because it is not known whether the identifier ${identifier} is in use: ${answer.detail}`;
  return retryLater(view, 'order', { record: view.own, verdict: { reason: 'ServerNotVisible', message } });
}

/** The identifier is in use. `left`: the record of this object without its own order. */
function taken(at: View, left: ServerRecord | undefined, why: string, shown?: string): Outcome {
  const parts = { record: left, fields: {}, verdict: takenVerdict(why, shown) };
  return retryLater(at, 'order', parts, undefined, left === at.own ? undefined : left);
}

/**
 * What follows if the server under the identifier is that of another order: this object's has led to nothing. Not before a proxy
 * can no longer deliver an earlier request: the identifier may be free again by then. No clock of another process counts, so the
 * wait begins when this process sends the request, or first sees that server. Undefined for any other server.
 */
export function lostToAnother(at: View, record: Held, server: Server, operation: Planned): Outcome | undefined {
  if (!isNamed(record) || whoOrdered(at.object, record, server) !== 'other') return undefined;
  const { identifier, attempt, sent } = record;
  const why = `The identifier ${identifier} is that of another server, with the name ${cutSaid(server.name ?? '')}`;
  const { sent: own, another: before } = at.memo.evidence;
  const isThis = (one: Pick<Sent, 'attempt' | 'at'> | undefined): boolean =>
    one?.attempt === attempt && one.at === sent.at;
  const known = [own, before].find(isThis);
  const another = { attempt, at: sent.at, since: known?.since ?? at.monotonic };
  const lateMs = UNSEEN_PERIODS * at.timing.absenceMs - (at.monotonic - another.since);
  if (lateMs > 0) {
    const message = `${why}. A request of order ${attempt} may still arrive until ${timestamp(at.now + lateMs)}, so the operator waits`;
    const parts = { record, verdict: { reason: 'IdentifierTaken', message } as const };
    const afterMs = Math.min(lateMs, at.timing.resyncMs);
    return endVisit(at, parts, { operation, afterMs }, withEvidence(withoutFailures(at.memo), { another }));
  }
  const left = withFailedOrder(record);
  if (!at.deleting) return taken(at, left, why, identifier);
  return { ...goOn(at.memo, { record: left }), status: compose(at.object, { record: left }, at.now) };
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
    const known = record.sent.chosen === undefined ? undefined : recognizeFor('look', read, record, answer);
    if (known === undefined || known.ok) return goOn(shownMemo(read, record.identifier));
    const isDenied = saysNotCreated(read.object, record) || saysGone(read.object, record);
    return isDenied ? answered(read, record) : notRecognized(read, record, 'order', known.error);
  }
  if (answer.type === 'failed') {
    // As the provider answers for a server that is still being created.
    const exists = answer.error instanceof ResponseError && answer.error.status === 409;
    if (!exists) return failed(read, 'order', answer.error);
    if (isRepeatedTooLong(record, read)) return unanswered(read, record);
    return waiting(read, record, capitalized(callProblem(answer.error)));
  }
  // You have answered for the requests so far; another one would make your answer wrong (decide.ts, attemptCreatedNothing).
  if (saysNotCreated(read.object, record) || saysGone(read.object, record)) return answered(read, record);
  const isInUse = record.sent.inUse === true;
  if (!answer.counts) {
    visit.suspectKey();
    // Another key may see another account, in which the same order would create a second server.
    return answer.detail === LISTED && !isRepeatedTooLong(record, read)
      ? waiting(read, record, capitalized(LISTED))
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
        afterMs: Math.min(arrivesInMs(record, view), view.timing.pollMs),
      },
    );
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
function answered(at: View, record: Named): Outcome {
  const message =
    `You say that order ${record.attempt} has not created server ${record.identifier}. The operator ` +
    'orders again when the order can no longer be on its way';
  const afterMs = Math.min(arrivesInMs(record, at), at.timing.pollMs);
  return endVisit(at, { record, verdict: { reason: 'Creating', message } }, { operation: 'order', afterMs });
}

/** Denials count together only if the list of servers confirms each, or if it confirms none. */
function deniedBy(at: View, { identifier }: Named, unlisted: Unlisted): Denials {
  const what = `server ${identifier}`;
  const { denials: before } = at.memo.evidence;
  if (before?.of !== what) return denied(at, what, unlisted);
  if (unlisted === 'no') return before;
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
function shownMemo({ memo }: View, identifier: string): Memo {
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
  // Earlier denials prove nothing about this request.
  const memo = withEvidence(withoutPlan(view.memo), { sent, denials: undefined });
  await visit.commit({ name: 'claim', next: goOn(memo, { record: claim }) });
  const liveAt = timers.monotonic();
  const claimed = visit.view();
  const own = claimed.own;
  if (visit.hasChangedSince(view) || claimed.deleting || own === undefined || !isNamed(own) || !isOf(own, claim))
    return goOn(claimed.memo);
  if (first === undefined) limit.again(visit.object.metadata.namespace, own.attempt, timers.monotonic());
  else first.sending();
  const answer = await session.orderNamed(own.identifier, body, () => visit.mayActOn(liveAt));
  if (answer.kind === 'notCreated' || answer.kind === 'refused' || answer.kind === 'notOffered')
    first?.createdNothing();
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

/** What is known of the earlier requests of an order: there were none, or it is proven that they have led to no server. */
type Earlier = 'none' | 'absent' | 'unknown';

/** What the answer means for the object. Pure. */
export function afterNamedAnswer(
  before: View,
  record: Named,
  answer: NamedOutcome,
  { earlier, expectedPrice }: { earlier: Earlier; expectedPrice: number | undefined },
): Outcome {
  const { attempt, identifier, sent } = record;
  const heard = (outcome: Sent['answer'], task?: Sent['task']): View =>
    withMemo(
      before,
      withEvidence(before.memo, { sent: { attempt, at: sent.at, answer: outcome, task, since: before.monotonic } }),
    );
  switch (answer.kind) {
    case 'created': {
      const { memo } = heard('accepted', answer.task);
      // The same task may be the answer to an equal order.
      const fresh = { task: undefined, denials: undefined, failure: undefined, lostTask: undefined };
      const ordered = orderedEvent(before.object, { task: answer.task, identifier, expectedPrice });
      return { ...goOn(withEvidence(withoutPlan(withoutFailures(memo)), fresh)), events: [ordered] };
    }
    case 'notCreated':
      return earlier === 'none'
        ? orderNotCreated(before, withoutClaim(record), answer.error)
        : unclear(heard('other'), record, answer);
    case 'refused':
      return earlier === 'unknown'
        ? unclear(heard('refused'), record, answer)
        : orderRefused(before, leftOf(before, record, answer, earlier), answer);
    case 'notOffered':
      return earlier === 'unknown'
        ? unclear(heard('refused'), record, answer)
        : orderNotCreated(before, leftOf(before, record, answer, earlier), answer.error, notOffered(answer.error));
    case 'inUse': {
      // Right before the only request, no server had the identifier that you chose.
      if (sent.chosen && earlier === 'none') {
        const why = `${ended(answer.error.message)} The API key sees no server with the identifier ${record.identifier}, so another customer may have it`;
        return { ...taken(before, withoutClaim(record), why), error: answer.error };
      }
      const used: Named = { ...record, sent: { ...record.sent, inUse: true } };
      return { ...unclear(heard('other'), used, answer), record: used };
    }
    case 'unclear':
      return unclear(heard(answer.isAnswered ? 'other' : 'lost'), record, answer);
  }
}

const notOffered = ({ message }: Error): string =>
  `${ended(message)} The provider takes no orders under an identifier. With --orders=auto, the operator orders without one next. ` +
  'With --orders=named, it cannot order here: start it with --orders=auto or --orders=anonymous';

/** The record after a refusal. An order of several requests is looked for like one that failed. */
function leftOf({ object }: View, record: Named, { error }: { error: Error }, earlier: Earlier): ServerRecord {
  if (earlier === 'none') return withoutClaim(record);
  const createFailure = { said: cutSaid(error.message), generation: object.metadata.generation };
  return withFailedOrder({ ...record, createFailure });
}

function unclear(at: View, record: Named, { error }: Extract<NamedOutcome, { error: unknown }>): Outcome {
  const next = waiting(at, record, capitalized(callProblem(error)), error.retryAfterMs);
  return { ...next, error };
}

/** `why`: a sentence. */
function waiting(at: View, record: Named, why: string, atLeastMs?: number): Outcome {
  const message = `${ended(why)} The operator looks for server ${record.identifier}, and sends the same order again if there is none`;
  return retryLater(at, 'order', { record, verdict: { reason: 'Creating', message } }, atLeastMs);
}

function stillOnItsWay(record: Named, view: View): Verdict {
  const at = timestamp(view.now + arrivesInMs(record, view));
  return {
    reason: 'Creating',
    message:
      `The order of server ${record.identifier} has no answer, and may still be on its way to the provider. The operator looks for ` +
      `the server, and sends the same order again at ${at} if there is none`,
  };
}

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
      ? `The provider answers that the identifier ${identifier} is in use, but does not show the server`
      : `The order of server ${identifier} has no answer, and ${otherwise}`;
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

/** Asks a person, after a day. */
function unanswered(view: View, record: Named): Outcome {
  const message =
    `Order ${record.attempt} of server ${record.identifier} was sent again for a day, and the provider neither carries it out nor ` +
    'refuses it';
  const afterMs = jittered(view.timing.resyncMs, view);
  return parked(view, { verdict: { reason: 'CreateOutcomeUnknown', message }, when: { operation: 'order', afterMs } });
}
