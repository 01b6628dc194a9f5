/** Adopts the server that the annotation `adopt` names. */
import { currentReason } from '../../../controller/conditions.ts';
import { hasTrait } from '../../../api/conditions.ts';
import { ADOPT_ANNOTATION } from '../../../api/names.ts';
import { isSameIdentifier } from '../../../base/identifier.ts';
import { adopt } from '../commands.ts';
import { isHopeless } from './attempt.ts';
import type { Action } from '../types.ts';
import { namesOf, resolveAdvice } from '../words.ts';
import { accountOf, isOverdue, notYet, park, type View } from '../view.ts';

/** True if the task named a server that was never seen, and now names another one or none. */
function isReplaceable({ own, adoption, object }: View): boolean {
  if (own?.mode !== 'create' || own.fingerprint !== undefined || own.task === undefined) return false;
  const isOther = adoption?.ok === true && !isSameIdentifier(adoption.identifier, own.identifier);
  return isOther && hasTrait(currentReason(object.status?.conditions), 'renamed');
}

export function adoptionIsAsked(view: View): Action | undefined {
  const { own, adoption, facts, object } = view;
  if (adoption === undefined || (own?.identifier !== undefined && !isReplaceable(view))) return undefined;
  // A running task will name its own server. Adopting that server earlier would make the task look like an orphan.
  const isRefused = currentReason(object.status?.conditions) === 'AdoptInvalid';
  if (own?.task !== undefined && !isRefused && !isHopeless(view, own)) return undefined;
  if (!adoption.ok) return park('AdoptInvalid', `${adoption.message}. To correct it, run ${adopt(object)}`);
  const { identifier } = adoption;
  // Require a key of the account first: without one, the message must not tell what other objects hold.
  const first = notYet(view, 'adopt');
  if (first !== undefined) return first;
  const ordering = facts.others.ordering(accountOf(facts));
  if (ordering.length > 0) {
    const message = `The operator adopts server ${identifier} as soon as it knows which server ${namesOf(ordering, object)} ordered`;
    // Two overdue orders would wait for each other: the reason TaskOverdue lets the other one go first (see isStuck).
    const isLate = own?.task !== undefined && isOverdue(own, facts.now);
    return park(isLate ? 'TaskOverdue' : 'Pending', message, {
      afterMs: Math.min(facts.timing.pollMs, ORDERING_RECHECK_MS),
    });
  }
  return { type: 'adopt', record: own, identifier };
}

const ORDERING_RECHECK_MS = 5_000;

/** While an attempt is open, no advice may lead to a release. */
export function heldMessage({ own, object }: View, identifier: string, holders: readonly string[]): string {
  const advice =
    own?.attempt === undefined ? `To correct the annotation, run ${adopt(object)}` : resolveAdvice(object, own);
  return `Server ${identifier}, named by annotation ${ADOPT_ANNOTATION}, is held by ${namesOf(holders, object)}, so the operator does not adopt it. ${advice}`;
}
