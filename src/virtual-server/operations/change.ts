/**
 * Changes a server in place where spec differs from it, one step at a time: sends the change, or shuts the server down first
 * and starts it again after that. The price limit has its say before the first of these steps. Each step begins with live reads of server and object, and the next read (look.ts) tells
 * what came of it. So a step that was lost is repeated, and none is needed twice.
 */
import type { Cost } from '../../api/change-requests.ts';
import type { Held, RecordedChange } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { durationText, timestamp } from '../../base/duration.ts';
import { capitalized } from '../../base/text.ts';
import { without } from '../../base/without.ts';
import { backoffMs, callProblem } from '../../accounts/decision/failure.ts';
import { answerOf, type ProviderError } from '../../provider/error.ts';
import type { PriceList, Server, Session } from '../../provider/types.ts';
import {
  changeIn,
  changingOf,
  courseOf,
  hasPrice,
  isStoppedForChange,
  newChange,
  askedIn,
  refusedFor,
  seenIn,
  unreserved,
  withStop,
  withTakenBack,
  type ChangeStep,
} from '../decision/change.ts';
import { changeBody, concernsPrice, keyOfChange, type FieldChange } from '../decision/change-fields.ts';
import { REQUESTS_MS, isNoted, lastSentAt, seenRequests, withRequest } from '../decision/change-requests.ts';
import { decide } from '../decision/decide.ts';
import { recognizeFor } from '../decision/identity.ts';
import { withEvidence, withoutPlan, type Changing } from '../decision/memo.ts';
import { noRoomToChange, wantedBy } from '../decision/order-limits.ts';
import { goOn } from '../decision/outcome.ts';
import { FURTHER_AGE_MS, listedPrice, modelOf, recordedPrice } from '../decision/price.ts';
import { cutSaid } from '../decision/sentences.ts';
import type { Operation, Outcome } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Full } from '../shared/limits.ts';
import type { Visit } from '../visit.ts';
import { readServer } from './reads.ts';
import { cameOf, switchServer, type Answered } from './switch.ts';

/** Of calls in a row, while the server is off. */
const MOST_FAILURES = 4;
/** A server does not stay off for a pause that the provider asks for and that is longer (ms). */
const LONGEST_PAUSE_MS = 5 * 60_000;
/** After so many requests in a row without an answer, the pause is so long that none of them can still have an effect (ms). */
const MOST_LOST = 8;
const LOST_PAUSE_MS = 2 * REQUESTS_MS;
/** How long a server may take to start before it is asked again (ms). */
const START_MS = 60_000;

/** Undefined if the object is gone. */
export async function change(
  visit: Visit,
  at: View,
  { record }: Extract<Operation, { type: 'change' }>,
): Promise<Outcome | undefined> {
  const key = await visit.key(at);
  // The next read says what is wrong.
  if (!key.ok) return lookAgain(visit.view(), record);
  const { session } = key.value;
  const answer = await readServer(record.identifier, record.account, session, visit.object);
  const before = visit.view();
  if (answer.type !== 'server') return lookAgain(before, record);

  const liveAt = visit.services.timers.monotonic();
  if (!(await visit.readLive())) return undefined;
  // The operator decides again on what it has just read.
  const view = visit.view();
  const still = decide(view);
  if (visit.hasChangedSince(before) || still.type !== 'change' || still.record.identifier !== record.identifier)
    return lookAgain(view, record);
  const { step, record: current } = courseOf(view, still.record, answer.server);
  if (step === undefined) return lookAgain(view, record);
  // As strict as before a DELETE. But a server that was shut down is started again, unless this read shows that it is another one.
  const known = recognizeFor('cancel', view, record, answer);
  if (!known.ok && (step.do !== 'start' || known.error.isOther)) {
    const { why, isOther } = known.error;
    const said = `Server ${record.identifier} is not changed: ${why}`;
    const isLeftOff = step.do === 'send' && isStoppedForChange(current) && !isOther;
    return isLeftOff
      ? unrecognized(view, current, step.changes, said)
      : heldBack(view, record, { said }, view.timing.resyncMs);
  }
  const line = { session, server: answer.server, mayAct: (): boolean => visit.mayActOn(liveAt) };
  if (step.do === 'start') return turn(visit, current, step, line);
  const own = changeIn(current);
  const isReserved = step.do === 'send' && own?.phase === 'stop' && own.change === keyOfChange(step.changes);
  // The room was found before the shutdown, and the server has counted with this price since.
  const cost = isReserved && hasPrice(own) ? priceIn(own) : await costOf(visit, current, step.changes, line);
  if ('full' in cost) {
    // A server that is off for the change is started at once.
    const pause = isStoppedForChange(current) ? 0 : view.timing.pollMs;
    const problem = { said: noRoomToChange(visit.object, cost), isLimit: true } as const;
    const held = heldBack(visit.view(), current, problem, pause);
    if (isStoppedForChange(current)) return held;
    const about = { at: view, record: current, known: changeIn(current) };
    return { ...held, record: { ...current, change: newChange(about, keyOfChange(step.changes)) } };
  }
  if (step.do === 'stop') return turn(visit, current, { ...step, change: { ...step.change, ...cost } }, line);
  return send(visit, current, step.changes, line, cost);
}

