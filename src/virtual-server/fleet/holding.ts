/** What one object holds or orders, as its record and its status say. */
import { currentReason } from '../../controller/conditions.ts';
import { hasTrait } from '../../api/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { adoptionOf, isPaused } from '../decision/inputs.ts';
import { isProvisioned } from '../decision/status.ts';
import type { Holding } from './holders.ts';

export function holdingOf(object: VirtualServer, record: ServerRecord | undefined): Holding | undefined {
  if (record === undefined) return undefined;
  const { metadata, spec, status } = object;
  const { account, fingerprint, attempt, task } = record;
  // One that counts as gone does not keep the next server of its name from others.
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

/** Whether the order of the record will not tell of a server by itself; an earlier order may have left the conditions. */
function isStuck(object: VirtualServer, { attempt, task }: ServerRecord): boolean {
  // Nothing is asked while it is paused, and others must not wait for that.
  if (isPaused(object)) return true;
  // An order without a task that you resolve by an adoption: two such objects would wait for each other.
  if (task === undefined && adoptionOf(object) !== undefined) return true;
  const { record: mirror, conditions } = object.status ?? {};
  if (mirror?.attempt !== attempt || mirror?.task !== task) return false;
  return hasTrait(currentReason(conditions), 'namedByYou');
}
