/** How often an object makes the operator call the provider while nothing changes. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isPaused } from './inputs.ts';
import { isLetGo } from './running.ts';
import { isProvisioned } from './status.ts';
import { currentReason, type ReadyReason } from './verdict.ts';

/** At every poll interval, at every resync interval, or not at all but for single calls. */
export type Calls = 'poll' | 'resync' | 'none';

/** An object with a server, or a task, for which the operator waits for a change and calls nothing. */
const WITHOUT_CALLS = new Set<string>([
  'CreateInFlight',
  'CreateOutcomeUnknown',
  'DeletionProtected',
  'Expired',
  'IdentifierInUse',
  'InvalidCredentials',
  'OrphanedServer',
  'RecordConflict',
  'RecordInvalid',
  'RecordMismatch',
  'RecordMissing',
  'RecordTooNew',
  'SecretForbidden',
  'SecretInvalid',
  'SecretNotFound',
] satisfies ReadyReason[]);

/** The server is there and not Ready yet, or no more. */
const READ_AT_EVERY_POLL = new Set<string>([
  'AddressPending',
  'ServerNotRunning',
  'Unreachable',
] satisfies ReadyReason[]);

export function callsOf(object: VirtualServer): Calls {
  const { metadata, status } = object;
  const reason = currentReason(status?.conditions) ?? '';
  if (isPaused(object) || isLetGo(object) || WITHOUT_CALLS.has(reason)) return 'none';
  const { record } = status ?? {};
  if (record?.owner !== metadata.uid || record.expiredAt !== undefined) return 'none';
  if (record.task !== undefined && !isProvisioned(status)) return 'poll';
  // A cancellation is retried after growing pauses until it succeeds.
  if (record.identifier === undefined || metadata.deletionTimestamp !== undefined) return 'none';
  const unwritten = status?.conditions?.some((condition) => condition.reason === 'ConnectionSecretFailed') === true;
  return unwritten || READ_AT_EVERY_POLL.has(reason) ? 'poll' : 'resync';
}
