/** What one object holds or orders, according to its record and its status. */
import { currentReason } from '../../controller/conditions.ts';
import { hasTrait } from '../../api/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { adoptionOf } from '../decision/inputs.ts';
import { isPaused } from '../../api/server-state.ts';
import { isProvisioned } from '../decision/status.ts';
import type { Holding } from './holders.ts';

export function holdingOf(object: VirtualServer, record: ServerRecord | undefined): Holding | undefined {
  if (record === undefined) return undefined;
  const { metadata, spec, status } = object;
  const { account, fingerprint, attempt, task } = record;
  // A server that counts as gone must not keep others from the next server with its identifier.
  const identifier = record.missingAt === undefined ? record.identifier : undefined;
  const isMirrored = identifier !== undefined && status?.record?.identifier === identifier;
  const isRead = isMirrored && isProvisioned(status);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    secret: spec.apiKeySecretRef.name,
    account,
    identifier,
    fingerprint,
    isConfirmed: isRead || (isMirrored && status.task?.message !== undefined),
    task: isRead ? undefined : task,
    isOrdering: attempt !== undefined && record.identifier === undefined && !isStuck(object, record),
  };
}

/**
 * True if waiting for the record's order will not reveal its server. Conditions left by an earlier order do not count.
 */
function isStuck(object: VirtualServer, { attempt, task }: ServerRecord): boolean {
  // A paused object makes no calls, and others must not wait for it.
  if (isPaused(object)) return true;
  // You resolve this order without a task by an adoption; two such objects would wait for each other.
  if (task === undefined && adoptionOf(object) !== undefined) return true;
  const { record: mirror, conditions } = object.status ?? {};
  if (mirror?.attempt !== attempt || mirror?.task !== task) return false;
  return hasTrait(currentReason(conditions), 'namedByYou');
}
