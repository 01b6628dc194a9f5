/**
 * What the answer to an order means for its object (design.md, "What an answer to the order means"). provider/create.ts
 * made the outcome of the HTTP response. Pure.
 */
import type { ServerRecord } from '../../../api/record.ts';
import type { CreateOutcome } from '../../../provider/types.ts';
import { compose, eventsOf } from '../compose.ts';
import { callProblem, reasonOf } from '../../../accounts/decision/failure.ts';
import { RECONCILE_AT_ANNOTATION } from '../../../api/names.ts';
import { capitalized, ended } from '../../../base/text.ts';
import { edit } from '../commands.ts';
import { withoutAttempt } from '../record.ts';
import { goOn, jittered, rest, retryLater } from './next.ts';
import { taskField } from '../status.ts';
import type { Next } from '../types.ts';
import type { View } from '../view.ts';
import { unknownMessage } from '../words.ts';

const HOUR_MS = 60 * 60_000;

/** Any fields that the status had do not describe a server of this object. */
export function settleCreate(at: View, record: ServerRecord, result: CreateOutcome): Next {
  const { facts } = at;
  switch (result.kind) {
    case 'created':
      return created(at, { ...record, task: result.task }, result.task);
    case 'notCreated': {
      const left = withoutAttempt(record);
      const verdict = {
        reason: reasonOf(result.error),
        message: `Nothing was ordered: ${callProblem(result.error)}`,
      };
      return retryLater(at, 'gather', { record: left, fields: {}, verdict }, result.error.retryAfterMs, left);
    }
    case 'refused': {
      const left = withoutAttempt(record);
      const hourly = result.status === 402 || result.status === 403;
      const next = hourly
        ? `The operator orders again every hour, and at once when you change spec or the annotation ${RECONCILE_AT_ANNOTATION}. ` +
          'Fix the cause at the provider'
        : `The operator orders again when you change spec. To correct spec, run ${edit(at.object)}`;
      const message = `${capitalized(ended(result.error.message))} ${next}`;
      const afterMs = hourly ? jittered(HOUR_MS, facts) : Infinity;
      const parts = { record: left, fields: {}, verdict: { reason: 'CreateRejected', message } as const };
      return rest(at, parts, { action: 'gather', afterMs }, { ...facts.memo, failures: 0 }, left);
    }
    case 'unknown': {
      const hinted = result.task === undefined ? record : { ...record, hintedTask: result.task };
      const message = unknownMessage(at.object, hinted, result.error.message);
      const parts = { record: hinted, fields: {}, verdict: { reason: 'CreateOutcomeUnknown', message } as const };
      return rest(at, parts, undefined, facts.memo, hinted === record ? undefined : hinted);
    }
  }
}

/** Polls the task at once: the sooner the identifier is known, the less can be mistaken for the server. */
function created({ object, facts }: View, record: ServerRecord, task: number): Next {
  const { next: _next, failures: _failures, ...memo } = facts.memo;
  const goes = goOn({ ...memo, failures: 0 }, { record });
  const { record: _record, conditions: _conditions, observedGeneration: _generation, ...fields } = object.status ?? {};
  if (Object.keys(fields).length === 0) return goes;
  const verdict = {
    reason: 'Creating',
    message: `Order accepted (task ${task}); the server is being created`,
  } as const;
  const status = compose(object, { record, fields: { task: taskField(task, undefined) }, verdict }, facts.now);
  return { ...goes, status, events: eventsOf(object.status, status) };
}
