/** What a record has of requests to change its server in place that may still have an effect. Pure. */
import { isSameIdentifier } from '../base/identifier.ts';
import { without } from '../base/without.ts';
import type { RecordedChange, RecordedRequests, ServerRecord } from './record.ts';

/** What the server will cost after a change. Empty if it does not concern the price. */
export type Cost = Pick<RecordedChange, 'price' | 'isUnpriced'>;

/** What the record has of requests about the server that it names. */
export function requestsIn({ identifier, changeRequests }: ServerRecord): RecordedRequests | undefined {
  return isSameIdentifier(changeRequests?.identifier, identifier) ? changeRequests : undefined;
}

/** What the server may come to cost, and by which change: the one that it is shut down for, and requests. */
export function costsIn(record: ServerRecord | undefined): (RecordedChange | RecordedRequests)[] {
  return [record?.change, record?.changeRequests].filter(
    (note): note is RecordedChange | RecordedRequests =>
      note !== undefined && isSameIdentifier(note.identifier, record?.identifier),
  );
}

/** The record with this request besides the ones that it has. Until reads tell what came of each of them, the dearest counts. */
export function withRequests<R extends ServerRecord>(record: R, next: RecordedRequests): R {
  const earlier = requestsIn(record);
  const isSame = earlier === undefined || earlier.change === next.change;
  const prices = [earlier?.price, next.price].filter((price) => price !== undefined);
  const isUnpriced = earlier?.isUnpriced === true || next.isUnpriced === true;
  const changeRequests: RecordedRequests = {
    identifier: next.identifier,
    at: next.at,
    ...(isSame && next.change !== undefined && { change: next.change }),
    ...(isUnpriced ? { isUnpriced } : prices.length > 0 && { price: Math.max(...prices) }),
  };
  return { ...record, changeRequests };
}

/** The record, whose change an earlier version may have noted together with what it may cost. The same object if it has nothing of that. */
export function withNotedRequests(record: ServerRecord): ServerRecord {
  const { change } = record;
  if (change === undefined) return record;
  const { sentAt, price, isUnpriced, phase, refused } = change;
  const isReserved = phase === 'stop' && sentAt === undefined;
  const hasCost = (price ?? isUnpriced) !== undefined && !isReserved;
  if (sentAt === undefined && !hasCost) return record;
  const isOpen = hasCost || refused === undefined;
  const left = without(change, 'sentAt', 'price', 'isUnpriced');
  const noted = { ...left, ...(sentAt !== undefined && { acceptedAt: sentAt }) };
  if (!isOpen) return { ...record, change: noted };
  const { identifier, since } = change;
  const request = { identifier, at: sentAt ?? since, change: change.change, price, isUnpriced };
  return withRequests({ ...record, change: noted }, request);
}