interface Line {
  session: Session;
  server: Server;
  mayAct: () => boolean;
}

const priceIn = ({ price, isUnpriced }: RecordedChange): Cost => ({ price, isUnpriced });

/** What the server will cost after these changes, for which the visit reserves room. Empty if they do not concern the price. */
async function costOf(
  visit: Visit,
  record: Held,
  changes: readonly FieldChange[],
  { session, server }: Line,
): Promise<Cost | Full> {
  if (!concernsPrice(changes)) return {};
  const { quota } = visit.services;
  const { object } = visit;
  const { namespace, uid } = object.metadata;
  const needsList = quota.needsList(namespace, modelOf(object.spec));
  const prices = needsList ? (await session.prices(FURTHER_AGE_MS)).list : undefined;
  const present = {
    price: recordedPrice(record)?.amount,
    listed: prices && listedNow(object, server, changes, prices),
  };
  const place = quota.reserveChange(namespace, uid, wantedBy(object, prices), present);
  if ('full' in place) return place;
  visit.reserves(place);
  const { price } = place;
  return price === undefined ? { price, isUnpriced: true } : { price, isUnpriced: undefined };
}

/** What the server costs now by the list of prices; undefined if the list does not tell it from what the server should become. */
function listedNow(
  { spec }: VirtualServer,
  { product, specs = {} }: Server,
  changes: readonly FieldChange[],
  prices: PriceList,
): number | undefined {
  const isListed = changes.every(({ field }) => !field.startsWith('advanced.extra'));
  const { diskSize } = specs;
  if (!isListed || product === undefined || diskSize === undefined) return undefined;
  return listedPrice({ ...modelOf(spec), product, diskSize }, prices);
}

/**
 * Sends the change. The record notes the request first, and what it may cost: it counts whatever becomes of the answer and of this
 * process.
 */
async function send(
  visit: Visit,
  record: Held,
  changes: readonly FieldChange[],
  { session, mayAct }: Line,
  cost: Cost,
): Promise<Outcome> {
  const before = visit.view();
  const change = newChange({ at: before, record, known: changeIn(record) }, keyOfChange(changes));
  const unsent: Held = { ...withTakenBack(before, record, changes), change };
  const sent = withRequest(unsent, change.change, cost, before.now);
  if (!isNoted(sent, record)) {
    await visit.commit({ name: 'change', next: goOn(before.memo, { record: sent }) });
    if (visit.hasChangedSince(before)) return { ...lookAgain(visit.view(), record), record };
  }
  const maySend = visit.gate('change', record.identifier, mayAct);
  const answer = await answerOf(session.changeServer(record.identifier, changeBody(changes), maySend));
  return afterChange(visit.view(), { record, unsent, sent, change }, answer);
}

/**
 * What the answer to the change means. `record`: before it was to be sent; `unsent`: with `change`, but without the request; `sent`: with both.
 * Pure.
 */
