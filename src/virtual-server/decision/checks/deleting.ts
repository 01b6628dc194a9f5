/** What happens to the server of an object that is being deleted. */
import { isSameAccount } from '../account.ts';
import { isInDoubt, recognizeFor } from '../doubt.ts';
import { orphanMessage } from '../inputs.ts';
import type { Action, Outcome } from '../types.ts';
import { accountOf, notYetOrGone, park, type OwnView, type View } from '../view.ts';
import { protectedMessage } from '../words.ts';

/** If nothing was created, no credentials are needed. */
export function nothingIsOwed({ own, object, record, adoption }: View): Action | undefined {
  if (record.kind === 'missing' && adoption !== undefined) return undefined;
  if (own?.orphans !== undefined) return park('OrphanedServer', orphanMessage(object, own));
  return { type: 'release', why: 'nothingCreated', record: own };
}

/**
 * A retained server must have an identifier. Until then the operator follows the order, or waits until you resolve its
 * outcome.
 */
export function serverIsRetained({ own, object }: OwnView): Action | undefined {
  if (object.spec.deletionPolicy !== 'Retain' || own.identifier === undefined) return undefined;
  return { type: 'release', why: 'retained', record: own };
}

export function serverIsProtected({ object }: View): Action | undefined {
  if (!object.spec.deletionProtection) return undefined;
  return park('DeletionProtected', protectedMessage(object));
}

export function serverIsToBeCancelled(view: OwnView): Action | undefined {
  const { own, facts } = view;
  if (own.identifier === undefined) return undefined;
  const isCancelled = facts.memo.cancelled === own.identifier;
  if (isCancelled || facts.memo.gone === own.identifier) {
    // The object's own server no longer exists, so the message must not advise to keep it.
    if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage(view.object, { orphans: own.orphans }));
    return { type: 'release', why: isCancelled ? 'cancelled' : 'gone', record: own };
  }
  return cancellation(view, own.identifier);
}

/**
 * The operator reads and recognizes the server first, since another server may have got the identifier. It then reads
 * the object live and decides again from the start, so that no cached state cancels a server. It reads the definition
 * last: the API server marks the definition for deletion before it deletes any object.
 */
export function cancellation(view: OwnView, identifier: string): Action {
  const first = notYetOrGone(view, 'deleteServer');
  if (first !== undefined) return first;
  const { own: record, facts } = view;
  if (facts.cancellation?.identifier !== identifier) return { type: 'gather', what: 'server' };
  const { shown, liveAt, definition } = facts.cancellation;
  const action = { type: 'deleteServer', record, identifier } as const;
  if (!isRecognized(view, shown) && !mayBeUnseen(view, shown))
    return { ...action, leave: { ok: false, outcome: shown } };
  if (liveAt === undefined) return { type: 'gather', what: 'liveObject' };
  if (definition === undefined) return { type: 'gather', what: 'definition' };
  if (definition !== 'kept' && definition !== 'deletionAllowed')
    return { ...action, leave: { ok: false, outcome: { type: 'heldBack', definition } } };
  return { ...action, leave: { ok: true, shown, liveAt } };
}

function isRecognized(view: OwnView, shown: Outcome): boolean {
  return shown.type === 'server' && recognizeFor('cancel', view, view.own, shown).ok;
}

/**
 * A DELETE may find a server that reads do not show yet. This does not apply to a server that was read before: another
 * server may have got its identifier since.
 */
function mayBeUnseen({ object, own, facts }: OwnView, shown: Outcome): boolean {
  const { account, fingerprint, mode, missingAt } = own;
  const wasRead = fingerprint !== undefined || mode === 'adopt' || missingAt !== undefined;
  const isOther = account !== undefined && !isSameAccount(account, accountOf(facts));
  const counts = shown.type === 'serverNotFound' && shown.counts;
  return counts && !wasRead && !isOther && !isInDoubt(object, facts.memo);
}
