/** Brings record and finalizer in line with what is known. Makes no calls. Pure. */
import type { ServerRecord } from '../../api/record.ts';
import { compose } from '../decision/compose.ts';
import { withEvidence, withoutPlan } from '../decision/memo.ts';
import { NOW } from '../decision/next.ts';
import type { Outcome, RecordChange } from '../decision/types.ts';
import type { View } from '../decision/view.ts';

/** `record`: in line with what is known. */
export function recorded({ object, facts }: View, record: ServerRecord, why: RecordChange): Outcome {
  // A server that was just read need not be read again because its annotation follows.
  const isRead = why === 'restored' && facts.memo.plan?.operation === 'look';
  const next = { record, memo: isRead ? facts.memo : withoutPlan(facts.memo), events: [], when: NOW };
  if (why === 'notCreated') {
    const message = 'The order created nothing; the operator is about to order again';
    const parts = { record, fields: {}, verdict: { reason: 'Pending', message } as const };
    return { ...next, status: compose(object, parts, facts.now) };
  }
  // The failed task describes nothing that this object still has.
  if (why === 'createFailed') {
    const memo = withEvidence(next.memo, { createdNothing: undefined, failure: undefined, denials: undefined });
    return { ...next, memo, status: compose(object, { record, fields: {} }, facts.now) };
  }
  // Write the mirror in the same step: a new attempt must never meet the mirror of an older one.
  if (object.status?.record === undefined) return next;
  return { ...next, status: compose(object, { record }, facts.now) };
}
