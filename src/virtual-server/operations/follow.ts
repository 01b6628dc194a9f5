/** Follows the task of an order until it names a server and ends. */
import { currentReason, type Verdict } from '../../controller/conditions.ts';
import { MAX_IDENTIFIER, type ServerRecord } from '../../api/record.ts';
import type { VirtualServerSpec, VirtualServerStatus } from '../../api/virtual-server.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import { cut } from '../../base/text.ts';
import { denied, isProven, pauseOf, unprovenVerdict } from '../decision/absence.ts';
import { isAcceptedWord, isSameAccount, isSameProvider } from '../decision/identity.ts';
import { withEvidence, withoutDenials, withoutFailures, type Memo, type Silence } from '../decision/memo.ts';
import { failed, goOn, goneUnasked, jittered, parked, rest, retryLater, withoutKey } from '../decision/next.ts';
import { taskField } from '../decision/status.ts';
import type { Next, Operation, Park, TaskAnswer } from '../decision/types.ts';
import { accountOf, isOverdue, withMemo, type View } from '../decision/view.ts';
import { namesOf, taskInUse, taskNotVisible, unprovenTask } from '../decision/words.ts';
import type { Visit } from '../visit.ts';
import { pollTask } from './reads.ts';

export async function follow(visit: Visit, { record, task }: Extract<Operation, { type: 'follow' }>): Promise<Next> {
  const shared = taskInTwo(visit.view(), record, task);
  if (shared !== undefined) return parked(visit.view(), shared);

  const key = await visit.key();
  if (!key.ok) return goneUnasked(visit.view()) ?? withoutKey(visit.view(), 'follow', key);
  const other = taskOfAnotherAccount(visit.view(), record, task);
  if (other !== undefined) return parked(visit.view(), other);

  const answer = await pollTask(task, record.account, key.session);
  if (answer.type === 'taskNotFound') visit.suspectKey();
  return afterPoll(visit.view(), record, answer);
}

/**
 * The provider has restarted its task numbers, so following this task could lead both objects to one server. An object
 * that already knows its server can tell when the task names another one.
 */
export function taskInTwo({ object, facts }: View, record: ServerRecord, task: number): Park | undefined {
  if (record.identifier !== undefined) return undefined;
  const holders = facts.others.withTask(task, record.account);
  if (holders.length === 0) return undefined;
  const message = taskInUse(`Task ${task} is also the task of ${namesOf(holders, object)}`);
  return { verdict: { reason: 'TaskInUse', message }, retry: 'follow', afterMs: facts.timing.pollMs };
}

/**
 * Each account counts its own tasks. Under another key of the same base URL, the identifier that the task named before
 * can prove that it is the same task. Without an identifier, the task may belong to any other order.
 */
export function taskOfAnotherAccount({ object, facts }: View, record: ServerRecord, task: number): Park | undefined {
  const account = accountOf(facts);
  if (record.account === undefined || isSameAccount(record.account, account)) return undefined;
  if (record.identifier !== undefined && isSameProvider(record.account, account)) return undefined;
  const word = `task-${task}@${account ?? ''}`;
  if (isAcceptedWord(object, word)) return undefined;
  const why = 'the API key or the base URL is not the one that was used for the order';
  const message = unprovenTask(record, why);
  return {
    verdict: { reason: 'IdentityUnproven', message, subject: word },
    retry: 'follow',
    afterMs: facts.timing.pollMs,
  };
}

/** What the answer means for the object. Pure. */
export function afterPoll(asked: View, record: ServerRecord, answer: TaskAnswer): Next {
  if (answer.type === 'failed') return goneUnasked(asked) ?? failed(asked, 'follow', answer.error);
  const { vouched: before } = asked.facts.memo.evidence;
  const memo = withEvidence(asked.facts.memo, { vouched: undefined });
  const at = withMemo(asked, memo);
  if (answer.type === 'taskNotFound') {
    if (record.identifier !== undefined) return goOn(withSilence(memo, { why: 'taskNotFound' }));
    return answer.counts ? vanished(at, record) : invisible(at, record, answer.detail);
  }
  const named = withIdentifier(at, record, answer.identifier);
  if ('problem' in named) return mistaken(at, record, named.problem);
  if ('isOther' in named) return goOn(withSilence(memo, { why: 'renamed', named: answer.identifier ?? '' }));
  if ('verdict' in named) return retryLater(at, 'follow', { record, verdict: named.verdict }, at.facts.timing.pollMs);
  const vouched = vouchedBy(at, named);
  if (answer.type === 'pending') {
    // The API server has refused the status that was to keep the identifier.
    const isRefused = before !== undefined && before.identifier === named.identifier;
    return pending(withMemo(at, vouched), named, answer.status, { known: record, isRefused });
  }
  const task = { state: 'over', identifier: named.identifier ?? answer.identifier } as const;
  const over = withEvidence(withoutFailures(withoutDenials(vouched)), { task });
  return goOn(over, named === record ? {} : { record: named });
}

/**
 * `isOther`: the task names another server than before, because the provider has reused its number for another order.
 */
type NamedServer = ServerRecord | { problem: string } | { verdict: Verdict } | { isOther: true };

