/** What follows when the provider certainly has not carried out an order, whichever way it went. Pure. */
import { RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import { callProblem, reasonOf } from '../../accounts/decision/failure.ts';
import { ended } from '../../base/text.ts';
import type { ProviderError } from '../../provider/error.ts';
import { withoutFailures } from './memo.ts';
import { endVisit, jittered, retryLater } from './outcome.ts';
import type { Outcome } from './types.ts';
import type { View } from './view.ts';

/** A refusal may pass: the product is in stock again, a payment is made, or a gateway that answered in place of the provider is gone. */
const REFUSED_MS = 60 * 60_000;

/** The same order may be sent again. `left`: the record without the attempt. `why`: a sentence. */
export function orderNotCreated(at: View, left: ServerRecord, error: ProviderError, why = callProblem(error)): Outcome {
  const verdict = { reason: reasonOf(error), message: `Nothing was ordered: ${why}` };
  const parts = { record: left, fields: {}, verdict };
  return { ...retryLater(at, 'order', parts, error.retryAfterMs, left), error };
}

/** The provider refuses what was ordered. `left`: the record without the attempt. */
export function orderRefused(at: View, left: ServerRecord, { error }: { error: ProviderError }): Outcome {
  const then = `The operator orders again every hour, and at once when you change spec or the annotation ${RECONCILE_AT_ANNOTATION}`;
  const verdict = { reason: 'CreateRejected', message: `${ended(error.message)} ${then}` } as const;
  const plan = { operation: 'order', afterMs: jittered(REFUSED_MS, at) } as const;
  return { ...endVisit(at, { record: left, fields: {}, verdict }, plan, withoutFailures(at.memo), left), error };
}
