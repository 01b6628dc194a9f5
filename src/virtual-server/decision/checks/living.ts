/** Watches the server of an object that is not being deleted, and cancels it when it expires. */
import { timestamp } from '../../../base/timestamp.ts';
import { cancellation } from './cancellation.ts';
import { isToExpire } from '../expiry.ts';
import { isProvisioned } from '../status.ts';
import type { Action } from '../types.ts';
import { notYet, withoutCredentials, type OwnView } from '../view.ts';

/** The same guards as for a deletion: a live read, the lease, one holder, protection. */
export function serverIsToExpire(view: OwnView): Action | undefined {
  const { own, object, facts } = view;
  if (own.identifier === undefined || !isToExpire(object, own, facts)) return undefined;
  if (facts.memo.cancelled === own.identifier || facts.memo.gone === own.identifier) {
    return { type: 'record', record: { ...own, expiredAt: timestamp(facts.now) }, why: 'expired' };
  }
  return cancellation(view, own.identifier);
}

export function serverIsHeld(view: OwnView): Action | undefined {
  const { own, facts, object } = view;
  if (own.identifier === undefined) return undefined;
  // Fill in a wiped status at once, unless the last call failed.
  const known = isProvisioned(object.status) || facts.memo.failures > 0;
  const first = known ? notYet(view, 'readServer') : withoutCredentials(view, 'readServer');
  return first ?? { type: 'readServer', record: own, identifier: own.identifier };
}
