/** What the conditions of an object say, in the form that the commands ask for. Pure. */
import type { Condition, VirtualServer } from '../../api/virtual-server.ts';

export interface Readiness {
  status: Condition['status'];
  reason: string;
  message: string;
}

export function conditionOf(object: VirtualServer, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

export function readiness(object: VirtualServer): Readiness {
  const ready = conditionOf(object, 'Ready');
  if (ready === undefined) {
    return { status: 'Unknown', reason: 'NotSeen', message: 'the operator has not seen it yet: does it run?' };
  }
  return ready;
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
