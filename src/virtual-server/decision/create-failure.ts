/**
 * An order whose task answers with an error: the provider says that the order failed. A server may exist all the same, and an
 * incident at the provider looks like this too. So the order counts as failed once the error stays; no server counts as
 * created once the named server is denied long enough; and only where the list of servers confirms that, another order
 * follows without you. Pure.
 */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord, Following, Held } from '../../api/record.ts';
import { durationText, timestamp } from '../../base/duration.ts';
import { ended } from '../../base/text.ts';
import type { ResponseError } from '../../provider/error.ts';
import { withFailedOrder } from './known-record.ts';
import { denied, graceOf, isProven, pauseOf } from './absence.ts';
import { withEvidence, withoutFailures, type Denials, type Failure } from './memo.ts';
import { doubtShown, endVisit, failed, goOn, recordToMirror, retryLater } from './outcome.ts';
import { taskVerdict, withoutSilence, withSilence } from './silent-task.ts';
import { taskField } from './server-status.ts';
import { cutSaid, denialText } from './sentences.ts';
import type { Operation, Outcome, ServerAnswer } from './types.ts';
import { isOverdue, park, withMemo, type OwnView, type View } from './view.ts';

/** How many answers in a row say that an order failed. */
const NEEDED = 3;
/** By their meaning in HTTP, these pass: they have to last for a grace period. */
const PASSING = new Set([502, 503, 504]);

/** A record, and the same with the server that the task named before its answer. */
export interface PolledRecord {
  known: Following | Held;
  record: Following | Held;
}

/** The task has answered with an error that says why the order failed. */
export function taskFailed(before: View, polled: PolledRecord, error: ResponseError): Outcome {
  const { record } = polled;
  const failure = failedAgain(before, record.task ?? 0, cutSaid(error.said));
  const at = withMemo(before, withEvidence(before.memo, { failure }));
  if (record.createFailure === undefined && !stays(failure, error.status, before)) {
    const isOutage = PASSING.has(error.status) || doubtShown(at) !== undefined;
    return isOutage ? failed(at, 'follow', error) : answeredWithError(at, record, error);
  }
  return confirmed(at, polled, failure.said);
}

/** Perhaps only this task fails, so advice about the URL and the network would mislead. If all calls fail, the others tell. */
function answeredWithError(at: View, record: Following | Held, error: ResponseError): Outcome {
  const message = `the provider answers with an error: ${ended(cutSaid(error.said))} The operator asks again before it counts the order as failed`;
  const { object, deleting, now } = at;
  const state = { deleting: deleting ? object.spec : undefined, overdue: isOverdue(record, now), failed: false };
  const verdict = taskVerdict(record, message, state);
  return { ...retryLater(at, 'follow', { record: recordToMirror(at), verdict }, error.retryAfterMs), error };
}

/** The provider has forgotten a failed task. Undefined if the task did not fail. */
export function forgottenFailure(at: View, polled: PolledRecord): Outcome | undefined {
  const { record } = polled;
  const { failure } = at.memo.evidence;
  const said = record.createFailure?.said ?? (failure?.task === record.task ? failure?.said : undefined);
  return said === undefined ? undefined : confirmed(at, polled, said);
}

function failedAgain({ memo, monotonic }: View, task: TaskNumber, said: string): Failure {
  const { failure } = memo.evidence;
  if (failure?.task !== task) return { task, said, count: 1, since: monotonic };
  return { ...failure, said, count: failure.count + 1 };
}

function stays({ count, since }: Failure, status: number, { monotonic, timing }: View): boolean {
  return count >= NEEDED && (!PASSING.has(status) || monotonic - since >= timing.absenceMs);
}

/** The order has failed. If the task has named a server, the server itself is read once. */
function confirmed(at: View, { known, record: before }: PolledRecord, said: string): Outcome {
  const generation = before.createFailure?.generation ?? at.object.metadata.generation;
  const record = before.createFailure?.said === said ? before : { ...before, createFailure: { said, generation } };
  const isNew = record !== known;
  if (record.identifier !== undefined) return goOn(withSilence(at.memo, { why: 'failed' }), isNew ? { record } : {});
  const verdict = verdictOf(record, 'The task has named no server, but the provider may have created one');
  const parts = { record, verdict, fields: { task: taskField(record.task, said) } };
  return retryLater(at, 'follow', parts, at.timing.pollMs, isNew ? record : undefined);
}

