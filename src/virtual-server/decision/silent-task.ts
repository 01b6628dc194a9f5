/**
 * What a task reports, and what follows once it reports nothing more and the server is read instead: the task does not
 * end, names another server than before, or is denied. Pure.
 */
import type { Verdict } from '../../controller/conditions.ts';
import { isNamed, type ServerRecord } from '../../api/record.ts';
import type { VirtualServerSpec, VirtualServerStatus } from '../../api/virtual-server.ts';
import { cut } from '../../base/text.ts';
import { denied, isProven, pauseOf, unprovenVerdict } from './absence.ts';
import { withEvidence, withoutFailures, type Memo, type Silence } from './memo.ts';
import { endVisit, goOn, retryLater } from './outcome.ts';
import { taskField } from './server-status.ts';
import type { Outcome } from './types.ts';
import { PROTECTED } from './sentences.ts';
import { isOverdue, isProtected, withMemo, type View } from './view.ts';

/** The provider does not document failures, so such words only let you resolve the order earlier. */
export function saysFailure(message: string | undefined): boolean {
  return message !== undefined && /\b(fail(s|ed|ure)?|errors?|abort(s|ed)?|cancell?ed)\b/i.test(message);
}

/** `deleting`: the spec of an object that is being deleted. */
export function taskVerdict(
  record: ServerRecord,
  message: string | undefined,
  { deleting, overdue, failed }: { deleting?: VirtualServerSpec | undefined; overdue: boolean; failed: boolean },
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
  if (deleting !== undefined && isProtected(deleting))
    return { reason: 'DeletionProtected', message: `${PROTECTED}. ${progress}` };
  if (deleting !== undefined) {
    const then =
      deleting.deletionPolicy === 'Delete'
        ? 'cancels the server as soon as its task ends'
        : 'releases the object and keeps the server as soon as the server is known';
    return { reason: 'Deleting', message: `The operator ${then}. ${progress}` };
  }
  return { reason: 'Creating', message: progress };
}

/** A name in a message. */
export const shorten = (text: string): string => (text.length > 64 ? `${cut(text, 64)}...` : text);

/** The task does not end, and the provider does not show its server. */
export function unseen(at: View, record: ServerRecord, message: string | undefined): Outcome {
  const { task = 0, identifier = '' } = record;
  const memo = withEvidence(at.memo, { denials: denied(at, `server ${identifier}`) });
  const overdue = isOverdue(record, at.now);
  const failed = saysFailure(message);
  const { reason, message: text } = taskVerdict(record, message, { overdue, failed });
  const verdict = { reason, message: `The provider does not show server ${identifier}. ${text}` };
  return askedInVain(withMemo(at, memo), record, verdict, { task: taskField(task, message) });
}

/**
 * The provider does not show the task, or the server read in its place, for a reason that proves nothing about either.
 */
export function invisible(at: View, record: ServerRecord, detail: string): Outcome {
  const message = `Task ${record.task ?? ''} is not visible with this API key, which proves nothing: ${detail}`;
  return askedInVain(at, record, { reason: 'ServerNotVisible', message });
}

/**
 * The task names another server than before, or than the order did, and the provider does not show that one. The order may have led to
 * the other server, so it is not sent again.
 */
export function renamed(at: View, record: ServerRecord, named: string): Outcome {
  const { identifier = '' } = record;
  const memo = withEvidence(at.memo, { denials: denied(at, `server ${identifier}`) });
  const message = isNamed(record)
    ? `Task ${record.task ?? ''} names server ${shorten(named)}. The order named server ${identifier}, which the provider does not show`
    : `Task ${record.task ?? ''} now names server ${shorten(named)}. Before, it named server ${identifier}, which the provider ` +
      'does not show';
  return askedInVain(withMemo(at, memo), record, { reason: 'TaskInUse', message, subject: named });
}

/** The provider denies the task and, if its identifier is known, the server. */
export function vanished(at: View, record: ServerRecord): Outcome {
  const { task = 0, identifier } = record;
  const what = identifier === undefined ? `task ${task}` : `server ${identifier}`;
  const denials = denied(at, what);
  const settling = withMemo(at, withEvidence(at.memo, { denials }));
  const grace = settling.timing.absenceMs;
  if (isProven(denials, grace, settling)) {
    // The same order can be sent again.
    if (isNamed(record)) return goOn(withEvidence(withoutSilence(settling.memo), { lostTask: task }));
    const server = identifier === undefined ? 'no server is known' : `server ${identifier} is not visible`;
    const message =
      `The provider no longer knows task ${task} of order ${record.attempt ?? ''}, and ${server}. The operator keeps polling. ` +
      'If the API key is now one of another account, restore the old key';
    return askedInVain(settling, record, { reason: 'TaskNotFound', message });
  }
  const afterMs = pauseOf(denials, grace, settling);
  const isNew = record.attemptedAt !== undefined && settling.now - Date.parse(record.attemptedAt) < grace;
  const verdict: Verdict = isNew
    ? { reason: 'Creating', message: `Order accepted (task ${task}); the provider does not show the task yet` }
    : unprovenVerdict(
        denials,
        `${identifier === undefined ? what : `task ${task} and ${what}`} does not exist`,
        grace,
        afterMs,
        settling,
      );
  const memo = withoutFailures(withoutSilence(settling.memo));
  const parts = { record, fields: { task: taskField(task, at.object.status?.task?.message) }, verdict };
  return endVisit(settling, parts, { operation: 'follow', afterMs }, memo);
}

/** The server was read in place of its task, without success. The operator polls the task again. */
function askedInVain(at: View, record: ServerRecord, verdict: Verdict, fields?: VirtualServerStatus): Outcome {
  const parts = { record, verdict, fields };
  return retryLater(withMemo(at, withoutSilence(at.memo)), 'follow', parts, at.timing.pollMs);
}

/** The task reports nothing more, so the server itself is read once. */
export function withSilence(memo: Memo, silence: Silence): Memo {
  return withEvidence(memo, { task: { state: 'silent', ...silence } });
}

/** The task has just said that its order failed. */
export const saysFailed = ({ evidence: { task } }: Memo): boolean => task?.state === 'silent' && task.why === 'failed';

export function withoutSilence(memo: Memo): Memo {
  return memo.evidence.task?.state === 'silent' ? withEvidence(memo, { task: undefined }) : memo;
}
