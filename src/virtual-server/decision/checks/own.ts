/** What is settled of a record of the object's own before anything is called, whether the object is deleted or not. */
import { isHopeless, mayBeInFlight } from './attempt.ts';
import { namesAsGone, orphanMessage, saysNotCreated, withoutHandledOrphans } from '../inputs.ts';
import { settledWith, withoutAttempt, withoutServer } from '../record.ts';
import type { Action } from '../types.ts';
import { heldTwiceAdvice, namesOf } from '../words.ts';
import { park, taskIsOver, type OwnView } from '../view.ts';

/**
 * A person has looked and found nothing: obeyed only when no create can be on its way any more. Of a task the provider has
 * to have no news, or none for an hour, when it is asked after the word; and where it named a server, that server has to be
 * denied.
 */
export function attemptCreatedNothing(view: OwnView): Action | undefined {
  const { own, object, facts, inputs } = view;
  if (own.attempt === undefined || !saysNotCreated(object, own)) return undefined;
  const { identifier, task } = own;
  const { denials, looked } = facts.memo;
  const lost = task === undefined && identifier === undefined && !mayBeInFlight(view);
  const isDenied = identifier === undefined || denials?.of === `server ${identifier}`;
  const fruitless = task !== undefined && isDenied && isHopeless(view, own) && looked === inputs && !taskIsOver(view);
  if (!lost && !fruitless) return undefined;
  return { type: 'record', record: { ...withoutServer(withoutAttempt(own)), ...settledWith(own) }, why: 'notCreated' };
}

export function orphanIsHandled({ own, object }: OwnView): Action | undefined {
  const record = withoutHandledOrphans(object, own);
  return record === own ? undefined : { type: 'record', record, why: 'orphanHandled' };
}

/** A word that turned out to be untrue counts again once it has been taken back and said anew. */
export function wordIsTakenBack({ own, object }: OwnView): Action | undefined {
  if (own.goneRefuted === undefined || namesAsGone(object, own)) return undefined;
  const { goneRefuted: _goneRefuted, ...record } = own;
  return { type: 'record', record, why: 'wordTakenBack' };
}

/** Its server was cancelled. Nothing is ordered again, or a GitOps tool that keeps the object would pay for ever. */
export function serverHasExpired({ own, object, deleting }: OwnView): Action | undefined {
  if (own.expiredAt === undefined) return undefined;
  if (!deleting) {
    const message =
      `Server ${own.identifier ?? ''} expired at ${own.expiredAt} and no longer exists. The operator does not order another ` +
      'one. Delete this object; to get another server, create a new object';
    // Its addresses may be given to somebody else from now on.
    return park('Expired', message, { empties: true });
  }
  if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage(object, { orphans: own.orphans }));
  return { type: 'release', why: 'cancelled', record: own };
}

export function identifierIsHeldTwice({ own, facts, object, deleting }: OwnView): Action | undefined {
  if (own.identifier === undefined || (deleting && object.spec.deletionPolicy === 'Retain')) return undefined;
  const { account, fingerprint } = own;
  // Who is only about to take it over finds this object there.
  const holders = facts.others.withServer(own.identifier, { account, fingerprint, held: true });
  if (holders.length === 0) return undefined;
  return park(
    'IdentifierInUse',
    `Server ${own.identifier} is also held by ${namesOf(holders, object)}. The operator makes no calls for it. ` +
      heldTwiceAdvice(holders, object),
    { afterMs: facts.timing.pollMs },
  );
}
