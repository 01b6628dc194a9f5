/** What the answer to an order under an identifier means for the object. Pure. */
import type { Named, ServerRecord } from '../../api/record.ts';
import { capitalized, ended } from '../../base/text.ts';
import { callProblem } from '../../accounts/decision/failure.ts';
import type { NamedOutcome } from '../../provider/types.ts';
import { withFailedOrder, withoutClaim } from '../decision/known-record.ts';
import { withEvidence, withoutFailures, withoutPlan, type Sent } from '../decision/memo.ts';
import { isUnguessable } from '../decision/named.ts';
import { orderNotCreated, orderRefused } from '../decision/order-answer.ts';
import { orderedEvent } from '../decision/order-events.ts';
import { goOn, retryLater } from '../decision/outcome.ts';
import { cutSaid } from '../decision/sentences.ts';
import type { Outcome } from '../decision/types.ts';
import { withMemo, type View } from '../decision/view.ts';
import { identifierTaken } from './identifier-taken.ts';

/** What is known of the earlier requests of an order: there were none, or it is proven that they have led to no server. */
export type Earlier = 'none' | 'absent' | 'unknown';

/** What the answer means for the object. Pure. */
export function afterNamedAnswer(
  before: View,
  record: Named,
  answer: NamedOutcome,
  { earlier, expectedPrice }: { earlier: Earlier; expectedPrice: number | undefined },
): Outcome {
  const { attempt, identifier, sent } = record;
  const heard = (outcome: Sent['answer'], task?: Sent['task']): View =>
    withMemo(
      before,
      withEvidence(before.memo, { sent: { attempt, at: sent.at, answer: outcome, task, since: before.monotonic } }),
    );
  switch (answer.kind) {
    case 'created': {
      const { memo } = heard('accepted', answer.task);
      // The same task may be the answer to an equal order.
      const fresh = { task: undefined, denials: undefined, failure: undefined, lostTask: undefined };
      const ordered = orderedEvent(before.object, { task: answer.task, identifier, expectedPrice });
      return { ...goOn(withEvidence(withoutPlan(withoutFailures(memo)), fresh)), events: [ordered] };
    }
    case 'notCreated':
      return earlier === 'none'
        ? orderNotCreated(before, withoutClaim(record), answer.error)
        : unclear(heard('other'), record, answer);
    case 'refused':
      return earlier === 'unknown'
        ? unclear(heard('refused'), record, answer)
        : orderRefused(before, leftOf(before, record, answer, earlier), answer);
    case 'notOffered':
      return earlier === 'unknown'
        ? unclear(heard('refused'), record, answer)
        : orderNotCreated(before, leftOf(before, record, answer, earlier), answer.error, notOffered(answer.error));
    case 'inUse': {
      // Right before the only request, no server had the identifier that you chose.
      if (!isUnguessable(sent) && earlier === 'none') {
        const why = `${ended(answer.error.message)} The API key sees no server with the identifier ${record.identifier}, so another customer may have it`;
        return { ...identifierTaken(before, withoutClaim(record), why), error: answer.error };
      }
      const used: Named = { ...record, sent: { ...record.sent, inUse: true } };
      return { ...unclear(heard('other'), used, answer), record: used };
    }
    case 'unclear':
      return unclear(heard(answer.isAnswered ? 'other' : 'lost'), record, answer);
  }
}

const notOffered = ({ message }: Error): string =>
  `${ended(message)} The provider takes no orders under an identifier. With --orders=auto, the operator orders without one next. ` +
  'With --orders=named, it cannot order here: start it with --orders=auto or --orders=anonymous';

/** The record after a refusal. An order of several requests is looked for like one that failed. */
function leftOf({ object }: View, record: Named, { error }: { error: Error }, earlier: Earlier): ServerRecord {
  if (earlier === 'none') return withoutClaim(record);
  const createFailure = { said: cutSaid(error.message), generation: object.metadata.generation };
  return withFailedOrder({ ...record, createFailure });
}

function unclear(at: View, record: Named, { error }: Extract<NamedOutcome, { error: unknown }>): Outcome {
  const next = waiting(at, record, capitalized(callProblem(error)), error.retryAfterMs);
  return { ...next, error };
}

/** `why`: a sentence. */
export function waiting(at: View, record: Named, why: string, atLeastMs?: number): Outcome {
  const message = `${ended(why)} The operator looks for server ${record.identifier}, and sends the same order again if there is none`;
  return retryLater(at, 'order', { record, verdict: { reason: 'Creating', message } }, atLeastMs);
}
