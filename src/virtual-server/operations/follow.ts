/** Follows the task of an order until it names a server and ends. */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import { without } from '../../base/without.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { timestamp } from '../../base/duration.ts';
import { MAX_IDENTIFIER, isNamed, mirrorIn, type ServerRecord, type Following, type Held } from '../../api/record.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import type { ProviderError } from '../../provider/error.ts';
import { hasAccepted, isSameAccount, isSameProvider } from '../decision/identity.ts';
import { withEvidence, withoutDenials, withoutFailures, type Memo } from '../decision/memo.ts';
import { failed, goOn, goneUnasked, parked, endVisit, retryLater, withoutKey } from '../decision/outcome.ts';
import { invisible, saysFailure, shorten, taskVerdict, vanished, withSilence } from '../decision/silent-task.ts';
import { nextPoll, runsForMs } from '../decision/next-poll.ts';
import { taskField } from '../decision/server-status.ts';
import { forgottenFailure, taskFailed, type PolledRecord } from '../decision/create-failure.ts';
import type { Outcome, Operation, Park, TaskAnswer } from '../decision/types.ts';
import { withoutOpen } from '../decision/open.ts';
import { accountOf, isOverdue, withMemo, type View } from '../decision/view.ts';
import { RESTORE_KEY, namesOf } from '../decision/sentences.ts';
import type { Visit } from '../visit.ts';
import { pollTask } from './reads.ts';

export async function follow(
  visit: Visit,
  at: View,
  { record, task }: Extract<Operation, { type: 'follow' }>,
): Promise<Outcome> {
  const shared = taskInTwo(at, record, task);
  if (shared !== undefined) return parked(at, shared);

  const key = await visit.key(at);
  if (!key.ok) return goneUnasked(visit.view()) ?? withoutKey(visit.view(), 'follow', key.error);
  const known = visit.view();
  const other = taskOfAnotherAccount(known, record, task);
  if (other !== undefined) return parked(known, other);

  const answer = await pollTask(task, record.account, key.value.session);
  if (answer.type === 'taskNotFound') visit.suspectKey();
  if (answer.type === 'pending' && answer.identifier !== undefined) {
    const runs = async (): Promise<boolean> =>
      (await pollTask(task, record.account, key.value.session)).type === 'pending';
    await key.value.session.learnListing(answer.identifier, runs);
  }
  const now = visit.view();
  if (answer.type === 'complete') learn(visit, now, record);
  return afterPoll(now, record, answer);
}

/** The task has ended somewhere between the last two polls. */
function learn({ object, services }: Visit, { memo, now, monotonic }: View, { task, attemptedAt }: ServerRecord): void {
  const { polled } = memo;
  const took = runsForMs(attemptedAt, now);
  if (took === undefined) return;
  const since = polled !== undefined && polled.task === task ? monotonic - polled.at : took;
  services.taskTimes.add(object.spec.product, Math.max(0, took - since / 2));
}

/**
 * The provider has restarted its task numbers, so following this task could lead both objects to one server. An object
 * that already knows its server can tell when the task names another one.
 */
function taskInTwo({ object, others, timing }: View, record: ServerRecord, task: TaskNumber): Park | undefined {
  if (record.identifier !== undefined) return undefined;
  const holders = others.withTask(task, record.account);
  if (holders.length === 0) return undefined;
  const message = taskInUse(`Task ${task} is also the task of ${namesOf(holders, object)}`);
  return { verdict: { reason: 'TaskInUse', message }, when: { operation: 'follow', afterMs: timing.pollMs } };
}

/**
 * Each account counts its own tasks. Under another key of the same base URL, the identifier that the task named before
 * can prove that it is the same task. Without an identifier, the task may belong to any other order.
 */
function taskOfAnotherAccount(at: View, record: ServerRecord, task: TaskNumber): Park | undefined {
  const { object } = at;
  const account = accountOf(at);
  if (record.account === undefined || isSameAccount(record.account, account)) return undefined;
  if (record.identifier !== undefined && isSameProvider(record.account, account)) return undefined;
  const accepts = `task-${task}@${account ?? ''}`;
  if (hasAccepted(object, accepts)) return undefined;
  const why = 'the API key or the base URL is not the one that was used for the order';
  const message = unprovenTask(record, why);
  return {
    verdict: { reason: 'IdentityUnproven', message, subject: accepts },
    when: { operation: 'follow', afterMs: at.timing.pollMs },
  };
}

function unprovenTask({ task }: ServerRecord, why: string): string {
  return `Task ${task ?? ''} may belong to another order: ${why}. ${RESTORE_KEY}`;
}

/** `what`: the sentence that says what the two orders share. */
function taskInUse(what: string): string {
  return `${what}: the provider reuses task numbers. The operator does not follow the task`;
}

