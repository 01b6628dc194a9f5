/** What polling a task means for its object. Pure. */
import { NOT_CREATED_ANNOTATION } from '../api/names.ts';
import { MAX_IDENTIFIER, type ServerRecord } from '../api/record.ts';
import { isToExpire } from './expiry.ts';
import { goOn, jittered, rest, retryLater, type Settling } from './next.ts';
import { taskField } from './status.ts';
import { cut } from './text.ts';
import type { Next, Outcome } from './types.ts';
import type { Verdict } from './verdict.ts';
import { isOverdue } from './view.ts';

export function settleTask(at: Settling, record: ServerRecord, outcome: Outcome): Next {
  const { memo } = at.facts;
  switch (outcome.type) {
    case 'pending': {
      const named = withIdentifier(record, outcome.identifier);
      return 'problem' in named
        ? mistaken(at, record, named.problem)
        : pending(at, named, outcome.status, named !== record);
    }
    case 'complete': {
      const named = withIdentifier(record, outcome.identifier);
      if ('problem' in named) return mistaken(at, record, named.problem);
      const { readInstead: _readInstead, ...rest } = memo;
      return goOn(
        { ...rest, failures: 0, taskComplete: outcome.identifier },
        named === record ? {} : { record: named },
      );
    }
    case 'taskNotFound':
      return record.identifier === undefined ? vanished(at, record) : goOn({ ...memo, readInstead: 'taskNotFound' });
    default:
      throw new Error(`outcome ${outcome.type} does not belong to a task`);
  }
}

function withIdentifier(record: ServerRecord, identifier: string | undefined): ServerRecord | { problem: string } {
  if (identifier === undefined || identifier === record.identifier) return record;
  if (record.identifier !== undefined) {
    return { problem: `the task names server ${shorten(identifier)}, earlier it named ${record.identifier}` };
  }
  if (identifier.length === 0 || identifier.length > MAX_IDENTIFIER) {
    return {
      problem: `the task names a server by ${identifier.length} characters (${shorten(identifier)}), at most ${MAX_IDENTIFIER} are understood`,
    };
  }
  return { ...record, identifier };
}

const shorten = (text: string): string => (text.length > 64 ? `${cut(text, 64)}...` : text);

function mistaken(at: Settling, record: ServerRecord, problem: string): Next {
  return retryLater(
    at,
    'pollTask',
    { record, verdict: { reason: 'ProviderProtocolError', message: problem } },
    at.facts.timing.pollMs,
  );
}

function pending(at: Settling, record: ServerRecord, message: string | undefined, isNew: boolean): Next {
  const { object, facts } = at;
  const task = record.task ?? 0;
  const deleting = object.metadata.deletionTimestamp !== undefined;
  const overdue = isOverdue(record, facts.now);
  // What is to be cancelled need not wait for a task that does not end.
  const goes = deleting || isToExpire(object, record, facts);
  if (overdue && goes && record.identifier !== undefined && facts.memo.readInstead === undefined) {
    return goOn({ ...facts.memo, readInstead: 'overdue' }, isNew ? { record } : {});
  }
  const parts = {
    record,
    fields: { task: taskField(task, message) },
    verdict: verdictOf(task, message, deleting, overdue),
  };
  if (overdue) return retryLater(at, 'pollTask', parts, facts.timing.pollMs, isNew ? record : undefined);
  const plan = { action: 'pollTask', afterMs: jittered(facts.timing.pollMs, facts) } as const;
  return rest(at, parts, plan, { ...facts.memo, failures: 0 }, isNew ? record : undefined);
}

function verdictOf(task: number, message: string | undefined, deleting: boolean, overdue: boolean): Verdict {
  const progress = message === undefined || message === '' ? `task ${task} runs` : `task ${task}: ${message}`;
  if (overdue) return { reason: 'TaskOverdue', message: `the task has run for more than an hour; ${progress}` };
  if (deleting) return { reason: 'Deleting', message: `the server is cancelled when its task is over; ${progress}` };
  return { reason: 'Creating', message: progress };
}

/** The task of a server that is to be cancelled runs on, and the server cannot be seen yet. */
export function unseen(at: Settling, record: ServerRecord): Next {
  const server = `server ${record.identifier ?? ''} cannot be seen yet`;
  return askedInVain(at, record, verdictOf(record.task ?? 0, `it runs, and ${server}`, false, true));
}

/** Neither the task nor, where its identifier is known, the server is to be seen. */
export function vanished(at: Settling, record: ServerRecord): Next {
  const server = record.identifier === undefined ? 'no server is known' : `server ${record.identifier} cannot be seen`;
  const message =
    `the service does not know task ${record.task ?? ''} (any more) and ${server}; asking goes on. ` +
    'If the API key was changed to another account, change it back. If the service shows that nothing was created, ' +
    `annotate ${NOT_CREATED_ANNOTATION}=${record.attempt ?? ''}`;
  return askedInVain(at, record, { reason: 'TaskNotFound', message });
}

/** The server was asked for in place of its task, and the task is asked again. */
function askedInVain(at: Settling, record: ServerRecord, verdict: Verdict): Next {
  const { readInstead: _readInstead, ...memo } = at.facts.memo;
  const settling = { ...at, facts: { ...at.facts, memo } };
  return retryLater(settling, 'pollTask', { record, verdict }, at.facts.timing.pollMs);
}
