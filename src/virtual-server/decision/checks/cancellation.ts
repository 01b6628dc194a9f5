/**
 * What comes before every DELETE, of a deleted object as of an expired one: the server, the object and the definition are
 * read live, so no cached state cancels a server. visit/gather.ts reads them, visit/perform.ts sends the DELETE.
 */
import { isSameAccount } from '../account.ts';
import { isInDoubt, recognizeFor } from '../doubt.ts';
import type { Action, Outcome } from '../types.ts';
import { accountOf, notYetOrGone, type OwnView } from '../view.ts';

/**
 * The operator reads and recognizes the server first, since another server may have got the identifier. It then reads
 * the object and decides again from the start. It reads the definition last: the API server marks the definition for
 * deletion before it deletes any object.
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