/** What the answer means for the object. Pure. */
export function afterPoll(asked: View, known: Following | Held, answer: TaskAnswer): Outcome {
  // The provider may have forgotten a task that has ended; the server tells.
  const isForbidden = answer.type === 'failed' && answer.error.code === 'PROVIDER_FORBIDDEN';
  if (isForbidden && known.identifier !== undefined)
    return goneUnasked(asked) ?? goOn(withSilence(asked.memo, { why: 'taskNotFound' }));
  if (answer.type === 'failed') {
    // Whatever the task answers for that long, the server can tell, and it can be cancelled.
    const isAsked = known.identifier !== undefined && isOverdue(known, asked.now) && isOfTask(answer.error);
    if (isAsked) return goneUnasked(asked) ?? goOn(withSilence(asked.memo, { why: 'overdue', message: undefined }));
    return goneUnasked(asked) ?? failed(asked, 'follow', answer.error);
  }
  const { vouched: before } = asked.memo.evidence;
  const memo = withEvidence(asked.memo, { vouched: undefined });
  const at = withMemo(asked, memo);
  if (answer.type === 'taskFailed') return taskFailed(at, withPolled(at, known), answer.error);
  if (answer.type === 'taskNotFound') {
    const forgotten = answer.counts ? forgottenFailure(at, withPolled(at, known)) : undefined;
    if (forgotten !== undefined) return forgotten;
    if (known.identifier !== undefined) return goOn(withSilence(memo, { why: 'taskNotFound' }));
    return answer.counts ? vanished(at, known) : invisible(at, known, answer.detail);
  }
  // The error of the task has passed.
  const record = known.createFailure === undefined ? known : without(known, 'createFailure');
  const named = withIdentifier(at, record, answer.identifier);
  if (named.type === 'other') return goOn(withSilence(memo, { why: 'renamed', named: answer.identifier ?? '' }));
  if (named.type === 'refused') return retryLater(at, 'follow', { record, verdict: named.verdict }, at.timing.pollMs);
  const found = named.record;
  const vouched = withEvidence(vouchedBy(at, found), { failure: undefined });
  if (answer.type === 'pending') {
    // The API server has refused the status that was to keep the identifier.
    const isRefused = before !== undefined && before.identifier === found.identifier;
    return pending(withMemo(at, vouched), found, answer.status, { known, isRefused });
  }
  const task = { state: 'over', identifier: found.identifier ?? answer.identifier } as const;
  const over = withEvidence(withoutFailures(withoutDenials(without(vouched, 'polled'))), { task });
  return goOn(over, found === known ? {} : { record: found });
}

/** An answer that may be about this task alone. */
const isOfTask = ({ code }: ProviderError): boolean => code === 'PROVIDER_RESPONSE' || code === 'PROVIDER_PROTOCOL';

/** What the answer of a task says about the server of this object. */
type NamedServer =
  /** The record, with the server that the task names, if it names one. */
  | { type: 'accepted'; record: Following | Held }
  /** The server cannot be the one of this object, or it is not certain that it is. */
  | { type: 'refused'; verdict: Verdict }
  /** The task names another server than before, because the provider has reused its number for another order. */
  | { type: 'other' };

/** Adds the server that the task names to the record, if it can be the server of this object. */
function withIdentifier(at: View, record: Following | Held, identifier: string | undefined): NamedServer {
  const { object } = at;
  const account = accountOf(at);
  const isOwnAccount = record.account === undefined || account === undefined || isSameAccount(record.account, account);
  const current = isOwnAccount ? record : { ...record, account };
  const isKnown = identifier !== undefined && isSameIdentifier(identifier, record.identifier);
  const accepts = `task-${record.task ?? ''}@${account ?? ''}`;
  const isAccepted = isOwnAccount || hasAccepted(object, accepts);
  // Number and identifier may belong to an order of the other account. Keep the record's account, so that a 404 of the
  // other account does not count before that account shows the server.
  if (isKnown) return { type: 'accepted', record: isAccepted ? current : record };
  if (!isAccepted) {
    const why = 'with the present API key it does not name the server that it named before';
    const verdict = { reason: 'IdentityUnproven', message: unprovenTask(record, why), subject: accepts } as const;
    return { type: 'refused', verdict };
  }
  if (identifier === undefined) return { type: 'accepted', record: current };
  if (record.identifier !== undefined) return { type: 'other' };
  if (identifier.length === 0 || identifier.length > MAX_IDENTIFIER) {
    const message =
      `The task names a server whose identifier has ${identifier.length} characters (${shorten(identifier)}), but the ` +
      `operator supports 1 to ${MAX_IDENTIFIER}. The operator keeps polling. Report this to the provider`;
    return { type: 'refused', verdict: { reason: 'ProviderProtocolError', message } };
  }
  const holders = at.others.withServer(identifier, current);
  if (holders.length === 0) return { type: 'accepted', record: { ...current, identifier } };
  const what = `Task ${record.task} names server ${identifier}, which belongs to ${namesOf(holders, object)}`;
  return { type: 'refused', verdict: { reason: 'TaskInUse', message: taskInUse(what) } };
}

