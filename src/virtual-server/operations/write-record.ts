/** Brings record and finalizer in line with what is known. Makes no calls. Pure. */
import type { ServerRecord } from '../../api/record.ts';
import { compose } from '../decision/compose.ts';
import { withEvidence, withoutPlan } from '../decision/memo.ts';
import { NOW } from '../decision/next.ts';
import type { Outcome, RecordChange } from '../decision/types.ts';
import type { View } from '../decision/view.ts';

/** `record`: in line with what is known. */
export function recorded(at: View, record: ServerRecord, why: RecordChange): Outcome {
  const { object } = at;
  // A server that was just read need not be read again because its annotation follows.
  const isRead = why === 'restored' && at.memo.plan?.operation === 'look';
  const next = { record, memo: isRead ? at.memo : withoutPlan(at.memo), events: [], when: NOW };
  if (why === 'notCreated') {
    const message = 'The order created nothing; the operator is about to order again';
    const parts = { record, fields: {}, verdict: { reason: 'Pending', message } as const };
    return { ...next, status: compose(object, parts, at.now) };
  }
  // The failed task describes nothing that this object still has.
  if (why === 'createFailed') {
    const memo = withEvidence(next.memo, { createdNothing: undefined, failure: undefined, denials: undefined });
    return { ...next, memo, status: compose(object, { record, fields: {} }, at.now) };
  }
  // Write the mirror in the same step: a new attempt must never meet the mirror of an older one.
  if (object.status?.record === undefined) return next;
  return { ...next, status: compose(object, { record }, at.now) };
}
