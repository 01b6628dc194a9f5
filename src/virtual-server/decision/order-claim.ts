/** The record of an object that claims an attempt to order a server, whichever way the order goes. Pure. */
import { unknownIn, type Claimed } from '../../api/record.ts';
import { timestamp } from '../../base/duration.ts';
import { newRecord } from './known-record.ts';
import type { View } from './view.ts';

/** `userDataDigest`: of what the order sends from a Secret or a ConfigMap. */
export function claimed(
  { object, own, now }: View,
  { attempt, account, userDataDigest }: { attempt: string; account: string; userDataDigest?: string | undefined },
): Claimed {
  const { orphans, failed, settled } = own ?? {};
  return {
    ...(own && unknownIn(own)),
    ...newRecord(object.metadata.uid),
    account,
    attempt,
    attemptedAt: timestamp(now),
    ordered: {
      attempt,
      product: object.spec.product,
      ...(userDataDigest !== undefined && { userDataDigest }),
    },
    orphans,
    failed,
    settled,
  };
}
