/** What the object's own record settles before any call, whether the object is being deleted or not. */
import { isHopeless, mayBeInFlight } from './attempt.ts';
import { namesAsGone, orphanMessage, saysNotCreated, withoutHandledOrphans } from '../inputs.ts';
import { settledWith, withoutAttempt, withoutServer } from '../record.ts';
import type { Operation } from '../types.ts';
import { heldTwiceAdvice, namesOf } from '../words.ts';
import { notDue, park, taskIsOver, type OwnView } from '../view.ts';

/**
 * You say that the attempt created nothing. The operator obeys once no create can be in flight. If there is a task, the
 * operator must have asked the provider after your annotation, and the task must be hopeless or overdue. If the task
 * has named a server, the provider must have denied that server.
 */
export function attemptCreatedNothing(view: OwnView): Operation | undefined {
  const { own, object, facts, inputs } = view;
  if (own.attempt === undefined || !saysNotCreated(object, own)) return undefined;
  const { identifier, task } = own;
  const { denials, asked } = facts.memo.evidence;
  const lost = task === undefined && identifier === undefined && !mayBeInFlight(view);
  const isDenied = identifier === undefined || denials?.of === `server ${identifier}`;
  const fruitless = task !== undefined && isDenied && isHopeless(view, own) && asked === inputs && !taskIsOver(view);
  if (!lost && !fruitless) return undefined;
  return { type: 'record', record: { ...withoutServer(withoutAttempt(own)), ...settledWith(own) }, why: 'notCreated' };
}

export function orphanIsHandled({ own, object }: OwnView): Operation | undefined {
  const record = withoutHandledOrphans(object, own);
  return record === own ? undefined : { type: 'record', record, why: 'orphanHandled' };
}

/** A `server-gone` annotation that proved untrue counts again after you remove it and set it again. */
export function wordIsTakenBack({ own, object }: OwnView): Operation | undefined {
  if (own.goneRefuted === undefined || namesAsGone(object, own)) return undefined;
  const { goneRefuted: _goneRefuted, ...record } = own;
  return { type: 'record', record, why: 'wordTakenBack' };
}

/**
 * The server was cancelled. The operator orders no other one, or a GitOps tool that keeps the object would cost money
 * forever.
 */
export function serverHasExpired(view: OwnView): Operation | undefined {
  const { own, object, deleting } = view;
  if (own.expiredAt === undefined) return undefined;
  if (!deleting) return notDue(view, 'expire') ?? { type: 'expire', record: own };
  if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage(object, { orphans: own.orphans }));
  return { type: 'release', why: 'cancelled', record: own };
}

export function identifierIsHeldTwice({ own, facts, object, deleting }: OwnView): Operation | undefined {
  if (own.identifier === undefined || (deleting && object.spec.deletionPolicy === 'Retain')) return undefined;
  const { account, fingerprint } = own;
  // An object that is only about to adopt the server is left out: it will see this object as the holder.
  const holders = facts.others.withServer(own.identifier, { account, fingerprint, held: true });
  if (holders.length === 0) return undefined;
  return park(
    'IdentifierInUse',
    `Server ${own.identifier} is also held by ${namesOf(holders, object)}. The operator makes no calls for this server. ` +
      heldTwiceAdvice(holders, object),
    { afterMs: facts.timing.pollMs },
  );
}