function afterChange(
  at: View,
  { record, unsent, sent, change }: { record: Held; unsent: Held; sent: Held; change: RecordedChange },
  answer: Answered,
): Outcome {
  const noted = (next: Held, change: RecordedChange): Outcome =>
    goOn(cleared(at, record), { record: { ...next, change } });
  if (answer.ok && answer.value === 'accepted') {
    return noted(lastSentAt(sent, at.now), { ...change, acceptedAt: timestamp(at.now) });
  }
  if (answer.ok) return noted(unsent, { ...change, isUnavailable: true });
  const isStopped = changeIn(record)?.phase !== undefined;
  const failedSends = isStopped ? (changingOf(at, record)?.failedSends ?? 0) + 1 : 0;
  const { error } = answer;
  const isLongPause = isStopped && (error.retryAfterMs ?? 0) > LONGEST_PAUSE_MS;
  const isLast = failedSends >= MOST_FAILURES || isLongPause;
  const came = cameOf(answer);
  const isLost = came === 'unclear';
  if (came === 'refused' || isLast) {
    const next = isLost ? lastSentAt(sent, at.now) : unsent;
    return { ...noted(next, refusedFor(change, saidBy(error))), error };
  }
  const isRepeated = isLost && !isStopped && failuresOf(at, record) + 1 >= MOST_LOST;
  const held = failedOnce(at, record, error, { failedSends }, isRepeated ? LOST_PAUSE_MS : 0);
  return { ...held, record: isLost ? lastSentAt(sent, at.now) : record };
}

/** Shuts the server down, or starts it. The record notes it first, so the server runs again in the end. */
async function turn(
  visit: Visit,
  record: Held,
  step: Exclude<ChangeStep, { do: 'send' }>,
  { session, mayAct }: Line,
): Promise<Outcome> {
  const before = visit.view();
  const memo = step.do === 'stop' ? toStop(before, record) : before.memo;
  const noted = { ...(step.do === 'stop' ? withStop({ ...before, memo }, record) : record), change: step.change };
  await visit.commit({ name: 'change', next: goOn(memo, { record: noted }) });
  const view = visit.view();
  if (visit.hasChangedSince(before)) return lookAgain(view, record);
  const call = step.do === 'stop' ? 'shutdown' : 'power-on';
  const { product } = view.object.spec;
  const maySend = visit.gate(call, record.identifier, mayAct);
  const answer = await switchServer(session, record.identifier, { call, product }, maySend);
  return afterTurn(visit.view(), { record, noted }, step, answer);
}

/** What the answer about the power means. `noted`: the record with the request, which may count one more shutdown than `before`. Pure. */
function afterTurn(
  at: View,
  { record: before, noted: record }: { record: Held; noted: Held },
  { do: what, change: asked }: Exclude<ChangeStep, { do: 'send' }>,
  answer: Answered,
): Outcome {
  if (answer.ok && answer.value === 'accepted') {
    const { identifier } = record;
    const requests = seenRequests(at, record);
    if (what === 'stop') {
      const seen = askedIn(at, record, { isLost: false });
      // A server that started on its own does not give the change any number of tries.
      const failedSends = changingOf(at, record)?.failedSends;
      const change: Changing = { identifier, failures: 0, failedSends, isAsked: true, seen, requests };
      return goOn(withEvidence(withoutPlan(at.memo), { change }));
    }
    const seen = seenIn(at, record);
    // A server takes a while to start. One that never does is asked less and less often.
    const failures = failuresOf(at, record) + 1;
    const retryAt = at.monotonic + backoffMs(failures, at.jitter, START_MS);
    return goOn(withEvidence(withoutPlan(at.memo), { change: { identifier, failures, retryAt, seen, requests } }));
  }
  if (what === 'start') {
    const said = `Starting server ${record.identifier}, which was shut down for a change, failed: the provider has no such call`;
    return answer.ok ? heldBack(at, record, { said }, at.timing.pollMs) : failedOnce(at, record, answer.error);
  }
  const uncounted: Held = { ...record, tries: before.tries };
  const noted = (change: RecordedChange): Outcome => goOn(cleared(at, record), { record: { ...uncounted, change } });
  // An earlier request may still shut it down.
  if (answer.ok) return noted({ ...unreserved(asked), phase: 'start', isUnavailable: true });
  const { error } = answer;
  if (cameOf(answer) === 'refused') return { ...noted({ ...refusedFor(asked, saidBy(error)), phase: 'start' }), error };
  const failedStops = (changingOf(at, record)?.failedStops ?? 0) + 1;
  const isLost = cameOf(answer) === 'unclear';
  const seen = askedIn(at, record, { isLost });
  // An earlier one without an answer still counts.
  const isCounted = isLost || changingOf(at, record)?.isCounted === true;
  const next = failedOnce(at, record, error, { failedStops, seen, isCounted });
  return isLost ? next : { ...next, record: uncounted };
}

