/**
 * Changes a server in place where spec differs from it, one step at a time: sends the change, or shuts the server down first
 * and starts it again after that. The price limit has its say before the first of these steps. Each step begins with live reads of server and object, and the next read (look.ts) tells
 * what came of it. So a step that was lost is repeated, and none is needed twice.
 */
import type { Held, RecordedChange } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { timestamp } from '../../base/duration.ts';
import { capitalized } from '../../base/text.ts';
import { without } from '../../base/without.ts';
import { backoffMs, callProblem } from '../../accounts/decision/failure.ts';
import { answerOf, type ProviderError } from '../../provider/error.ts';
import type { PriceList, Server, Session } from '../../provider/types.ts';
import {
  changeBody,
  changeIn,
  changingOf,
  concernsPrice,
  courseOf,
  hasPrice,
  isStoppedForChange,
  keyOfChange,
  newChange,
  askedIn,
  refusedFor,
  seenIn,
  unlessSent,
  type FieldChange,
  type ChangeStep,
} from '../decision/change.ts';
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
  // As strict as before a DELETE. But the process that has shut a server down starts it again, as long as a read tells that it is the same.
  const known = recognizeFor('cancel', view, record, answer);
  if (!known.ok && step.do !== 'start') {
    const said = `Server ${record.identifier} is not changed: ${known.error.why}`;
    return heldBack(view, record, { said }, view.timing.resyncMs);
  }
  const line = { session, server: answer.server, maySend: (): boolean => visit.mayActOn(liveAt) };
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
  const isFirst = own?.isOpen !== true;
  const sending = isFirst ? opened(view, current, step.changes) : current;
  if (isFirst) {
    const { inputs } = visit.view();
    await visit.commit({ name: 'change', next: goOn(visit.view().memo, { record: sending }) });
    if (visit.view().inputs !== inputs) return lookAgain(visit.view(), sending);
  }
  const sent = await answerOf(session.changeServer(record.identifier, changeBody(step.changes), line.maySend));
  return afterChange(visit.view(), { record: sending, isFirst }, step.changes, sent, cost);
}

/** Tells before the request that it may be under way: from now on, spec does not return to what the server has. */
function opened(at: View, record: Held, changes: readonly FieldChange[]): Held {
  const change = newChange({ at, record, known: changeIn(record) }, keyOfChange(changes));
  return { ...record, change: { ...change, isOpen: true } };
}

interface Line {
  session: Session;
  server: Server;
  maySend: () => boolean;
}

type Cost = Pick<RecordedChange, 'price' | 'isUnpriced'>;

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

/** What the answer to the change means. `isFirst`: no earlier request of a change may still have an effect. Pure. */
function afterChange(
  at: View,
  { record, isFirst }: { record: Held; isFirst: boolean },
  changes: readonly FieldChange[],
  answer: Answered,
  cost: Cost,
): Outcome {
  const known = changeIn(record);
  const begun = newChange({ at, record, known }, keyOfChange(changes));
  const ended = isFirst ? without(begun, 'isOpen') : begun;
  const noted = (change: RecordedChange): Outcome => goOn(cleared(at, record), { record: { ...record, change } });
  if (answer.ok && answer.value === 'accepted') return noted({ ...begun, ...cost, sentAt: timestamp(at.now) });
  if (answer.ok) return noted({ ...ended, isUnavailable: true });
  const failedSends = known?.phase === undefined ? 0 : (changingOf(at, record)?.failedSends ?? 0) + 1;
  const isLast = failedSends >= MOST_FAILURES;
  const { error } = answer;
  const came = cameOf(answer);
  if (came === 'refused' || isLast) {
    const refused = saidBy(error);
    // What may have been made all the same keeps its price until later reads tell.
    const open = begun.price === undefined ? { ...begun, ...cost } : begun;
    return { ...noted(came === 'unclear' ? { ...open, refused } : refusedFor(ended, refused)), error };
  }
  const seen = seenIn(at, record);
  return failedOnce(at, record, error, { failedSends, seen: seen && { ...seen, lostSendAt: at.monotonic } });
}

