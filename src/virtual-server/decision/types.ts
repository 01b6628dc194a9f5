/** The vocabulary of a decision: what is known (facts), what to do (action), what happened (outcome). Plain data. */
import type { Verdict, EventNote } from '../../controller/conditions.ts';
import type { Missing } from '../../accounts/decision/failure.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServerStatus } from '../../api/virtual-server.ts';
import type { DefinitionState } from '../../kube/types.ts';
import type { ConnectionSecretState } from './connection.ts';
import type { ProbeResult } from './reach.ts';
import type { Catalog, CreateOutcome, CreateServerRequest, Server } from '../../provider/types.ts';
import type { ProviderError } from '../../provider/error.ts';

/** What this process or its own journal knows about an attempt; see journal/journal.ts. */
export interface AttemptNote {
  attempt: string;
  /** `minted`: certainly not sent. `sending`: may have been sent. `task`: accepted, with `task`. */
  state: 'minted' | 'sending' | 'task';
  /** RFC 3339. */
  mintedAt?: string;
  task?: number;
  account?: string;
}

/** How often and for how long the provider has denied a server or a task (404) without a 200 in between. */
export interface Denials {
  /** `server IDENTIFIER` or `task NUMBER`. */
  of: string;
  /** `since` and `countedAt`: when the first and the last counted denial came, on the monotonic clock (ms). */
  since: number;
  countedAt: number;
  /** When the last denial of all came, counted or not. */
  lastAt: number;
  counted: number;
}

/** The documented 200 to a DELETE: the provider's word that the server is cancelled, and not proof (confirmation.ts). */
export interface CancelWord {
  identifier: string;
  /** The message in the answer. */
  said: string;
  /** When the first and the last of these answers came, on the monotonic clock (ms). */
  since: number;
  askedAt: number;
}

/** What the process remembers about an object between visits; losing it costs calls, never safety. */
export interface Memo {
  /**
   * Do not take this kind of action before `at` (ms; Infinity: never), unless the inputs (see inputs.ts) have changed.
   * It does not apply while the clock is before `from`, when this was planned: the clock was set back, so `at` means
   * nothing.
   */
  next?: { action: Action['type']; from: number; at: number; inputs: string };
  /** Consecutive failures of calls to the provider. */
  failures: number;
  /** An attempt of another process, and when it was first seen here (ms). */
  foreignAttempt?: { attempt: string; since: number };
  /** This process has read the server with this identifier, or its task has answered 303. */
  taskComplete?: string;
  /** The task, polled with this account, has named this server. */
  vouched?: { identifier: string; account: string };
  /** When the status last told the progress of the task, on the monotonic clock (ms). */
  toldAt?: number | undefined;
  /** The inputs when the provider was last asked about the task or the server, whatever it answered. */
  looked?: string;
  /**
   * The task cannot tell more (404, renamed, or overdue or failed with its server known): read the server itself once.
   */
  readInstead?:
    { why: 'taskNotFound' } | { why: 'renamed'; named: string } | { why: 'overdue'; message: string | undefined };
  /** A DELETE for this identifier was answered with the documented 200, and what the provider shows confirms it. */
  cancelled?: string;
  /** The provider's word, while it is unconfirmed. */
  cancelAnswered?: CancelWord;
  /** A DELETE for this identifier was sent, and its answer was lost. */
  cancelAsked?: string;
  /** The absence of this identifier is proven, without a 200 to a DELETE. */
  gone?: string;
  /** The last server that was read with this identifier cannot be proven to be the object's server. */
  unrecognized?: string;
  denials?: Denials;
}

export interface Facts extends GatheredFacts {
  /** ms since the epoch. */
  now: number;
  /** ms on a clock that only moves forward. */
  monotonic: number;
  /** ms since the epoch by the API server's clock, if known. */
  apiServerNow?: number | undefined;
  memo: Memo;
  notes: readonly AttemptNote[];
  /** The attempt that this visit has claimed. */
  claimed?: string | undefined;
  /** What other objects hold, as far as it may concern this one. */
  others: Others;
  timing: Timing;
  /** Why the journal cannot be written; nothing is ordered without it. Undefined if it can. */
  journalProblem?: string | undefined;
  /** A number in [0, 1) for jitter. */
  jitter: number;
}

/** What a visit gathers on demand; undefined: not yet. */
export interface GatheredFacts {
  credentials?: { ok: true; account: string; note?: string } | Missing | undefined;
  sshKeys?: { ok: true; text: string } | Missing | undefined;
  catalog?: { ok: true; catalog: Catalog } | Missing | undefined;
  /** ms until the namespace may create again; 0: now. */
  createDelayMs?: number | undefined;
  /** Whether an order can be sent at once: it has a turn, a token and a connection. */
  order?: { ok: true } | Missing | undefined;
  /** Whether the namespace may have one more server; `limit`: its maximum. */
  place?: { free: boolean; limit: number } | undefined;
  /** Valid for one DELETE only. */
  cancellation?: CancellationFacts | undefined;
}

/** What was checked before a DELETE, in this order. */
export interface CancellationFacts {
  identifier: string;
  /** The outcome of reading the server. */
  shown: Outcome;
  /** When the object was then read live, on the monotonic clock (ms); facts and object are of that version since. */
  liveAt?: number;
  /** The state of the CustomResourceDefinition, read after the object. */
  definition?: DefinitionState | 'forbidden';
  /** That of VirtualServerSets, read if one owns the object. */
  setDefinition?: DefinitionState | 'forbidden';
}

/** `held`: leaves out objects that are only about to adopt the server. */
type Asker = Pick<ServerRecord, 'account' | 'fingerprint'> & { held?: true };

