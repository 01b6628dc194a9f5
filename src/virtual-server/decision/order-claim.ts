/** The record of an object that claims an attempt to order a server, whichever way the order goes. Pure. */
import { unknownIn, type Claimed } from '../../api/record.ts';
import { timestamp } from '../../base/duration.ts';
import { newRecord } from './known-record.ts';
import type { View } from './view.ts';

export function claimed({ object, own, now }: View, attempt: string, account: string): Claimed {
  const { orphans, failed, settled } = own ?? {};
  return {
    ...(own && unknownIn(own)),
    ...newRecord(object.metadata.uid),
    account,
    attempt,
    attemptedAt: timestamp(now),
    ordered: { attempt, product: object.spec.product },
    orphans,
    failed,
    settled,
  };
}
