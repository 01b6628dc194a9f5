/**
 * What a GitOps tool should report for each state. Written by hand: this table is the expectation, not a description of
 * what health.lua, the CEL expressions or the decision room do.
 */
import type { CONDITION_TYPES } from '../../src/api/conditions.ts';

export interface Verdict {
  argo: 'Healthy' | 'Progressing' | 'Degraded' | 'Suspended';
  /** Argo CD's message: the messages of these conditions, one after another, or a text. */
  says: readonly (typeof CONDITION_TYPES)[number][] | string;
  flux: 'Current' | 'InProgress' | 'Failed';
  kstatus: 'Current' | 'InProgress' | 'Failed' | 'Terminating';
}

export const healthy: Verdict = { argo: 'Healthy', says: ['Ready'], flux: 'Current', kstatus: 'Current' };
/** Progresses without help: a sync waits. */
export const working: Verdict = {
  argo: 'Progressing',
  says: ['Reconciling'],
  flux: 'InProgress',
  kstatus: 'InProgress',
};
/** Needs a person: a sync fails at once instead of at its timeout. */
export const stuck: Verdict = { argo: 'Degraded', says: ['Stalled'], flux: 'Failed', kstatus: 'Failed' };
/**
 * The server runs and only the provider is unreachable: no reason to fail a sync. kstatus evaluates only Reconciling.
 */
const unwatched: Verdict = { argo: 'Healthy', says: ['Ready', 'Reconciling'], flux: 'Current', kstatus: 'InProgress' };
/** The operator has not reconciled this spec yet. */
export const unseen: Verdict = {
  ...working,
  says: 'The operator has not reported on the current spec yet. If this persists, check that the operator runs.',
};
/** For problems with the key or the provider, the same for every kind. */
export const ACCOUNT_VERDICTS: Record<string, Verdict> = {
  SecretNotFound: stuck,
  SecretNotFound_ready: stuck,
  SecretInvalid: stuck,
  SecretInvalid_ready: stuck,
  SecretForbidden: stuck,
  SecretForbidden_ready: stuck,
  InvalidCredentials: stuck,
  InvalidCredentials_ready: stuck,
  Unauthorized: stuck,
  Unauthorized_ready: stuck,
  ProviderUnavailable: working,
  ProviderUnavailable_ready: unwatched,
  ProviderRateLimited: working,
  ProviderRateLimited_ready: unwatched,
  ProviderProtocolError: stuck,
  ProviderProtocolError_ready: stuck,
};

/** Paused on request; Flux and kstatus have no such state. */
export const suspended: Verdict = { argo: 'Suspended', says: ['Paused'], flux: 'InProgress', kstatus: 'InProgress' };

export const VERDICTS: Record<string, Verdict> = {
  new: unseen,
  edited: unseen,
  fixed: unseen,
  terminating: { ...unseen, kstatus: 'Terminating' },

  Available: healthy,
  Pending: working,
  Creating: working,
  Creating_progress: working,
  TaskOverdue: working,
  TaskNotFound: stuck,
  TaskFailed: stuck,
  TaskInUse: stuck,
  ServerNotRunning: working,
  AddressPending: working,
  Reachable: healthy,
  Booting: working,
  Unreachable: working,
  ConnectionSecretWritten: healthy,
  ConnectionSecretsDisabled: { ...healthy, says: ['Ready', 'ConnectionSecret'] },
  ConnectionSecretTaken: { ...healthy, says: ['Ready', 'ConnectionSecret'] },
  ConnectionSecretFailed: { ...healthy, says: ['Ready', 'ConnectionSecret'] },
  AbsenceUnproven: unwatched,
  ServerMissing: stuck,
  IdentityUnproven: stuck,
  Expired: stuck,
  Expired_unordered: stuck,
  ExpiresSoon: { ...healthy, says: ['Ready', 'Expiring'] },
  ExpiryBlocked: { ...healthy, says: ['Ready', 'Expiring'] },
  ServerNotVisible: stuck,
  ServerAdopted: healthy,
  Drifted: { ...healthy, says: ['Ready', 'Drifted'] },

  Deleting: { ...working, kstatus: 'Terminating' },
  Deleting_unavailable: { ...working, kstatus: 'Terminating' },
  Deleting_unconfirmed: { ...working, kstatus: 'Terminating' },
  CancellationUnconfirmed: { ...stuck, kstatus: 'Terminating' },
  CRDDeleting: { ...stuck, kstatus: 'Terminating' },
  CRDForbidden: { ...stuck, kstatus: 'Terminating' },
  HasOwners: healthy,
  DeletionProtected: { ...stuck, kstatus: 'Terminating' },

  ...ACCOUNT_VERDICTS,

  SSHKeyNotFound: stuck,
  InvalidSpec: stuck,
  CreateLimit: working,
  ServerLimit: stuck,
  JournalUnavailable: working,
  CreateRejected: stuck,
  CreateInFlight: working,
  CreateOutcomeUnknown: stuck,

  RecordInvalid: stuck,
  RecordTooNew: stuck,
  RecordMissing: stuck,
  RecordConflict: stuck,
  RecordMismatch: stuck,
  IdentifierInUse: stuck,
  AdoptInvalid: stuck,
  UnknownAnnotation: stuck,
  AdoptIgnored: healthy,
  OrphanedServer: { ...healthy, says: ['Ready', 'OrphanedServer'] },
  OrphanedServer_deleting: { ...stuck, kstatus: 'Terminating' },

  Paused: suspended,
  Paused_ready: { ...suspended, flux: 'Current', kstatus: 'Current' },
  Paused_edited: suspended,
  Paused_fixed: suspended,
  // A pause must not hide that a person has to act.
  Paused_stalled: stuck,
  Paused_deleting: { ...suspended, kstatus: 'Terminating' },
};
