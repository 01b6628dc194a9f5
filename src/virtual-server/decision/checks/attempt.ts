/** An attempt to order a server, its outcome, and the task that results from it. */
import { currentReason } from '../../../controller/conditions.ts';
import { hasTrait } from '../../../api/conditions.ts';
import type { VirtualServer } from '../../../api/virtual-server.ts';
import type { ServerRecord } from '../../../api/record.ts';
import type { Operation } from '../types.ts';
import { causeIn, unknownMessage } from '../words.ts';
import { firstSeen, isOverdue, notDue, park, taskIsOver, type OwnView, type View } from '../view.ts';

export function createIsInFlight(view: OwnView): Operation | undefined {
  const { own, facts } = view;
  if (!mayBeInFlight(view) || own.attempt === undefined) return undefined;
  return park(
    'CreateInFlight',
    `Another process of the operator claimed order ${own.attempt} and may still be sending it. The operator waits until that process can no longer send it`,
    { afterMs: firstSeen(own.attempt, facts) + facts.timing.takeoverMs - facts.now },
  );
}

/** True while another process may still be sending the create of the record's attempt. */
export function mayBeInFlight({ own, facts }: OwnView): boolean {
  if (own.attempt === undefined || own.task !== undefined || own.identifier !== undefined) return false;
  if (facts.notes.some((note) => note.attempt === own.attempt)) return false;
  return facts.now - firstSeen(own.attempt, facts) < facts.timing.takeoverMs;
}

/**
 * True if waiting will not resolve the order (the reason is `hopeless`), or if its task has run for more than an hour.
 */
export function isHopeless({ object, facts }: View, own: ServerRecord): boolean {
  return hasTrait(currentReason(object.status?.conditions), 'hopeless') || isOverdue(own, facts.now);
}

export function createOutcomeIsUnknown({ own, object }: OwnView): Operation | undefined {
  if (own.attempt === undefined || own.task !== undefined || own.identifier !== undefined) return undefined;
  return park('CreateOutcomeUnknown', unknownMessage(object, own, causeOf(object, own)));
}

/** Only the visit that sent the create knows what happened; the condition of this order still contains it. */
function causeOf({ status }: VirtualServer, { attempt, hintedTask }: ServerRecord): string | undefined {
  if (status?.record?.attempt !== attempt || status?.record?.hintedTask !== hintedTask) return undefined;
  const condition = status?.conditions?.find(({ reason }) => reason === 'CreateOutcomeUnknown');
  return condition && causeIn(condition.message);
}

export function taskRuns(view: OwnView): Operation | undefined {
  const { own, facts } = view;
  if (own.task === undefined || taskIsOver(view)) return undefined;
  const { identifier, task } = own;
  if (facts.memo.evidence.task?.state === 'silent' && identifier !== undefined)
    return notDue(view, 'look') ?? { type: 'look', record: own, identifier };
  return notDue(view, 'follow') ?? { type: 'follow', record: own, task };
}
