/** How often an object makes the operator call the provider while nothing changes. Pure. */
import { currentReason } from '../../controller/conditions.ts';
import { hasTrait } from '../../api/conditions.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isPaused } from './inputs.ts';
import { isLetGo } from './running.ts';
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
