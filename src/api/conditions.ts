/** The complete list of condition types and of reasons for conditions and Events, with their properties. */

/**
 * The types of conditions. `event`: a new reason of this type also creates an Event. Ready, Reconciling and Stalled show one
 * verdict, whose reason has the trait `silent` if no Event tells of it.
 */
const CONDITIONS = {
  Ready: {},
  Reconciling: {},
  Stalled: {},
  Drifted: { event: true },
  ChangePending: { event: true },
  Paused: {},
  OrphanedServer: { event: true },
  Expiring: { event: true },
  Reachable: {},
  HostKeyChanged: { event: true },
  Rebooted: { event: true },
  ConnectionSecret: { event: true },
  Collectible: {},
};
export type ConditionType = keyof typeof CONDITIONS;
export const CONDITION_TYPES = Object.keys(CONDITIONS) as ConditionType[];
export const TYPES_WITH_EVENT = CONDITION_TYPES.filter((type) => 'event' in CONDITIONS[type]);

/** Properties of an object while this is its current reason. */
export type Trait =
  /** Needs no attention: its Event is not a Warning, and its message links to no page. */
  | 'calm'
  /** Has no Event: a later one tells the same. */
  | 'silent'
  /** Fixing the Secret resolves it; the operator checks the Secret without calling the provider. */
  | 'aboutKey'
  /** The operator reads the server at every poll interval. */
  | 'readAtPoll'
  /** The task of the order may still be running. */
  | 'taskMayRun'
  /** The task may never produce a server, not even the one that it has named. */
  | 'taskFruitless'
  /** The task names no server or the wrong one, so the operator acts on your annotation about the order. */
  | 'hopeless'
  /** Only you can name the server of the order. */
  | 'namedByYou'
  /** A server may exist, and only you can find out: set the annotation `adopt` or `not-created`. */
  | 'orderParked'
  /** The task names a different server than before, or none. */
  | 'renamed'
  /** The next server with this identifier has to prove that it is the object's server. */
  | 'doubt'
  /** The operator cannot see the server that the object holds. */
  | 'unseen'
  /** It is unclear which server the object holds, or whether there is one. */
  | 'unresolved';

