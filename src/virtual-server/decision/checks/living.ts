/** Watches the server of an object that is not being deleted, and cancels it when it expires. */
import { isToExpire } from '../expiry.ts';
import { isProvisioned } from '../status.ts';
import { isGone } from '../memo.ts';
import type { Operation } from '../types.ts';
import { notDue, type OwnView } from '../view.ts';

/** The same guards as for a deletion: a live read, the lease, one holder, protection. */
export function serverIsToExpire(view: OwnView): Operation | undefined {
  const { own, object, facts } = view;
  if (own.identifier === undefined || !isToExpire(object, own, facts)) return undefined;
  if (isGone(facts.memo, own.identifier)) return { type: 'expire', record: own };
  return notDue(view, 'cancel') ?? { type: 'cancel', record: own, identifier: own.identifier };
}

export function serverIsHeld(view: OwnView): Operation | undefined {
  const { own, facts, object } = view;
  if (own.identifier === undefined) return undefined;
  // Fill in a wiped status at once, unless the last call failed.
  const known = isProvisioned(object.status) || facts.memo.failures > 0;
  const wait = known ? notDue(view, 'look') : undefined;
  return wait ?? { type: 'look', record: own, identifier: own.identifier };
}