/** Shuts the server down, or starts it. The record notes it first, so the server runs again in the end. */
async function turn(
  visit: Visit,
  record: Held,
  step: Exclude<ChangeStep, { do: 'send' }>,
  { session, maySend }: Line,
): Promise<Outcome> {
  const { inputs } = visit.view();
  const memo = step.do === 'stop' ? toStop(visit.view(), record) : visit.view().memo;
  await visit.commit({ name: 'change', next: goOn(memo, { record: { ...record, change: step.change } }) });
  const view = visit.view();
  if (view.inputs !== inputs) return lookAgain(view, record);
  const call = step.do === 'stop' ? 'shutdown' : 'power-on';
  const { product } = view.object.spec;
  const answer = await switchServer(session, record.identifier, { call, product }, maySend);
  return afterTurn(visit.view(), { ...record, change: step.change }, step, answer);
}

/** What the answer about the power means. Pure. */
function afterTurn(
  at: View,
  record: Held,
  { do: what, change: asked }: Exclude<ChangeStep, { do: 'send' }>,
  answer: Answered,
): Outcome {
  if (answer.ok && answer.value === 'accepted') {
    const { identifier } = record;
    if (what === 'stop') {
      const seen = askedIn(at, record, 'accepted');
      // A server that started on its own does not give the change any number of tries.
      const failedSends = changingOf(at, record)?.failedSends;
      const change: Changing = { identifier, failures: 0, failedSends, isAsked: true, seen };
      return goOn(withEvidence(withoutPlan(at.memo), { change }));
    }
    const seen = seenIn(at, record);
    // A server takes a while to start. One that never does is asked less and less often.
    const failures = failuresOf(at, record) + 1;
    const retryAt = at.monotonic + backoffMs(failures, at.jitter, START_MS);
    return goOn(withEvidence(withoutPlan(at.memo), { change: { identifier, failures, retryAt, seen } }));
  }
  if (what === 'start') {
    const said = `Starting server ${record.identifier}, which was shut down for a change, failed: the provider has no such call`;
    return answer.ok ? heldBack(at, record, { said }, at.timing.pollMs) : failedOnce(at, record, answer.error);
  }
  const noted = (change: RecordedChange): Outcome => goOn(cleared(at, record), { record: { ...record, change } });
  // An earlier request may still shut it down.
  if (answer.ok) return noted({ ...unlessSent(asked), phase: 'start', isUnavailable: true });
  const { error } = answer;
  if (cameOf(answer) === 'refused') return { ...noted({ ...refusedFor(asked, saidBy(error)), phase: 'start' }), error };
  const failedStops = (changingOf(at, record)?.failedStops ?? 0) + 1;
  const seen = askedIn(at, record, cameOf(answer) === 'unclear' ? 'lost' : 'other');
  return failedOnce(at, record, error, { failedStops, seen });
}

const saidBy = ({ message }: ProviderError): string => cutSaid(capitalized(message));

const failuresOf = (at: View, record: Held): number => changingOf(at, record)?.failures ?? 0;

/** The call may have had an effect or not: the next read tells, and then it is repeated if needed. */
function failedOnce(at: View, record: Held, error: ProviderError, more: Partial<Changing> = {}): Outcome {
  const failures = failuresOf(at, record) + 1;
  const pause = backoffMs(failures, at.jitter, error.retryAfterMs);
  return { ...heldBack(at, record, { said: capitalized(callProblem(error)) }, pause, { failures, ...more }), error };
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
  const { problem, failedStops } = known;
  const isFirst = !isStoppedForChange(record);
  const change: Changing = {
    ...known,
    isAsked: undefined,
    failedStops: isFirst ? undefined : failedStops,
    problem: problem?.isLimit === true ? undefined : problem,
  };
  return withEvidence(at.memo, { change });
}

function cleared(at: View, record: Held): View['memo'] {
  const { identifier } = record;
  return withEvidence(withoutPlan(at.memo), {
    change: { identifier, failures: 0, seen: changingOf(at, record)?.seen },
  });
}
