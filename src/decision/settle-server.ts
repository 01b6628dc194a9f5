/** What reading, adopting or cancelling a server means for its object. Pure. */
import { ADOPT_ANNOTATION } from '../api/names.ts';
import type { ServerRecord } from '../api/record.ts';
import type { Server } from '../provider/types.ts';
import { connectionCondition } from './connection.ts';
import { isRunning, reach } from './reach.ts';
import { isToExpire, withReadyAt } from './expiry.ts';
import { mergeOrphans } from './record.ts';
import { goOn, jittered, rest, retryLater, type Settling } from './next.ts';
import { unseen, vanished } from './settle-task.ts';
import { isProvisioned, serverFields } from './status.ts';
import { cut } from './text.ts';
import type { Action, Next, Outcome } from './types.ts';
import type { Verdict } from './verdict.ts';

export function settleServer(at: Settling, action: Extract<Action, { type: 'readServer' }>, outcome: Outcome): Next {
  const { object, facts } = at;
  const { record } = action;
  const { readInstead, ...memo } = facts.memo;
  switch (outcome.type) {
    case 'server':
      if (object.metadata.deletionTimestamp !== undefined || isToExpire(object, record, facts))
        return goOn({ ...memo, taskComplete: action.identifier });
      return seen(at, record, outcome);
    case 'serverNotFound':
      if (record.task !== undefined && readInstead !== undefined)
        return readInstead === 'overdue' ? unseen(at, record) : vanished(at, record);
      return notFound(at, record, outcome);
    default:
      throw new Error(`outcome ${outcome.type} does not belong to a read`);
  }
}

/** Who reads the server with 200 has the right key for it, whatever key it was before. */
function renewed(record: ServerRecord, account: string): ServerRecord {
  return record.account === account ? record : { ...record, account };
}

type Seen = Extract<Outcome, { type: 'server' }>;

function seen(at: Settling, known: ServerRecord, found: Seen): Next {
  const { facts, object } = at;
  const { server, probed, connection } = found;
  const fields = serverFields(server);
  const reached = isRunning(server.status) ? reach(object, server, probed) : undefined;
  const verdict = reached?.verdict ?? verdictOf(server);
  const available = verdict.reason === 'Available';
  const current = renewed(known, found.account);
  const record = available ? withReadyAt(object, current, facts) : current;
  const { readInstead: _readInstead, ...memo } = facts.memo;
  const rests = available && connection?.state !== 'failed';
  const pause = rests ? facts.timing.resyncMs : facts.timing.pollMs;
  const plan = { action: 'readServer', afterMs: jittered(pause, facts) } as const;
  return rest(
    at,
    {
      record,
      fields,
      verdict,
      reachable: reached?.reachable,
      connection: connectionCondition(object, connection),
    },
    plan,
    { ...memo, failures: 0, ...(record.identifier !== undefined && { taskComplete: record.identifier }) },
    record !== known ? record : undefined,
  );
}

function verdictOf(server: Server): Verdict {
  const { identifier, status = '' } = server;
  if (!isRunning(server.status)) {
    const words = status === '' ? 'no status' : `status "${cut(status, 128)}"`;
    return { reason: 'ServerNotRunning', message: `server ${identifier} exists, the service reports ${words}` };
  }
  if (server.ipv6.length === 0 && server.ipv4.length === 0 && server.sshProxy === undefined) {
    return { reason: 'AddressPending', message: `server ${identifier} runs, the service shows no address of it yet` };
  }
  return { reason: 'Available', message: `server ${identifier} runs` };
}

function notFound(at: Settling, record: ServerRecord, outcome: Extract<Outcome, { type: 'serverNotFound' }>): Next {
  const { object, facts } = at;
  const identifier = record.identifier ?? '';
  const pause = isProvisioned(object.status) ? facts.timing.resyncMs : facts.timing.pollMs;
  if (!outcome.proven) {
    return retryLater(at, 'readServer', { record, verdict: invisible(identifier, outcome.detail) }, pause);
  }
  const verdict: Verdict = {
    reason: 'ServerMissing',
    message: `the service no longer has server ${identifier}: it was cancelled elsewhere, or at an end that was changed too late. It is not ordered again; delete this object and make a new one`,
  };
  return rest(
    at,
    { record, verdict },
    { action: 'readServer', afterMs: jittered(pause, facts) },
    { ...facts.memo, failures: 0 },
  );
}

function invisible(identifier: string, detail: string): Verdict {
  return {
    reason: 'ServerNotVisible',
    message: `server ${identifier} cannot be seen with this API key, which does not prove that it is gone: ${detail}. Restore the key and URL that it was ordered with`,
  };
}

/** The record comes first: nothing of the server is shown or written anywhere until this object holds it. */
export function settleAdoption(at: Settling, action: Extract<Action, { type: 'adopt' }>, outcome: Outcome): Next {
  const { object, facts } = at;
  if (outcome.type === 'server') {
    const { task, attempt, orphans: known } = action.record ?? {};
    const orphans = mergeOrphans(
      known,
      task === undefined ? undefined : [{ task, ...(attempt !== undefined && { attempt }) }],
    );
    const { account } = outcome;
    const record: ServerRecord = {
      owner: object.metadata.uid,
      mode: 'adopt',
      account,
      identifier: action.identifier,
      ...(orphans && { orphans }),
    };
    const events: Next['events'] = [
      { type: 'Normal', reason: 'ServerAdopted', note: `took over server ${action.identifier}` },
    ];
    return { ...goOn({ ...facts.memo, failures: 0, taskComplete: action.identifier }, { record }), events };
  }
  if (outcome.type !== 'serverNotFound') throw new Error(`outcome ${outcome.type} does not belong to an adoption`);
  const verdict: Verdict = {
    reason: 'ServerNotVisible',
    message: `server ${action.identifier}, named by annotation ${ADOPT_ANNOTATION}, is not to be seen with this API key: correct the annotation or the key`,
  };
  return retryLater(at, 'adopt', { record: action.record, verdict }, facts.timing.pollMs);
}

export function settleDelete(at: Settling, action: Extract<Action, { type: 'deleteServer' }>, outcome: Outcome): Next {
  const { facts } = at;
  const { record, identifier } = action;
  switch (outcome.type) {
    case 'cancelled':
      return goOn({ ...facts.memo, cancelled: identifier });
    case 'serverNotFound':
      if (outcome.proven) return goOn({ ...facts.memo, cancelled: identifier });
      return retryLater(
        at,
        'deleteServer',
        { record, verdict: invisible(identifier, outcome.detail) },
        facts.timing.pollMs,
      );
    case 'changed':
      return { memo: facts.memo, events: [], again: true };
    default:
      throw new Error(`outcome ${outcome.type} does not belong to a cancellation`);
  }
}
