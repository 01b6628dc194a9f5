/** Condition types and reasons: the one list of every word that a condition or an Event may carry, and of what follows from it. */

export const CONDITION_TYPES = [
  'Ready',
  'Reconciling',
  'Stalled',
  'Drifted',
  'Paused',
  'OrphanedServer',
  'Expiring',
  'Reachable',
  'ConnectionSecret',
  'Collectible',
] as const;

/** What is true of an object while this is the reason that matters. */
export type Trait =
  /** Nobody has to know of it: its Event is no warning. */
  | 'calm'
  /** It goes away when you fix the Secret, which is looked at without calling the provider. */
  | 'aboutKey'
  /** Nothing is called for the object before something changes; or else its server is read at every poll interval. */
  | 'noCalls'
  | 'readAtPoll'
  /** The task of the order may be at work; or else it is known to, and the server that it has named may never exist. */
  | 'taskMayRun'
  | 'taskFruitless'
  /** A task tells of no server any more, or of the wrong one, so your word about the order counts. */
  | 'hopeless'
  /** You name the server of the order, or nobody does. */
  | 'namedByYou'
  /** There may be a server, and only you can find out: the remedy is an annotation, `adopt` or `not-created`. */
  | 'orderParked'
  /** The task names another server than before, or none. */
  | 'renamed'
  /** The next server of this name has to prove that it is the one of the object. */
  | 'doubt'
  /** The operator does not see the server that the object holds. */
  | 'unseen';

/** The values of Ready, Reconciling and Stalled, after kstatus. */
export interface Meaning {
  ready: 'True' | 'False' | 'Unknown';
  /** In progress by itself, stopped until somebody acts, or neither. */
  phase: 'reconciling' | 'stalled' | 'none';
  /** A server that was Ready stays Ready: the trouble is with watching it, not with the server. */
  keepsReady?: true;
  traits: readonly Trait[];
}

const row =
  (meaning: Omit<Meaning, 'traits'>) =>
  (...traits: Trait[]): Meaning => ({ ...meaning, traits });
const available = row({ ready: 'True', phase: 'none' });
const working = row({ ready: 'False', phase: 'reconciling' });
const stuck = row({ ready: 'False', phase: 'stalled' });
const blind = row({ ready: 'False', phase: 'stalled', keepsReady: true });
const hiccup = row({ ready: 'False', phase: 'reconciling', keepsReady: true });
const unclear = row({ ready: 'Unknown', phase: 'stalled' });

/** Never a reason of Ready: one of another condition, or of Events alone. */
const aside = (...traits: Trait[]): Pick<Meaning, 'traits'> => ({ traits });

/** docs/operations.md has a paragraph for each (a test compares). */
export const REASONS = {
  Available: available('calm'),
  Pending: working('calm', 'taskMayRun'),
  Creating: working('calm', 'taskMayRun'),
  TaskOverdue: working('taskFruitless', 'hopeless', 'namedByYou'),
  TaskNotFound: stuck('taskFruitless', 'hopeless', 'namedByYou', 'orderParked', 'renamed'),
  TaskFailed: stuck('taskFruitless', 'hopeless', 'namedByYou', 'orderParked'),
  TaskInUse: stuck('taskFruitless', 'hopeless', 'namedByYou', 'orderParked', 'renamed'),
  AbsenceUnproven: hiccup('taskMayRun', 'doubt', 'unseen'),
  IdentityUnproven: unclear('hopeless', 'namedByYou', 'doubt', 'unseen'),
  ServerNotRunning: working('readAtPoll'),
  AddressPending: working('calm', 'readAtPoll'),
  Unreachable: working('readAtPoll'),
  ServerMissing: stuck('doubt', 'unseen'),
  ServerNotVisible: unclear('hopeless', 'unseen'),
  Deleting: working('calm', 'taskMayRun'),
  DeletionProtected: stuck('noCalls', 'taskMayRun'),
  CRDDeleting: blind(),
  CRDForbidden: blind(),
  Expired: stuck('noCalls'),
  SecretNotFound: blind('aboutKey', 'noCalls', 'taskMayRun'),
  SecretInvalid: blind('aboutKey', 'noCalls', 'taskMayRun'),
  SecretForbidden: blind('aboutKey', 'noCalls', 'taskMayRun'),
  SSHKeyNotFound: stuck(),
  InvalidCredentials: blind('aboutKey', 'noCalls', 'taskMayRun'),
  Unauthorized: blind('taskMayRun'),
  ProviderUnavailable: hiccup('taskMayRun'),
  ProviderRateLimited: hiccup('taskMayRun'),
  ProviderProtocolError: blind(),
  InvalidSpec: stuck(),
  CreateLimit: working(),
  ServerLimit: stuck(),
  JournalUnavailable: working(),
  CreateRejected: stuck(),
  CreateInFlight: row({ ready: 'Unknown', phase: 'reconciling' })('calm', 'noCalls'),
  CreateOutcomeUnknown: unclear('noCalls', 'namedByYou', 'orderParked'),
  RecordInvalid: blind('noCalls'),
  RecordTooNew: blind('noCalls'),
  RecordMissing: stuck('noCalls'),
  RecordConflict: blind('noCalls'),
  RecordMismatch: stuck('noCalls'),
  IdentifierInUse: blind('noCalls', 'hopeless'),
  AdoptInvalid: stuck(),
  OrphanedServer: stuck('noCalls'),
  Reachable: aside(),
  ConnectionSecretWritten: aside('calm'),
  ConnectionSecretsDisabled: aside(),
  ConnectionSecretTaken: aside(),
  ConnectionSecretFailed: aside(),
  ExpiresSoon: aside(),
  ExpiryBlocked: aside(),
  HasOwners: aside(),
  Drifted: aside(),
  Paused: aside(),
  AdoptIgnored: aside(),
  RetainedServer: aside(),
  ServerCancelled: aside(),
  ServerGone: aside(),
  ServerAdopted: aside(),
};
export type Reason = keyof typeof REASONS;
/** Reasons that Ready can have. */
export type ReadyReason = { [K in Reason]: (typeof REASONS)[K] extends Meaning ? K : never }[Reason];

/** False also for a word that is no reason of Ready. */
export function hasTrait(reason: string | undefined, trait: Trait): boolean {
  const found: Partial<Meaning> | undefined = Object.hasOwn(REASONS, reason ?? '')
    ? REASONS[reason as Reason]
    : undefined;
  return found?.traits?.includes(trait) === true;
}
