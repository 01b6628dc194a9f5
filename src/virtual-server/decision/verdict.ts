/** What each reason says of an object: the values of Ready, Reconciling and Stalled, after kstatus. */
import type { Reason } from '../../api/conditions.ts';
import { BOUNDS, type Condition } from '../../api/virtual-server.ts';
import { cut } from '../../base/text.ts';

interface Meaning {
  ready: 'True' | 'False' | 'Unknown';
  /** In progress by itself, stopped until somebody acts, or neither. */
  phase: 'reconciling' | 'stalled' | 'none';
  /** A server that was Ready stays Ready: the trouble is with watching it, not with the server. */
  keepsReady?: true;
}

const working = { ready: 'False', phase: 'reconciling' } as const;
const stuck = { ready: 'False', phase: 'stalled' } as const;
const blind = { ready: 'False', phase: 'stalled', keepsReady: true } as const;
const hiccup = { ready: 'False', phase: 'reconciling', keepsReady: true } as const;

/** Reasons that Ready can have. */
const MEANINGS = {
  Available: { ready: 'True', phase: 'none' },
  Pending: working,
  Creating: working,
  TaskOverdue: working,
  TaskNotFound: stuck,
  TaskFailed: stuck,
  TaskInUse: stuck,
  AbsenceUnproven: hiccup,
  IdentityUnproven: { ready: 'Unknown', phase: 'stalled' },
  ServerNotRunning: working,
  AddressPending: working,
  Unreachable: working,
  ServerMissing: stuck,
  ServerNotVisible: { ready: 'Unknown', phase: 'stalled' },
  Deleting: working,
  DeletionProtected: stuck,
  CRDDeleting: blind,
  CRDForbidden: blind,
  Expired: stuck,
  SecretNotFound: blind,
  SecretInvalid: blind,
  SecretForbidden: blind,
  SSHKeyNotFound: stuck,
  InvalidCredentials: blind,
  Unauthorized: blind,
  ProviderUnavailable: hiccup,
  ProviderRateLimited: hiccup,
  ProviderProtocolError: blind,
  InvalidSpec: stuck,
  CreateLimit: working,
  ServerLimit: stuck,
  JournalUnavailable: working,
  CreateRejected: stuck,
  CreateInFlight: { ready: 'Unknown', phase: 'reconciling' },
  CreateOutcomeUnknown: { ready: 'Unknown', phase: 'stalled' },
  RecordInvalid: blind,
  RecordTooNew: blind,
  RecordMissing: stuck,
  RecordConflict: blind,
  RecordMismatch: stuck,
  IdentifierInUse: blind,
  AdoptInvalid: stuck,
  OrphanedServer: stuck,
} as const satisfies Partial<Record<Reason, Meaning>>;

export type ReadyReason = keyof typeof MEANINGS;

const CALM = new Set<string>([
  'Available',
  'Pending',
  'Creating',
  'AddressPending',
  'Deleting',
  'CreateInFlight',
] satisfies ReadyReason[]);

/** True for a reason that somebody should know of. */
export function isTrouble(reason: string): boolean {
  return !CALM.has(reason);
}

const ABOUT_KEY = new Set<string>([
  'SecretNotFound',
  'SecretInvalid',
  'SecretForbidden',
  'InvalidCredentials',
] satisfies ReadyReason[]);

/** True for a reason that goes away when somebody mends the Secret, and that is looked at without calling the service. */
export function isAboutKey(reason: ReadyReason): boolean {
  return ABOUT_KEY.has(reason);
}

export interface Verdict {
  reason: ReadyReason;
  message: string;
}

/** The condition types that a verdict sets; the others on the object are kept as they are. */
const OWN = new Set(['Ready', 'Reconciling', 'Stalled']);

/** Conditions with the verdict in them. `lastTransitionTime` moves only when a status flips. */
export function withVerdict(
  conditions: readonly Condition[],
  verdict: Verdict,
  generation: number,
  now: number,
): Condition[] {
  const meaning: Meaning = MEANINGS[verdict.reason];
  const { message } = verdict;
  const ready = conditions.find((condition) => condition.type === 'Ready');
  const keeps = meaning.keepsReady === true && ready?.status === 'True';
  let result = conditions.filter((condition) => !OWN.has(condition.type));
  const put = (type: string, status: Condition['status'], reason: string, text: string): void => {
    const next = condition(conditions, { type, status, reason, message: text }, generation, now);
    result = type === 'Ready' ? [next, ...result] : [...result, next];
  };
  if (keeps) put('Ready', 'True', ready.reason, ready.message);
  else put('Ready', meaning.ready, verdict.reason, message);
  if (meaning.phase === 'reconciling') put('Reconciling', 'True', verdict.reason, message);
  if (meaning.phase === 'stalled') put('Stalled', 'True', verdict.reason, message);
  return result;
}

/** Sets (to True if nothing else is said) or, with `undefined`, removes one condition; the order of the others is kept. */
export function withCondition(
  conditions: readonly Condition[],
  type: string,
  value: { status?: Condition['status']; reason: Reason; message: string } | undefined,
  generation: number,
  now: number,
): Condition[] {
  const others = conditions.filter((other) => other.type !== type);
  if (value === undefined) return others;
  const { status = 'True', reason, message } = value;
  return [...others, condition(conditions, { type, status, reason, message }, generation, now)];
}

function condition(
  previous: readonly Condition[],
  next: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>,
  generation: number,
  now: number,
): Condition {
  const before = previous.find((other) => other.type === next.type);
  const since = before?.status === next.status ? before.lastTransitionTime : timestamp(now);
  const message = cut(next.message, BOUNDS.message);
  return { ...next, message, lastTransitionTime: since, observedGeneration: generation };
}

/** RFC 3339 in whole seconds, as metav1.Time is. */
export function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The reason that matters now: of Stalled or Reconciling where one is set, else of Ready. */
export function currentReason(conditions: readonly Condition[] | undefined): string | undefined {
  const of = (type: string): string | undefined => conditions?.find((other) => other.type === type)?.reason;
  return of('Stalled') ?? of('Reconciling') ?? of('Ready');
}