/** Adds the server that the task names to the record, if it can be the server of this object. */
function withIdentifier(at: View, record: ServerRecord, identifier: string | undefined): NamedServer {
  const { object, facts } = at;
  const account = accountOf(facts);
  const isOwnAccount = record.account === undefined || account === undefined || isSameAccount(record.account, account);
  const current = isOwnAccount ? record : { ...record, account };
  const isKnown = identifier !== undefined && isSameIdentifier(identifier, record.identifier);
  const word = `task-${record.task ?? ''}@${account ?? ''}`;
  const isAccepted = isOwnAccount || isAcceptedWord(object, word);
  // Number and identifier may belong to an order of the other account. Keep the record's account, so that a 404 of the
  // other account does not count before that account shows the server.
  if (isKnown) return isAccepted ? current : record;
  if (!isAccepted) {
    const why = 'with the present API key it does not name the server that it named before';
    return { verdict: { reason: 'IdentityUnproven', message: unprovenTask(record, why), subject: word } };
  }
  if (identifier === undefined) return current;
  if (record.identifier !== undefined) return { isOther: true };
  if (identifier.length === 0 || identifier.length > MAX_IDENTIFIER) {
    return {
      problem:
        `The task names a server whose identifier has ${identifier.length} characters (${shorten(identifier)}), but the ` +
        `operator supports 1 to ${MAX_IDENTIFIER}. The operator keeps polling. Report this to the provider`,
    };
  }
  const holders = facts.others.withServer(identifier, current);
  if (holders.length === 0) return { ...current, identifier };
  const what = `Task ${record.task ?? ''} names server ${identifier}, which belongs to ${namesOf(holders, object)}`;
  return { verdict: { reason: 'TaskInUse', message: taskInUse(what) } };
}

/** The memo after a task has named a server. */
function vouchedBy({ facts }: View, { identifier }: ServerRecord): Memo {
  const account = accountOf(facts);
  if (identifier === undefined || account === undefined) return facts.memo;
  return withEvidence(facts.memo, { vouched: { identifier, account } });
}

const shorten = (text: string): string => (text.length > 64 ? `${cut(text, 64)}...` : text);

function mistaken(at: View, record: ServerRecord, problem: string): Next {
  return retryLater(
    at,
    'follow',
    { record, verdict: { reason: 'ProviderProtocolError', message: problem } },
    at.facts.timing.pollMs,
  );
}

/** `known`: the record before the task answered. `isRefused`: the mirror cannot be written. */
function pending(
  at: View,
  record: ServerRecord,
  message: string | undefined,
  { known, isRefused }: { known: ServerRecord; isRefused: boolean },
): Next {
  const isNew = record !== known;
  const settling = withMemo(at, withoutTaskDenials(at.facts.memo));
  const { object, facts, deleting } = settling;
  const task = record.task ?? 0;
  const overdue = isOverdue(record, facts.now);
  const failed = saysFailure(message);
  // The task may never end, or its number may belong to another order now. Reading the server itself can tell.
  if ((overdue || failed) && record.identifier !== undefined && facts.memo.evidence.task?.state !== 'silent') {
    return goOn(withSilence(facts.memo, { why: 'overdue', message }), isNew ? { record } : {});
  }
  const verdict = verdictOf(record, message, {
    deleting: deleting ? object.spec.deletionPolicy : undefined,
    overdue,
    failed,
  });
  const parts = { record, fields: { task: taskField(task, message) }, verdict };
  if (overdue) return retryLater(settling, 'follow', parts, facts.timing.pollMs, isNew ? record : undefined);
  const plan = { operation: 'follow', afterMs: jittered(facts.timing.pollMs, facts) } as const;
  // The annotation may lack the identifier while the server is being created (record.ts): one write less.
  const isInMirror = verdict.reason === 'Creating' && record.account === known.account && !isRefused;
  const memo = { ...withoutFailures(facts.memo), toldAt: facts.monotonic };
  const next = rest(settling, parts, plan, memo, isNew && !isInMirror ? record : undefined);
  if (isNew || verdict.reason !== 'Creating' || !isToldAlready(settling, task)) return next;
  const { status: _status, ...silent } = next;
  return { ...silent, memo: { ...next.memo, toldAt: facts.memo.toldAt } };
}

/** Where polls are frequent, progress is told only this often (ms), or after ten polls: each text costs a write. */
const PROGRESS_MS = 10_000;

/** True if the status already says, and has said for a short time only, that this task runs. */
function isToldAlready({ object, facts }: View, task: number): boolean {
  const { status, metadata } = object;
  const isCurrent = status?.observedGeneration === metadata.generation && status.task?.id === task;
  if (!isCurrent || currentReason(status.conditions) !== 'Creating') return false;
  const { toldAt = -Infinity } = facts.memo;
  return facts.monotonic - toldAt < Math.min(PROGRESS_MS, 10 * facts.timing.pollMs);
}

/** Keeps denials of the server when the task answers: a `not-created` annotation counts only with them. */
function withoutTaskDenials(memo: Memo): Memo {
  return memo.evidence.denials?.of.startsWith('task ') === true ? withoutDenials(memo) : memo;
}

