/**
 * Changes a server in place where spec differs from it, one step at a time: sends the change, or shuts the server down first
 * and starts it again after that. Each step begins with live reads of server and object, and the next read (look.ts) tells
 * what came of it. So a step that was lost is repeated, and none is needed twice.
 */
import type { Held, RecordedChange } from '../../api/record.ts';
import { timestamp } from '../../base/duration.ts';
import { capitalized } from '../../base/text.ts';
import { backoffMs, callProblem } from '../../accounts/decision/failure.ts';
import { answerOf, isFinalRefusal, type ProviderError } from '../../provider/error.ts';
import type { FurtherAnswer, Session } from '../../provider/types.ts';
import {
  changeBody,
  changeIn,
  changingOf,
  concernsPrice,
  courseOf,
  isStoppedForChange,
  keyOfChange,
  newChange,
  type FieldChange,
  type ChangeStep,
} from '../decision/change.ts';
import { decide } from '../decision/decide.ts';
import { recognizeFor } from '../decision/identity.ts';
import { withEvidence, withoutPlan, type Changing } from '../decision/memo.ts';
import { noRoomToChange, wantedBy } from '../decision/order-limits.ts';
import { goOn } from '../decision/outcome.ts';
import { FURTHER_AGE_MS, modelOf, recordedPrice } from '../decision/price.ts';
import { cutSaid } from '../decision/sentences.ts';
import type { Operation, Outcome } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { readServer } from './reads.ts';
import type { Result } from '../../base/result.ts';

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
  // As strict as before a DELETE. But whoever has shut a server down starts it again, as long as a read tells that it is the same.
  const known = recognizeFor('cancel', view, record, answer);
  if (!known.ok && step.do !== 'start') {
    const said = `Server ${record.identifier} is not changed: ${known.error.why}`;
    return heldBack(view, record, { said }, view.timing.resyncMs);
  }
  const maySend = (): boolean => visit.mayActOn(liveAt);
  return step.do === 'send'
    ? send(visit, current, step.changes, { session, maySend })
    : turn(visit, current, step, { session, maySend });
}

interface Line {
  session: Session;
  maySend: () => boolean;
}

async function send(
  visit: Visit,
  record: Held,
  changes: readonly FieldChange[],
  { session, maySend }: Line,
): Promise<Outcome> {
  const { quota } = visit.services;
  const { object } = visit;
  const { namespace, uid } = object.metadata;
  let price: number | undefined;
  if (concernsPrice(changes)) {
    const needsList = quota.needsList(namespace, modelOf(object.spec));
    const prices = needsList ? (await session.prices(FURTHER_AGE_MS)).list : undefined;
    const present = recordedPrice(record)?.amount;
    const place = quota.reserveChange(namespace, uid, wantedBy(object, prices), present);
    if ('full' in place) {
      const view = visit.view();
      // A server that is off for the change is started at once.
      const pause = isStoppedForChange(record) ? 0 : view.timing.pollMs;
      return heldBack(view, record, { said: noRoomToChange(object, place), isLimit: true }, pause);
    }
    visit.reserves(place);
    ({ price } = place);
  }
  const answer = await answerOf(session.changeServer(record.identifier, changeBody(changes), maySend));
  return afterChange(visit.view(), record, changes, answer, price);
}

type Answer = Result<FurtherAnswer, ProviderError>;

/** What the answer to the change means. Pure. */
function afterChange(at: View, record: Held, changes: readonly FieldChange[], answer: Answer, price?: number): Outcome {
  const known = changeIn(record);
  const begun = newChange({ at, record, known }, keyOfChange(changes));
  const noted = (change: RecordedChange): Outcome => goOn(cleared(at, record), { record: { ...record, change } });
  if (answer.ok && answer.value === 'accepted')
    return noted({ ...begun, sentAt: timestamp(at.now), ...(price !== undefined && { price }) });
  if (answer.ok) return noted({ ...begun, isUnavailable: true });
  const isLast = known?.phase !== undefined && failuresOf(at, record) + 1 >= MOST_FAILURES;
  const { error } = answer;
  if (isFinalRefusal(error) || isLast) return { ...noted({ ...begun, refused: saidBy(error) }), error };
  return failedOnce(at, record, error);
}