/** Adds the server that the task named before it failed, if no status shows it yet. */
function withPolled(at: View, known: Following | Held): PolledRecord {
  const { polled } = at.memo;
  if (known.identifier !== undefined || polled?.task !== known.task || polled.identifier === undefined)
    return { known, record: known };
  const named = withIdentifier(at, known, polled.identifier);
  return { known, record: named.type === 'accepted' ? named.record : known };
}

/** The memo after a task has named a server. */
function vouchedBy(at: View, { identifier }: ServerRecord): Memo {
  const account = accountOf(at);
  if (identifier === undefined || account === undefined) return at.memo;
  return withEvidence(at.memo, { vouched: { identifier, account } });
}

/** `known`: the record before the task answered. `isRefused`: the mirror cannot be written. */
function pending(
  at: View,
  found: ServerRecord,
  message: string | undefined,
  { known, isRefused }: { known: ServerRecord; isRefused: boolean },
): Outcome {
  const settling = withMemo(at, withoutTaskDenials(at.memo));
  const { object, deleting } = settling;
  const task = found.task ?? 0;
  const overdue = isOverdue(found, settling.now);
  const failed = saysFailure(message);
  // The task may never end, or its number may belong to another order now. Reading the server itself can tell.
  if ((overdue || failed) && found.identifier !== undefined && settling.memo.evidence.task?.state !== 'silent') {
    return goOn(withSilence(settling.memo, { why: 'overdue', message }), found === known ? {} : { record: found });
  }
  const verdict = taskVerdict(found, message, {
    deleting: deleting ? object.spec : undefined,
    overdue,
    failed,
  });
  const isAsBefore = found.open?.reason === verdict.reason && found.doubt === undefined;
  const record = isAsBefore ? found : withoutOpen(found);
  const isNew = record !== known;
  const { afterMs, endsInMs, polled: answers } = nextPoll(record, message, settling);
  const polled = { ...answers, identifier: record.identifier };
  const isExpected = endsInMs !== undefined && !overdue && !failed;
  const expectedAt = isExpected ? timestamp(settling.now + endsInMs) : undefined;
  const parts = { record, fields: { task: taskField(task, message, expectedAt) }, verdict };
  if (overdue) return retryLater(settling, 'follow', parts, settling.timing.pollMs, isNew ? record : undefined);
  const plan = { operation: 'follow', afterMs } as const;
  // The annotation may lack the identifier while the server is being created (record.ts): one write less.
  const wasOpen = known.createFailure !== undefined || withoutOpen(known) !== known;
  const isSame = record.account === known.account && !wasOpen;
  const isInMirror = verdict.reason === 'Creating' && isSame && !isRefused;
  const memo = { ...withoutFailures(settling.memo), polled, toldAt: settling.monotonic };
  const next = endVisit(settling, parts, plan, memo, isNew && !isInMirror ? record : undefined);
  if (verdict.reason !== 'Creating') return next;
  const untold = { ...without(next, 'status'), memo: { ...next.memo, toldAt: settling.memo.toldAt } };
  const isSoon = isSoonOver(settling, record, afterMs);
  if (!isNew) return isToldAlready(settling, task) || (isNamed(record) && isSoon) ? untold : next;
  if (isRefused || !isSoon) return next;
  // The next poll finds the identifier again.
  return { ...untold, memo: withEvidence(untold.memo, { vouched: undefined }) };
}

/**
 * The next poll would replace this status within seconds. Until then, another process finds the
 * identifier as this one did, by the task.
 */
function isSoonOver({ object, now }: View, { attemptedAt }: ServerRecord, afterMs: number): boolean {
  const isFirst = mirrorIn(object.status) === undefined;
  return isFirst && (runsForMs(attemptedAt, now) ?? Infinity) + afterMs <= SHORT_MS;
}

/** The status shows a task only if it runs longer than this (ms). */
const SHORT_MS = 3_000;

/** With frequent polls, progress is written only this often (ms) or every ten polls, because each text costs a write. */
const PROGRESS_MS = 10_000;

/** True if the status already says, and has said for a short time only, that this task runs. */
function isToldAlready({ object, memo, monotonic, timing }: View, task: TaskNumber): boolean {
  const { status, metadata } = object;
  const isCurrent = status?.observedGeneration === metadata.generation && status.task?.id === task;
  if (!isCurrent) return false;
  const { toldAt = -Infinity } = memo;
  return monotonic - toldAt < Math.min(PROGRESS_MS, 10 * timing.pollMs);
}

/** Keeps denials of the server when the task answers: a `not-created` annotation counts only with them. */
function withoutTaskDenials(memo: Memo): Memo {
  return memo.evidence.denials?.of.startsWith('task ') === true ? withoutDenials(memo) : memo;
}
