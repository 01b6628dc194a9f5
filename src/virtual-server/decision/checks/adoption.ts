/** Whether the server that the annotation `adopt` names is to be adopted. */
import { currentReason } from '../../../controller/conditions.ts';
import { hasTrait } from '../../../api/conditions.ts';
import { adopt } from '../commands.ts';
import { isHopeless } from './attempt.ts';
import type { Operation } from '../types.ts';
import { notDue, park, type View } from '../view.ts';

/** True if the task named a server that was never seen, and now names another one or none. */
function isReplaceable({ own, adoption, object }: View): boolean {
  if (own?.mode !== 'create' || own.fingerprint !== undefined || own.task === undefined) return false;
  const isOther = adoption?.ok === true && adoption.identifier.toLowerCase() !== own.identifier?.toLowerCase();
  return isOther && hasTrait(currentReason(object.status?.conditions), 'renamed');
}

export function adoptionIsAsked(view: View): Operation | undefined {
  const { own, adoption, object } = view;
  if (adoption === undefined || (own?.identifier !== undefined && !isReplaceable(view))) return undefined;
  // A running task will name its own server. Adopting that server earlier would make the task look like an orphan.
  const isRefused = currentReason(object.status?.conditions) === 'AdoptInvalid';
  if (own?.task !== undefined && !isRefused && !isHopeless(view, own)) return undefined;
  if (!adoption.ok) return park('AdoptInvalid', `${adoption.message}. To correct it, run ${adopt(object)}`);
  return notDue(view, 'adopt') ?? { type: 'adopt', record: own, identifier: adoption.identifier };
}
