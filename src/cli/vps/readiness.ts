/** Reads the conditions of an object for the commands. Pure. */
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

/** The reason that the plugin shows for an object without conditions. */
export const NOT_REPORTED = 'NotReported';

export function readiness(object: VirtualServer): Readiness {
  return conditionOf(object, 'Ready') ?? notReported(object);
}

/** The object cannot show the cause: the operator may be down, or the API server may refuse its writes. */
function notReported(object: VirtualServer): Readiness {
  const claimed = viewRecord(object, []).kind === 'own' ? 'has claimed this object but ' : '';
  const message = `The operator ${claimed}has not reported on ${claimed === '' ? 'this object' : 'it'} yet`;
  return { status: 'Unknown', reason: NOT_REPORTED, message };
}

/** The reason that matters now. A server stays Ready while another condition keeps the operator from checking it. */
export function verdict(object: VirtualServer): { reason: string; message: string } {
  const reason = currentReason(object.status?.conditions);
  return object.status?.conditions?.find((condition) => condition.reason === reason) ?? readiness(object);
}

/** Whether the conditions describe the current spec. */
export function isCurrent({ metadata, status }: VirtualServer): boolean {
  return status?.observedGeneration === metadata.generation;
}

/** Why the object is stuck until the user acts; undefined if it is not stuck, or if the status is out of date. */
export function stalled(object: VirtualServer): Condition | undefined {
  const condition = conditionOf(object, 'Stalled');
  return condition?.status === 'True' && isCurrent(object) ? condition : undefined;
}

/** The Paused condition; undefined unless the operator reports that the object is paused. */
export function paused(object: VirtualServer): Condition | undefined {
  const condition = conditionOf(object, 'Paused');
  return condition?.status === 'True' ? condition : undefined;
}
