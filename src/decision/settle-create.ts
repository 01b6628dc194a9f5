/** What the answer to a create means for its object (design.md, "What an answer to the create means"). Pure. */
import type { ServerRecord } from '../api/record.ts';
import type { CreateOutcome } from '../provider/types.ts';
import { unknownMessage } from './checks-ordering.ts';
import { reasonOf } from './failure.ts';
import { withoutAttempt } from './record.ts';
import { jittered, rest, retryLater, type Settling } from './next.ts';
import { taskField } from './status.ts';
import type { Next } from './types.ts';

const HOUR_MS = 60 * 60_000;

/** Whatever fields the status had were those of no server of this object. */
export function settleCreate(at: Settling, record: ServerRecord, result: CreateOutcome): Next {
  const { facts } = at;
  switch (result.kind) {
    case 'created':
      return created(at, { ...record, task: result.task }, result.task);
    case 'notCreated': {
      const left = withoutAttempt(record);
      const verdict = {
        reason: reasonOf(result.error),
        message: `the server was not created: ${result.error.message}`,
      };
      return retryLater(at, 'gather', { record: left, fields: {}, verdict }, result.error.retryAfterMs, left);
    }
    case 'refused': {
      const left = withoutAttempt(record);
      const hourly = result.status === 402 || result.status === 403;
      const message =
        `the service refused to create the server (HTTP ${result.status}): ${result.error.message}. ` +
        `A changed spec is tried at once${hourly ? ', an unchanged one hourly' : ''}`;
      const afterMs = hourly ? jittered(HOUR_MS, facts) : Infinity;
      const parts = { record: left, fields: {}, verdict: { reason: 'CreateRejected', message } as const };
      return rest(at, parts, { action: 'gather', afterMs }, { ...facts.memo, failures: 0 }, left);
    }
    case 'unknown': {
      const message = `${unknownMessage(record.attempt ?? '')}. What happened: ${result.error.message}`;
      return rest(at, { record, fields: {}, verdict: { reason: 'CreateOutcomeUnknown', message } }, undefined);
    }
  }
}

function created(at: Settling, record: ServerRecord, task: number): Next {
  const { facts } = at;
  const { failures: _failures, ...memo } = facts.memo;
  const fields = { task: taskField(task, undefined) };
  const verdict = { reason: 'Creating', message: `the service accepted the create as task ${task}` } as const;
  const plan = { action: 'pollTask', afterMs: jittered(facts.timing.pollMs, facts) } as const;
  return rest(at, { record, fields, verdict }, plan, { ...memo, failures: 0 }, record);
}