/** The provider does not document failures, so such words only let you resolve the order earlier. */
function saysFailure(message: string | undefined): boolean {
  return message !== undefined && /\b(fail(s|ed|ure)?|errors?|abort(s|ed)?|cancell?ed)\b/i.test(message);
}

type DeletionPolicy = VirtualServerSpec['deletionPolicy'];

function verdictOf(
  record: ServerRecord,
  message: string | undefined,
  { deleting, overdue, failed }: { deleting?: DeletionPolicy | undefined; overdue: boolean; failed: boolean },
): Verdict {
  const { task = '' } = record;
  const progress = message === undefined || message === '' ? `Task ${task} is running` : `Task ${task}: ${message}`;
  if (failed)
    return {
      reason: 'TaskFailed',
      message: `The order seems to have failed. ${progress}. The operator keeps polling, because a server may exist`,
    };
  if (overdue) {
    const text = `The task has been running for more than an hour. ${progress}. The operator keeps polling`;
    return { reason: 'TaskOverdue', message: text };
  }
  if (deleting !== undefined) {
    const then =
      deleting === 'Delete'
        ? 'cancels the server as soon as its task ends'
        : 'releases the object and keeps the server as soon as the server is known';
    return { reason: 'Deleting', message: `The operator ${then}. ${progress}` };
  }
  return { reason: 'Creating', message: progress };
}

/** The task does not end, and the provider does not show its server. */
export function unseen(at: View, record: ServerRecord, message: string | undefined): Next {
  const { facts } = at;
  const { task = 0, identifier = '' } = record;
  const memo = withEvidence(facts.memo, { denials: denied(facts, `server ${identifier}`) });
  const overdue = isOverdue(record, facts.now);
  const failed = saysFailure(message);
  const { reason, message: text } = verdictOf(record, message, { overdue, failed });
  const verdict = { reason, message: `The provider does not show server ${identifier}. ${text}` };
  return askedInVain(withMemo(at, memo), record, verdict, { task: taskField(task, message) });
}

/**
 * The provider does not show the task, or the server read in its place, for a reason that proves nothing about either.
 */
export function invisible(at: View, record: ServerRecord, detail: string): Next {
  const message = taskNotVisible(record, detail);
  return askedInVain(at, record, { reason: 'ServerNotVisible', message });
}

/** The task names another server than before, and the provider does not show the earlier one. */
export function renamed(at: View, record: ServerRecord, named: string): Next {
  const { identifier = '' } = record;
  const memo = withEvidence(at.facts.memo, { denials: denied(at.facts, `server ${identifier}`) });
  const message =
    `Task ${record.task ?? ''} now names server ${shorten(named)}. Before, it named server ${identifier}, which the provider ` +
    'does not show';
  return askedInVain(withMemo(at, memo), record, { reason: 'TaskInUse', message, subject: named });
}

/** The provider denies the task and, if its identifier is known, the server. */
export function vanished(at: View, record: ServerRecord): Next {
  const { task = 0, identifier } = record;
  const what = identifier === undefined ? `task ${task}` : `server ${identifier}`;
  const denials = denied(at.facts, what);
  const settling = withMemo(at, withEvidence(at.facts.memo, { denials }));
  const { facts } = settling;
  const grace = facts.timing.absenceMs;
  if (isProven(denials, grace, facts)) {
    const server = identifier === undefined ? 'no server is known' : `server ${identifier} is not visible`;
    const message =
      `The provider no longer knows task ${task} of order ${record.attempt ?? ''}, and ${server}. The operator keeps polling. ` +
      'If the API key is now one of another account, restore the old key';
    return askedInVain(settling, record, { reason: 'TaskNotFound', message });
  }
  const afterMs = pauseOf(denials, grace, facts);
  const isNew = record.attemptedAt !== undefined && facts.now - Date.parse(record.attemptedAt) < grace;
  const verdict: Verdict = isNew
    ? { reason: 'Creating', message: `Order accepted (task ${task}); the provider does not show the task yet` }
    : unprovenVerdict(denials, identifier === undefined ? what : `task ${task} and ${what}`, grace, afterMs, facts);
  const memo = withoutFailures(withoutSilence(facts.memo));
  const parts = { record, fields: { task: taskField(task, at.object.status?.task?.message) }, verdict };
  return rest(settling, parts, { operation: 'follow', afterMs }, memo);
}

/** The server was read in place of its task, without success. The operator polls the task again. */
function askedInVain(at: View, record: ServerRecord, verdict: Verdict, fields?: VirtualServerStatus): Next {
  const parts = { record, verdict, ...(fields && { fields }) };
  return retryLater(withMemo(at, withoutSilence(at.facts.memo)), 'follow', parts, at.facts.timing.pollMs);
}

/** The task cannot tell more: the server itself is read once. */
function withSilence(memo: Memo, silence: Silence): Memo {
  return withEvidence(memo, { task: { state: 'silent', ...silence } });
}

function withoutSilence(memo: Memo): Memo {
  return memo.evidence.task?.state === 'silent' ? withEvidence(memo, { task: undefined }) : memo;
}