/** The values of Ready, Reconciling and Stalled, with kstatus semantics. */
export interface Meaning {
  ready: 'True' | 'False' | 'Unknown';
  /** In progress, stalled until you act, or neither. */
  phase: 'reconciling' | 'stalled' | 'none';
  /** A server that was Ready stays Ready: the operator cannot observe it, but the server itself is fine. */
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

/** Never a reason of Ready: used for another condition, or only for Events. */
const aside = (...traits: Trait[]): Pick<Meaning, 'traits'> => ({ traits });

/** A test checks that docs/reference/reasons.md has a paragraph for each reason. */
export const REASONS = {
  Available: available('calm'),
  Pending: working('calm', 'taskMayRun'),
  Creating: working('calm', 'silent', 'taskMayRun'),
  TaskOverdue: working('taskFruitless', 'hopeless', 'namedByYou', 'unresolved'),
  TaskNotFound: stuck('taskFruitless', 'hopeless', 'namedByYou', 'orderParked', 'renamed', 'unresolved'),
  CreateFailed: stuck('taskFruitless', 'hopeless', 'namedByYou', 'orderParked', 'unresolved'),
  CreateBackOff: working(),
  TaskFailed: stuck('taskFruitless', 'hopeless', 'namedByYou', 'orderParked', 'unresolved'),
  TaskInUse: stuck('taskFruitless', 'hopeless', 'namedByYou', 'orderParked', 'renamed', 'unresolved'),
  AbsenceUnproven: hiccup('taskMayRun', 'doubt', 'unseen'),
  IdentityUnproven: unclear('hopeless', 'namedByYou', 'doubt', 'unseen', 'unresolved'),
  ServerNotRunning: working('readAtPoll'),
  AddressPending: working('calm', 'readAtPoll'),
  Booting: working('calm', 'silent', 'readAtPoll'),
  Unreachable: working('readAtPoll'),
  Starting: working('calm', 'readAtPoll'),
  Stopping: working('calm', 'readAtPoll'),
  PoweredOff: available('calm'),
  Dormant: available('calm'),
  PowerBlocked: stuck('readAtPoll'),
  PowerUnavailable: stuck(),
  ServerMissing: stuck('doubt', 'unseen'),
  ServerNotVisible: unclear('hopeless', 'unseen', 'unresolved'),
  Deleting: working('calm', 'taskMayRun'),
  DeletionDelayed: working('calm'),
  HandOverPending: working('calm'),
  HandOverRefused: stuck(),
  DeletionProtected: stuck('taskMayRun'),
  CancellationUnconfirmed: blind(),
  CRDDeleting: blind(),
  CRDForbidden: blind(),
  Expired: stuck(),
  SecretNotFound: blind('aboutKey', 'taskMayRun'),
  SecretInvalid: blind('aboutKey', 'taskMayRun'),
  SecretForbidden: blind('aboutKey', 'taskMayRun'),
  SSHKeyNotFound: stuck(),
  UserDataNotFound: stuck(),
  UserDataForbidden: stuck(),
  InvalidCredentials: blind('aboutKey', 'taskMayRun'),
  Unauthorized: blind('taskMayRun'),
  PermissionDenied: blind('taskMayRun'),
  ProviderUnavailable: hiccup('taskMayRun'),
  ProviderRateLimited: hiccup('taskMayRun'),
  ProviderProtocolError: blind(),
  InvalidSpec: stuck(),
  CreateLimit: working(),
  ServerLimit: stuck(),
  PriceLimit: stuck(),
  PricePending: working('calm'),
  PriceUnknown: stuck(),
  JournalUnavailable: working(),
  CreateRejected: stuck(),
  CreateInFlight: row({ ready: 'Unknown', phase: 'reconciling' })('calm', 'unresolved'),
  CreateOutcomeUnknown: unclear('namedByYou', 'orderParked', 'unresolved'),
  RecordInvalid: blind('unresolved'),
  RecordTooNew: blind('unresolved'),
  RecordMissing: stuck('unresolved'),
  RecordConflict: blind('unresolved'),
  RecordMismatch: stuck('unresolved'),
  IdentifierInUse: blind('hopeless', 'unresolved'),
  IdentifierTaken: stuck(),
  AdoptInvalid: stuck(),
  UnknownAnnotation: stuck(),
  WriteRefused: blind('taskMayRun'),
  ReleaseRefused: stuck('doubt'),
  ObserveOnly: blind(),
  OrphanedServer: stuck('unresolved'),
  Reachable: aside('calm'),
  HostKeyChanged: aside(),
  Rebooted: aside('calm'),
  RebootPending: aside('calm'),
  RebootFailed: aside(),
  ConnectionSecretWritten: aside('calm'),
  ConnectionSecretsDisabled: aside(),
  ConnectionSecretTaken: aside(),
  ConnectionSecretFailed: aside(),
  ExpiresSoon: aside(),
  ExpiryBlocked: aside(),
  HasOwners: aside(),
  Drifted: aside(),
  Changing: aside('calm'),
  StopRequired: aside(),
  RestartPending: aside(),
  ChangeRefused: aside(),
  ChangeUnavailable: aside(),
  ChangeLimited: aside(),
  Paused: aside(),
  AdoptIgnored: aside(),
  RetainedServer: aside(),
  ServerOrdered: aside('calm'),
  ServerReady: aside('calm'),
  ServerChanged: aside('calm'),
  ServerCancelled: aside('calm'),
  ServerGone: aside(),
  ServerAdopted: aside('calm'),
  ServerHandedOver: aside('calm'),
};
export type Reason = keyof typeof REASONS;

/** The reasons of a VirtualServerSet that no other kind has. */
export const SET_REASONS = {
  Scaling: working('calm'),
  RollingOut: working('calm'),
  MembersUnavailable: working(),
  MemberUnresolved: stuck(),
  MemberBlocked: stuck(),
  DeletionBlocked: stuck(),
  NameTaken: stuck(),
  ProgressDeadlineExceeded: stuck(),
  MemberRejected: stuck(),
  MembersCreated: aside('calm'),
  MembersDeleted: aside('calm'),
  MembersChanged: aside('calm'),
  MembersAdopted: aside('calm'),
  MembersReleased: aside('calm'),
};

/** The reasons that Ready of a set can have, besides those of the other kinds. */
export type SetReason = {
  [K in keyof typeof SET_REASONS]: (typeof SET_REASONS)[K] extends Meaning ? K : never;
}[keyof typeof SET_REASONS];
/** The reasons of Events and conditions of any kind. */
export type AnyReason = Reason | keyof typeof SET_REASONS;

/** The reasons that Ready can have. */
export type ReadyReason = { [K in Reason]: (typeof REASONS)[K] extends Meaning ? K : never }[Reason];

const TRAITS = new Map<string | undefined, readonly Trait[]>(
  Object.entries({ ...REASONS, ...SET_REASONS }).map(([reason, { traits }]) => [reason, traits]),
);

/** True if the reason has the trait; false for an unknown reason. */
export function hasTrait(reason: string | undefined, trait: Trait): boolean {
  return TRAITS.get(reason)?.includes(trait) === true;
}

/** The current reason: that of Stalled or Reconciling if one is set, else that of Ready. */
export function currentReason(conditions: readonly { type: string; reason: string }[] | undefined): string | undefined {
  const of = (type: string): string | undefined => conditions?.find((other) => other.type === type)?.reason;
  return of('Stalled') ?? of('Reconciling') ?? of('Ready');
}
