/**
 * What comes before every DELETE, of a deleted object as of an expired one: the server, the object and the definitions are
 * read live, so no cached state cancels a server. visit/gather.ts reads them, visit/perform.ts sends the DELETE.
 */
import { SET_KIND } from '../../../api/names.ts';
import { isSameAccount } from '../account.ts';
import { isAskedLately } from '../confirmation.ts';
import { isInDoubt, recognizeFor } from '../doubt.ts';
import type { Action, Outcome } from '../types.ts';
import { accountOf, notYetOrGone, type OwnView } from '../view.ts';

/**
 * The operator reads and recognizes the server first, since another server may have got the identifier. It then reads
 * the object and decides again from the start. It reads the definitions last: the API server marks a definition for
 * deletion before it deletes any object. A deletion of the definition of sets reaches the members of all sets, through the
 * garbage collector. If the deletion of all VirtualServers is allowed, so is that of members.
 */
export function cancellation(view: OwnView, identifier: string): Action {
  const first = notYetOrGone(view, 'deleteServer');
  if (first !== undefined) return first;
  const { own: record, facts } = view;
  if (facts.cancellation?.identifier !== identifier) return { type: 'gather', what: 'server' };
  const { shown, liveAt, definition, setDefinition } = facts.cancellation;
  const action = { type: 'deleteServer', record, identifier } as const;
  if (!isRecognized(view, shown) && !mayBeUnseen(view, shown))
    return { ...action, leave: { ok: false, outcome: shown } };
  if (isAskedLately(facts, identifier)) return { ...action, leave: { ok: false, outcome: shown } };
  if (liveAt === undefined) return { type: 'gather', what: 'liveObject' };
  if (definition === undefined) return { type: 'gather', what: 'definition' };
  if (definition !== 'kept' && definition !== 'deletionAllowed')
    return { ...action, leave: { ok: false, outcome: { type: 'heldBack', of: 'servers', definition } } };
  if (definition === 'kept' && hasSet(view)) {
    if (setDefinition === undefined) return { type: 'gather', what: 'setDefinition' };
    if (setDefinition !== 'kept' && setDefinition !== 'deletionAllowed')
      return { ...action, leave: { ok: false, outcome: { type: 'heldBack', of: 'sets', definition: setDefinition } } };
  }
  return { ...action, leave: { ok: true, shown, liveAt } };
}

/** Whether the garbage collector deletes the object if its set is gone; not only a controller has this effect. */
function hasSet({ object: { metadata } }: OwnView): boolean {
  return metadata.ownerReferences?.some(({ kind }) => kind === SET_KIND) === true;
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
