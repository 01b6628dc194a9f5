/** How a person resolves a parked object: truthfully, from what the provider shows. Pure. */
import { currentReason } from '../../src/controller/conditions.ts';
import { ADOPT_ANNOTATION, NOT_CREATED_ANNOTATION, ORPHAN_HANDLED_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { orphanName } from '../../src/virtual-server/decision/inputs.ts';

/** What a person can see at the provider. */
interface Truth {
  /** The server that was ordered for this object and has not been cancelled; it may still be in creation. */
  serverOf(object: VirtualServer): string | undefined;
  /** Whether a create for this object is on its way to the provider. */
  onItsWay(object: VirtualServer): boolean;
}

/** Reasons for which an order waits for a person's answer. */
const OPEN = new Set<string | undefined>(['CreateOutcomeUnknown', 'TaskNotFound', 'TaskFailed', 'TaskInUse']);

/** Whether the object waits for a person's answer about its order. */
export function asks({ status }: VirtualServer): boolean {
  return OPEN.has(currentReason(status?.conditions));
}

/** Annotations to set; undefined if there is nothing to resolve. */
export function resolve(object: VirtualServer, truth: Truth): Record<string, string> | undefined {
  const { annotations = {} } = object.metadata;
  const { attempt, identifier: known, orphans } = object.status?.record ?? {};
  const handled = orphans?.map(orphanName).join(',');
  if (handled !== undefined && annotations[ORPHAN_HANDLED_ANNOTATION] !== handled)
    return { [ORPHAN_HANDLED_ANNOTATION]: handled };
  // A request that was cut off may arrive later than its sender knows.
  if (!asks(object) || attempt === undefined || truth.onItsWay(object)) return undefined;
  const identifier = truth.serverOf(object);
  // The record names the server already, and the server exists.
  if (known !== undefined && identifier !== undefined) return undefined;
  const says: Record<string, string> =
    identifier === undefined ? { [NOT_CREATED_ANNOTATION]: attempt } : { [ADOPT_ANNOTATION]: identifier };
  return Object.entries(says).every(([name, value]) => annotations[name] === value) ? undefined : says;
}
