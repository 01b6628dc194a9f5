/** How often an object makes the operator call the provider while nothing changes, and how urgent that is. Pure. */
import { currentReason } from '../../controller/conditions.ts';
import { hasTrait } from '../../api/conditions.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isLetGo, isPaused } from '../../api/server-state.ts';
import { isProvisioned } from './status.ts';

/** At every poll interval, at every resync interval, or never except for single calls. */
export type Calls = 'poll' | 'resync' | 'none';

export function callsOf(object: VirtualServer): Calls {
  const { metadata, status } = object;
  const reason = currentReason(status?.conditions);
  if (isPaused(object) || isLetGo(object) || hasTrait(reason, 'noCalls')) return 'none';
  const { record } = status ?? {};
  if (record?.owner !== metadata.uid || record.expiredAt !== undefined) return 'none';
  if (record.task !== undefined && !isProvisioned(status)) return 'poll';
  // The operator retries a cancellation with growing pauses until it succeeds.
  if (record.identifier === undefined || metadata.deletionTimestamp !== undefined) return 'none';
  const unwritten = status?.conditions?.some((condition) => condition.reason === 'ConnectionSecretFailed') === true;
  return unwritten || hasTrait(reason, 'readAtPoll') ? 'poll' : 'resync';
}

/** Deletions; then tasks, adopted servers and edits; then new orders; then Ready servers that are read again. */
const URGENCY = { end: 0, begun: 1, order: 2, resync: 3 } as const;

/**
 * How urgent the next visit is; 0 goes first. What is begun is finished before more is begun: otherwise none of a
 * thousand new servers would be Ready before the last of them is ordered.
 */
export function urgencyOf(object: VirtualServer | undefined): number {
  const { metadata, status } = object ?? {};
  if (metadata === undefined || metadata.deletionTimestamp !== undefined) return URGENCY.end;
  if (isProvisioned(status)) return status?.observedGeneration === metadata.generation ? URGENCY.resync : URGENCY.begun;
  const { task, identifier } = status?.record ?? {};
  return task === undefined && identifier === undefined ? URGENCY.order : URGENCY.begun;
}