/** Other objects, as `namespace/name`; `account` is the account of the object that asks. */
export interface Others {
  /** Objects that hold the server. */
  withServer: (identifier: string, asker: Asker) => readonly string[];
  /** Objects with a key of the account that hold another server, which shows this address too. */
  withAddress: (address: string, asker: Pick<ServerRecord, 'account' | 'identifier'>) => readonly string[];
  /** Objects that follow the task with this number to its end. */
  withTask: (task: number, account: string | undefined) => readonly string[];
  /** Objects that have ordered a server and do not know its identifier yet, but will. */
  ordering: (account: string | undefined) => readonly string[];
}

/** All in ms. */
export interface Timing {
  pollMs: number;
  resyncMs: number;
  /** Create timeout, lease and grace together: after that, no create of another process can still be in flight. */
  takeoverMs: number;
  /** How long a server that was read before must be denied until it counts as gone. */
  absenceMs: number;
}

export type GatherKind =
  | 'credentials'
  | 'sshKeys'
  | 'catalog'
  | 'place'
  | 'createDelay'
  | 'order'
  /** For a cancellation: the server of the record, then the live object, then the definitions. */
  | 'server'
  | 'liveObject'
  | 'definition'
  | 'setDefinition';

/**
 * Why a record is rewritten. All but the first change what is known: whatever the new record does not name is resolved.
 */
export type RecordChange = 'restored' | 'notCreated' | 'orphanHandled' | 'wordTakenBack' | 'expired';

export type Action =
  /** Collect one more fact, then decide again. */
  | { type: 'gather'; what: GatherKind }
  /** Bring record and finalizer in line with what is known. */
  | { type: 'record'; record: ServerRecord; why: RecordChange }
  /** Write finalizer and record with a new attempt; `create` follows in the same visit or never. */
  | { type: 'claim'; record: ServerRecord | undefined; account: string }
  | { type: 'create'; record: ServerRecord; attempt: string; request: CreateServerRequest }
  /** Read the server that the annotation names, then hold it. */
  | { type: 'adopt'; record: ServerRecord | undefined; identifier: string }
  | { type: 'pollTask'; record: ServerRecord; task: number }
  | { type: 'readServer'; record: ServerRecord; identifier: string }
  | { type: 'deleteServer'; record: ServerRecord; identifier: string; leave: Leave }
  | {
      type: 'release';
      why: 'nothingCreated' | 'cancelled' | 'gone' | 'retained' | 'foreign';
      record: ServerRecord | undefined;
    }
  /** Nothing to do before `afterMs`; left out: before something changes. The verdict does not change. */
  | { type: 'wait'; afterMs?: number }
  /**
   * Report why nothing is done. The operator checks again when something changes, or after `afterMs`. If only `retry`
   * is given, it checks after a growing pause of at least `atLeastMs`. `empties`: the connection Secret must be
   * emptied.
   */
  | {
      type: 'park';
      verdict: Verdict;
      afterMs?: number;
      atLeastMs?: number;
      retry?: Action['type'];
      empties?: true;
    };

/**
 * Whether a DELETE may be sent. If so: the outcome of reading the server, and when the object was read live (ms,
 * monotonic). If not: the outcome that speaks against it.
 */
export type Leave = { ok: true; shown: Outcome; liveAt: number } | { ok: false; outcome: Outcome };

export type Outcome =
  /** `connection`: the connection Secret could not be emptied. */
  | { type: 'done'; connection?: ConnectionSecretState }
  /** An attempt has a name now, and the journal has recorded it. */
  | { type: 'minted'; attempt: string }
  | { type: 'sent'; result: CreateOutcome }
  | { type: 'pending'; identifier?: string | undefined; status?: string | undefined }
  | { type: 'complete'; identifier: string }
  /** 404 for the task; `counts` as for a server. */
  | { type: 'taskNotFound'; counts: boolean; detail: string }
  /**
   * `probed`: whether an SSH server answers, if the spec asks for that and there is a host to ask. `connection`: the
   * result of writing the connection Secret, if the spec asks for one.
   */
  | { type: 'server'; server: Server; account: string; probed?: ProbeResult; connection?: ConnectionSecretState }
  /** 404 for the server; `counts`: with the account of the record, and with non-empty lists. */
  | { type: 'serverNotFound'; counts: boolean; detail: string }
  /** Other objects hold the server that was to be adopted. */
  | { type: 'held'; holders: readonly string[] }
  /** The documented 200 to a DELETE, confirmed by a read after it. */
  | { type: 'cancelled' }
  /** The documented 200 with the message `said`; `shown`: what the provider shows, which does not confirm it. */
  | { type: 'unconfirmed'; said: string; shown: Extract<Outcome, { type: 'server' | 'serverNotFound' }> }
  /**
   * The operator cancels nothing while the CustomResourceDefinition of VirtualServers (`servers`) or of the sets that own
   * the object (`sets`) is being deleted by mistake, or may be.
   */
  | { type: 'heldBack'; of: 'servers' | 'sets'; definition: 'deleting' | 'missing' | 'forbidden' }
  /**
   * `cancelAsked`: a DELETE was sent, and its answer was lost or proves nothing. `said`: the documented 200 to a DELETE
   * had this message, and the read after it failed.
   */
  | { type: 'failed'; error: ProviderError; cancelAsked?: true; said?: string };

/** What to write, what to remember, and when to come back. */
export interface Next {
  /** The new record; `null` removes it together with the finalizer; left out: metadata stays. */
  record?: ServerRecord | null;
  /** The whole new status; left out or equal to the present one: not written. */
  status?: VirtualServerStatus;
  memo: Memo;
  events: EventNote[];
  /** The attempt that this visit has claimed. */
  claimed?: string;
  /** Decide again at once, with the object that the write returned. */
  again: boolean;
  /** ms; left out: only when something changes. */
  requeueAfterMs?: number;
}