/** Shuts the server down, or starts it. The record notes it first, so the server runs again in the end. */
async function turn(
  visit: Visit,
  record: Held,
  step: Exclude<ChangeStep, { do: 'send' }>,
  { session, maySend }: Line,
): Promise<Outcome> {
  const { inputs } = visit.view();
  await visit.commit({ name: 'change', next: goOn(visit.view().memo, { record: { ...record, change: step.change } }) });
  const view = visit.view();
  if (view.inputs !== inputs) return lookAgain(view, record);
  const power = step.do === 'stop' ? 'shutdown' : 'power-on';
  const answer = await answerOf(session.setPower(record.identifier, power, maySend));
  return afterTurn(visit.view(), { ...record, change: step.change }, step, answer);
}

/** What the answer about the power means. Pure. */
function afterTurn(
  at: View,
  record: Held,
  { do: what, change: asked }: Exclude<ChangeStep, { do: 'send' }>,
  answer: Answer,
): Outcome {
  if (answer.ok && answer.value === 'accepted') {
    const { identifier } = record;
    if (what === 'stop')
      return goOn(withEvidence(withoutPlan(at.memo), { change: { identifier, failures: 0, isAsked: true } }));
    // A server takes a while to start. One that never does is asked less and less often.
    const failures = failuresOf(at, record) + 1;
    const retryAt = at.monotonic + backoffMs(failures, at.jitter, START_MS);
    return goOn(withEvidence(withoutPlan(at.memo), { change: { identifier, failures, retryAt } }));
  }
  if (what === 'start') {
    const said = `Starting server ${record.identifier}, which was shut down for a change, failed: the provider has no such call`;
    return answer.ok ? heldBack(at, record, { said }, at.timing.pollMs) : failedOnce(at, record, answer.error);
  }
  const noted = (change: RecordedChange): Outcome => goOn(cleared(at, record), { record: { ...record, change } });
  // Nothing was shut down.
  const { phase: _phase, stoppedAt: _at, ...before } = asked;
  if (answer.ok) return noted({ ...before, isUnavailable: true });
  const { error } = answer;
  if (isFinalRefusal(error)) return { ...noted({ ...asked, phase: 'start', refused: saidBy(error) }), error };
  return failedOnce(at, record, error);
}

const saidBy = ({ message }: ProviderError): string => cutSaid(capitalized(message));

const failuresOf = (at: View, record: Held): number => changingOf(at, record)?.failures ?? 0;

/** The call may have had an effect or not: the next read tells, and then it is repeated if needed. */
function failedOnce(at: View, record: Held, error: ProviderError): Outcome {
  const failures = failuresOf(at, record) + 1;
  const pause = backoffMs(failures, at.jitter, error.retryAfterMs);
  return { ...heldBack(at, record, { said: capitalized(callProblem(error)) }, pause, failures), error };
}

function heldBack(
  at: View,
  record: Held,
  problem: NonNullable<Changing['problem']>,
  pause: number,
  failures = failuresOf(at, record),
): Outcome {
  const known = changingOf(at, record);
  const changing: Changing = {
    identifier: record.identifier,
    failures,
    retryAt: at.monotonic + pause,
    problem,
    isAsked: known?.isAsked,
  };
  return goOn(withEvidence(withoutPlan(at.memo), { change: changing }));
}

/** Reads the server again, which tells what is next. */
function lookAgain(at: View, record: Held): Outcome {
  const known = changingOf(at, record);
  const memo = withoutPlan(at.memo);
  return goOn(withEvidence(memo, { change: known && { ...known, due: undefined } }));
}

function cleared(at: View, { identifier }: Held): View['memo'] {
  return withEvidence(withoutPlan(at.memo), { change: { identifier, failures: 0 } });
}
