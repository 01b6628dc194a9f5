/** Condition types and reasons: the one list of every word that a condition or an Event may carry. */
import { ADOPT_ANNOTATION, PAUSED_ANNOTATION } from './names.ts';

export const CONDITION_TYPES = ['Ready', 'Reconciling', 'Stalled', 'Drifted', 'Paused', 'OrphanedServer'] as const;

/** Reason -> what it means; docs/operations.md has a paragraph for each (a test compares). */
export const REASONS = {
  Available: 'The server runs.',
  Pending: 'The operator has seen the object and not yet ordered the server.',
  Creating: 'The create was accepted; the task runs.',
  TaskOverdue: 'The task has run for more than an hour.',
  TaskNotFound: 'The service no longer knows the task.',
  ServerNotRunning: 'The server exists, the service reports another status than running.',
  AddressPending: 'The server runs and the service shows no way to reach it yet.',
  ServerMissing: 'The server is gone from the service; it is not ordered again.',
  ServerNotVisible: 'The server cannot be seen with this key; nobody knows whether it exists.',
  Deleting: 'The object is being deleted; the server is about to be cancelled.',
  DeletionProtected: 'The object is being deleted, spec.deletionProtection forbids to cancel the server.',
  Drifted: 'The server differs from spec.',
  Paused: `The annotation ${PAUSED_ANNOTATION} is set; nothing is done.`,
  SecretNotFound: 'The Secret with the API key does not exist.',
  SecretInvalid: 'The Secret with the API key lacks a key.',
  SecretForbidden: 'The operator may not read the Secret.',
  SSHKeyNotFound: 'A Secret named in spec.sshKeysFrom, or a key of it, does not exist.',
  InvalidCredentials: 'The service refuses the API key.',
  Unauthorized: 'The service refuses a fresh token.',
  ProviderUnavailable: 'The service cannot be reached or answers with an error.',
  ProviderRateLimited: 'The service asks to send fewer requests.',
  ProviderProtocolError: 'The service answered something that cannot be understood.',
  InvalidSpec: 'The service does not offer what spec asks for.',
  CreateLimit: 'The namespace has reached --max-creates-per-hour.',
  CreateRejected: 'The service refused the create.',
  CreateInFlight: 'Another process may be sending the create.',
  CreateOutcomeUnknown: 'A create was sent and its answer lost: there may be a server.',
  RecordInvalid: 'The record annotation is not a record.',
  RecordMissing: 'The finalizer is there and the record is lost.',
  RecordConflict: 'The record and its mirror in status contradict each other.',
  RecordMismatch: 'The record belongs to another object: this one is a copy or was restored.',
  IdentifierInUse: 'Another object holds this server.',
  AdoptIgnored: `The annotation ${ADOPT_ANNOTATION} names another server than the object holds.`,
  AdoptInvalid: `The annotation ${ADOPT_ANNOTATION} does not hold an identifier.`,
  OrphanedServer: 'There may be a server that no object refers to.',
  RetainedServer: 'The object was deleted, its server lives on.',
  ServerCancelled: 'The server was cancelled.',
  ServerAdopted: 'The object took over an existing server.',
} as const;
export type Reason = keyof typeof REASONS;
