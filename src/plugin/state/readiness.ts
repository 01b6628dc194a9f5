/** Reads the conditions of an object for the commands. Pure. */
import { currentReason, hasTrait } from '../../api/conditions.ts';
import { viewRecord } from '../../virtual-server/decision/known-record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { Condition, ObjectMeta } from '../../api/meta.ts';
import { clean } from '../terminal/terminal.ts';

/** An object of any kind that has conditions. */
export interface Reported {
  metadata: ObjectMeta;
  status?: { conditions?: Condition[] | undefined; observedGeneration?: number | undefined };
}

export type Readiness = Pick<Condition, 'status' | 'reason' | 'message' | 'summary' | 'subject'>;

/** What is the case, without what to do: the next steps show that. */
export function inWords({ message, summary = message }: Pick<Condition, 'message' | 'summary'>): string {
  return clean(summary);
}

export function conditionOf(object: Reported, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

/** The reason that the plugin shows for an object without conditions. */
export const NOT_REPORTED = 'NotReported';

/** The object cannot show the cause: the operator may be down, or the API server may refuse its writes. */
const notReported = (claimed = ''): Readiness => ({
  status: 'Unknown',
  reason: NOT_REPORTED,
  message: `The operator ${claimed}has not reported on ${claimed === '' ? 'this object' : 'it'} yet`,
});

export function serverReadiness(object: VirtualServer): Readiness {
  const hasRecord = (): boolean => viewRecord(object, []).kind === 'own';
  return conditionOf(object, 'Ready') ?? notReported(hasRecord() ? 'has claimed this object but ' : '');
}

export function setReadiness(set: VirtualServerSet): Readiness {
  return conditionOf(set, 'Ready') ?? notReported();
}

/** The reason that matters now. A server stays Ready while another condition keeps the operator from checking it. */
export function verdict(object: VirtualServer): Readiness {
  const reason = currentReason(object.status?.conditions);
  return object.status?.conditions?.find((condition) => condition.reason === reason) ?? serverReadiness(object);
}

/** Whether the conditions describe the current spec. */
export function isCurrent({ metadata, status }: Reported): boolean {
  return status?.observedGeneration === metadata.generation;
}

/** What the screens say about an object whose conditions describe an earlier spec; undefined for any other. */
export function outdated(object: Reported): string | undefined {
  if (conditionOf(object, 'Ready') === undefined || isCurrent(object)) return undefined;
  return 'the operator has not reported on the last change yet';
}

/** Why the object is stuck until the user acts; undefined if it is not stuck, or if the status is out of date. */
export function stalled(object: Reported): Condition | undefined {
  const condition = conditionOf(object, 'Stalled');
  return condition?.status === 'True' && isCurrent(object) ? condition : undefined;
}

/** The Paused condition; undefined unless the operator reports that the object is paused. */
export function paused(object: Reported): Condition | undefined {
  const condition = conditionOf(object, 'Paused');
  return condition?.status === 'True' ? condition : undefined;
}

/** Why the server still differs from a changed spec; undefined: it does not, as far as the operator has seen. */
export function pendingChange(object: Reported): Condition | undefined {
  const condition = conditionOf(object, 'ChangePending');
  return condition?.status === 'True' ? condition : undefined;
}

/** A pending change that the operator does not carry out on its own. */
export function heldChange(object: Reported): Condition | undefined {
  const condition = pendingChange(object);
  return hasTrait(condition?.reason, 'calm') || !isCurrent(object) ? undefined : condition;
}

/** What may be wrong with a server that is Ready, the most expensive first. */
const ASIDE = ['OrphanedServer', 'HostKeyChanged', 'Drifted'];

/** The conditions to look at that Ready does not show. A later change of spec does not answer them. */
export function asides(object: Reported): Condition[] {
  return ASIDE.flatMap((type) => conditionOf(object, type) ?? []).filter(({ status }) => status === 'True');
}
