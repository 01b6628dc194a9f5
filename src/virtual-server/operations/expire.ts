/**
 * The server has expired and no longer exists (cancel.ts). The object stays, and the operator orders no other
 * server: a GitOps tool that keeps the object would cost money forever.
 */
import type { ServerRecord } from '../../api/record.ts';
import { timestamp } from '../../base/duration.ts';
import { compose, eventsOf } from '../decision/compose.ts';
import { connectionCondition } from '../decision/connection.ts';
import { endOf, withoutPlan } from '../decision/memo.ts';
import { NOW } from '../decision/next.ts';
import { parked, retryLater } from '../decision/outcome.ts';
import type { Outcome } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import { NO_OTHER } from '../decision/sentences.ts';
import type { Visit } from '../visit.ts';

export async function expire(visit: Visit, before: View, { record }: { record: ServerRecord }): Promise<Outcome> {
  if (record.expiredAt === undefined) return expired(before, record);
  // From now on the provider may give the addresses to another customer.
  const emptied = await visit.services.connections.empty(visit.object);
  const at = visit.view();
  const { identifier, expiredAt } = record;
  // You may have said of an expired server that its order created nothing.
  const server = identifier === undefined ? 'The server' : `Server ${identifier}`;
  const message = `${server} expired at ${expiredAt} and no longer exists. ${NO_OTHER}`;
  const verdict = { reason: 'Expired', message } as const;
  const connection = connectionCondition(at.object, emptied);
  if (connection !== undefined) return retryLater(at, 'expire', { record, fields: {}, verdict, connection });
  return parked(at, { verdict }, { fields: {} });
}

function expired({ object, now, memo }: View, own: ServerRecord): Outcome {
  const record = { ...own, expiredAt: timestamp(now) };
  const isCancelled = endOf(memo, own.identifier)?.state === 'confirmed';
  const end = isCancelled ? 'The operator cancelled the server' : 'The server no longer exists at the provider';
  const message = `Server ${own.identifier ?? ''} has expired. ${end}. ${NO_OTHER}`;
  const status = compose(object, { record, fields: {}, verdict: { reason: 'Expired', message } }, now);
  return { record, status, memo: withoutPlan(memo), events: eventsOf(object.status, status), when: NOW };
}