/** The order has failed, and the provider does not show its server. */
export function failedUnseen(
  before: View,
  record: ServerRecord,
  answer: Exclude<ServerAnswer, { type: 'server' }>,
): Outcome {
  const { task = 0, identifier = '', createFailure } = record;
  const fields = { task: taskField(task, createFailure?.said) };
  if (answer.type === 'failed' || !answer.counts) {
    const detail = answer.type === 'failed' ? ended(answer.error.message) : `${answer.detail}.`;
    const situation = `Whether server ${identifier} exists is not known: ${detail} The operator keeps checking`;
    const at = withMemo(before, withoutSilence(before.memo));
    return retryLater(at, 'follow', { record, fields, verdict: verdictOf(record, situation) }, at.timing.pollMs);
  }
  const denials = denied(before, `server ${identifier}`, answer.unlisted);
  const at = withMemo(before, withEvidence(withoutSilence(before.memo), { denials }));
  const grace = graceOf(at, record, denials);
  const isDenied = isProven(denials, grace, at);
  if (isDenied && denials.unlisted !== 'no' && record.attempt !== undefined)
    return goOn(withEvidence(at.memo, { createdNothing: { attempt: record.attempt, at: at.monotonic } }));
  const parts = {
    record,
    fields,
    verdict: verdictOf(record, situationOf(at, denialText(identifier, answer.isCancelled), denials, grace)),
  };
  if (isDenied) return retryLater(at, 'follow', parts, at.timing.pollMs);
  const plan = { operation: 'follow', afterMs: pauseOf(denials, grace, at) } as const;
  return endVisit(at, parts, plan, withoutFailures(at.memo));
}

function situationOf({ now, monotonic }: View, denial: string, { unlisted, since }: Denials, grace: number): string {
  if (unlisted === 'no')
    return (
      `${denial}, but it has no list of servers that proves that none was created. ` +
      'So the operator orders no other one without you'
    );
  const at = timestamp(now + Math.max(0, since + grace - monotonic));
  return (
    `${denial}, and its list of servers does not have it. If this lasts until ${at}, ` + 'the operator orders again'
  );
}

function verdictOf(record: ServerRecord, situation: string): Verdict {
  const { task = '', createFailure } = record;
  const said = createFailure?.said ?? '';
  const message = `${ended(said)} The order failed (task ${task}). ${situation}`;
  return { reason: 'CreateFailed', message, subject: said };
}

const BASE_MS = 10_000;
const MAX_MS = 60 * 60_000;

/** How long after the n-th failed order (n >= 1) the next one follows (ms): doubles from ten seconds to an hour. */
function pauseAfterFailed(count: number): number {
  return Math.min(MAX_MS, BASE_MS * 2 ** Math.min(count - 1, 20));
}

/** How long the proof that an order created nothing justifies the next order (ms). */
const PROOF_MS = 30_000;

/** The order has failed, and the list of servers proves that it created no server: another order may follow after a pause. */
export function createHasFailed({ own, object, memo, monotonic, now }: OwnView): Operation | undefined {
  const { createdNothing } = memo.evidence;
  if (own.createFailure === undefined || createdNothing?.attempt !== own.attempt) return undefined;
  if (createdNothing === undefined || monotonic - createdNothing.at > PROOF_MS) return undefined;
  const retryAt = timestamp(now + pauseAfterFailed((own.failed?.length ?? 0) + 1));
  const isEdited = own.createFailure.generation !== object.metadata.generation;
  return { type: 'record', record: withFailedOrder(own, isEdited ? undefined : retryAt), why: 'createFailed' };
}

/** The next order waits; a plan that this process has made already knows what you have changed since. */
export function nextOrderWaits({ own, memo, now }: View): Operation | undefined {
  const last = own?.failed?.at(-1);
  if (own?.failed === undefined || last?.retryAt === undefined || memo.plan?.operation === 'order') return undefined;
  const left = Math.min(Date.parse(last.retryAt) - now, pauseAfterFailed(own.failed.length));
  if (left <= 0) return undefined;
  const at = timestamp(now + left);
  const message =
    `${ended(last.said ?? '')} The last order failed and created no server: the provider's list of servers does not have ` +
    `server ${last.identifier}. The operator orders again in ${durationText(left)} (at ${at}), and at once when you change ` +
    `spec or the annotation ${RECONCILE_AT_ANNOTATION}`;
  return park('CreateBackOff', message, { operation: 'order', afterMs: left });
}
