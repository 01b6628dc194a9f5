/** What the conditions of an object say, in the form that the commands ask for. Pure. */
import { currentReason } from '../../controller/conditions.ts';
import { viewRecord } from '../../virtual-server/decision/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Condition } from '../../api/meta.ts';

interface Readiness {
  status: Condition['status'];
  reason: string;
  message: string;
}

export function conditionOf(object: VirtualServer, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

/** The reason of an object that has no conditions. */
export const NOT_REPORTED = 'NotReported';

export function readiness(object: VirtualServer): Readiness {
  return conditionOf(object, 'Ready') ?? notReported(object);
}

/** Why that is so is not known from the object: the operator may be down, or the API server may refuse its writes. */
function notReported(object: VirtualServer): Readiness {
  const claimed = viewRecord(object, []).kind === 'own' ? 'has claimed this object and ' : '';
  const message = `The operator ${claimed}has not reported on ${claimed === '' ? 'this object' : 'it'} yet`;
  return { status: 'Unknown', reason: NOT_REPORTED, message };
}

/** The reason that matters now: a server stays Ready while something else keeps the operator from watching it. */
export function verdict(object: VirtualServer): { reason: string; message: string } {
  const reason = currentReason(object.status?.conditions);
  return object.status?.conditions?.find((condition) => condition.reason === reason) ?? readiness(object);
}

/** True where the conditions speak of the spec as it is now. */
export function isCurrent({ metadata, status }: VirtualServer): boolean {
  return status?.observedGeneration === metadata.generation;
}

/** Why nothing goes on until a person acts; undefined while it does, or while that is not known. */
export function stalled(object: VirtualServer): Condition | undefined {
  const condition = conditionOf(object, 'Stalled');
  return condition?.status === 'True' && isCurrent(object) ? condition : undefined;
}

/** That a person has told the operator to leave it alone; undefined while it does not say so. */
export function paused(object: VirtualServer): Condition | undefined {
  const condition = conditionOf(object, 'Paused');
  return condition?.status === 'True' ? condition : undefined;
}
