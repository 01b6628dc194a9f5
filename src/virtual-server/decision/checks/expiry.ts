/** Checks for a server whose time is over (`spec.expiresAt`, `spec.ttl`). */
import { cancellation } from './deleting.ts';
import { clockOf, expiryOf, isToExpire } from '../expiry.ts';
import { orphanMessage } from '../inputs.ts';
import { holdsSomething } from '../record.ts';
import type { Action } from '../types.ts';
import { timestamp } from '../verdict.ts';
import { park, type View } from '../view.ts';

/** Its server was cancelled. Nothing is ordered again, or a GitOps tool that keeps the object would pay for ever. */
export function serverHasExpired({ own, deleting }: View): Action | undefined {
  if (own?.expiredAt === undefined) return undefined;
  if (!deleting) {
    const message =
      `Server ${own.identifier ?? ''} expired at ${own.expiredAt}: it no longer exists. The operator does not order another ` +
      'one. Delete this object, and create a new one if you want another server';
    // Its addresses may be given to somebody else from now on.
    return park('Expired', message, { empties: true });
  }
  if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage({ orphans: own.orphans }));
  return { type: 'release', why: 'cancelled', record: own };
}

/** The same guards as for a deletion: a live read, the lease, one holder, protection. */
export function serverIsToExpire(view: View): Action | undefined {
  const { own, deleting, object, facts } = view;
  if (deleting || own?.identifier === undefined) return undefined;
  if (!isToExpire(object, own, facts)) return undefined;
  if (facts.memo.cancelled === own.identifier || facts.memo.gone === own.identifier) {
    return { type: 'record', record: { ...own, expiredAt: timestamp(facts.now) }, why: 'expired' };
  }
  return cancellation(view, own, own.identifier);
}

/** Nothing is ordered, and nothing adopted, only to be cancelled at once. */
export function timeIsOver({ own, object, facts, deleting }: View): Action | undefined {
  if (deleting || (own !== undefined && holdsSomething(own))) return undefined;
  const at = expiryOf(object, own);
  if (at === undefined || clockOf(facts) < at) return undefined;
  return park('Expired', 'spec.expiresAt lies in the past: nothing is ordered or adopted. Set a later time');
}