const saidBy = ({ message }: ProviderError): string => cutSaid(capitalized(message));

const failuresOf = (at: View, record: Held): number => changingOf(at, record)?.failures ?? 0;

/** A server may show no address while it is off. It does not stay off for that: after some reads, the change is given up. Pure. */
function unrecognized(at: View, record: Held, changes: readonly FieldChange[], said: string): Outcome {
  const { failedSends: before = 0 } = changingOf(at, record) ?? {};
  const failedSends = before + 1;
  if (failedSends < MOST_FAILURES) return heldBack(at, record, { said }, at.timing.pollMs, { failedSends });
  const change = newChange({ at, record, known: changeIn(record) }, keyOfChange(changes));
  return goOn(cleared(at, record), { record: { ...record, change: refusedFor(change, cutSaid(said)) } });
}

/** The call may have had an effect or not: the next read tells, and then it is repeated if needed. */
function failedOnce(
  at: View,
  record: Held,
  error: ProviderError,
  more: Partial<Changing> = {},
  atLeastMs = 0,
): Outcome {
  const failures = failuresOf(at, record) + 1;
  const pause = backoffMs(failures, at.jitter, Math.max(atLeastMs, error.retryAfterMs ?? 0));
  const later = atLeastMs > 0 ? `. The operator sends the change again in ${durationText(pause)}` : '';
  const said = `${capitalized(callProblem(error))}${later}`;
  return { ...heldBack(at, record, { said }, pause, { failures, ...more }), error };
}

function heldBack(
  at: View,
  record: Held,
  problem: NonNullable<Changing['problem']>,
  pause: number,
  more: Partial<Changing> = {},
): Outcome {
  const known = without(changingOf(at, record) ?? { identifier: record.identifier, failures: 0 }, 'due');
  const change: Changing = { ...known, retryAt: at.monotonic + pause, problem, ...more };
  return goOn(withEvidence(withoutPlan(at.memo), { change }));
}

/** Reads the server again, which tells what is next. */
function lookAgain(at: View, record: Held): Outcome {
  const known = changingOf(at, record);
  const memo = withoutPlan(at.memo);
  return goOn(withEvidence(memo, { change: known && { ...known, due: undefined } }));
}

/** Before a shutdown: the limit does not stop the change now, and an earlier shutdown no longer counts. */
function toStop(at: View, record: Held): View['memo'] {
  const known = changingOf(at, record);
  if (known === undefined) return at.memo;
  const { problem, failedStops, isCounted } = known;
  const isFirst = !isStoppedForChange(record);
  const change: Changing = {
    ...known,
    isAsked: undefined,
    isCounted: isFirst ? undefined : isCounted,
    failedStops: isFirst ? undefined : failedStops,
    problem: problem?.isLimit === true ? undefined : problem,
  };
  return withEvidence(at.memo, { change });
}

function cleared(at: View, record: Held): View['memo'] {
  const { identifier } = record;
  return withEvidence(withoutPlan(at.memo), {
    change: { identifier, failures: 0, seen: changingOf(at, record)?.seen, requests: seenRequests(at, record) },
  });
}
