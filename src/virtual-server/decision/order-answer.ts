/** What follows when the provider certainly has not carried out an order, whichever way it went. Pure. */
import { RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import { callProblem, reasonOf } from '../../accounts/decision/failure.ts';
import { ended } from '../../base/text.ts';
import type { ProviderError } from '../../provider/error.ts';
import type { CreateOutcome } from '../../provider/types.ts';
import { withoutFailures } from './memo.ts';
import { endVisit, jittered, retryLater } from './outcome.ts';
import type { Outcome } from './types.ts';
import type { View } from './view.ts';

const HOUR_MS = 60 * 60_000;
/** Payment and rights, and answers to a call that the provider has: a gateway may give them for a while. */
const HOURLY = new Set([402, 403, 404, 405]);

/** The same order may be sent again. `left`: the record without the attempt. `why`: a sentence. */
export function orderNotCreated(at: View, left: ServerRecord, error: ProviderError, why = callProblem(error)): Outcome {
  const verdict = { reason: reasonOf(error), message: `Nothing was ordered: ${why}` };
  const parts = { record: left, fields: {}, verdict };
  return { ...retryLater(at, 'order', parts, error.retryAfterMs, left), error };
}

/** The provider refuses what was ordered. `left`: the record without the attempt. */
export function orderRefused(
  at: View,
  left: ServerRecord,
  { error, status }: Extract<CreateOutcome, { kind: 'refused' }>,
): Outcome {
  const hourly = HOURLY.has(status);
  const then = hourly
    ? `The operator orders again every hour, and at once when you change spec or the annotation ${RECONCILE_AT_ANNOTATION}. ` +
      'Fix the cause at the provider'
    : 'The operator orders again when you change spec';
  const message = `${ended(error.message)} ${then}`;
  const afterMs = hourly ? jittered(HOUR_MS, at) : Infinity;
  const parts = { record: left, fields: {}, verdict: { reason: 'CreateRejected', message } as const };
  return { ...endVisit(at, parts, { operation: 'order', afterMs }, withoutFailures(at.memo), left), error };
}
