/** The vocabulary of a decision: what is known (facts), what to do (action), what came of it (outcome). Plain data. */
import type { Verdict, EventNote } from '../../controller/conditions.ts';
import type { Missing } from '../../accounts/decision/failure.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServerStatus } from '../../api/virtual-server.ts';
import type { DefinitionState } from '../../kube/types.ts';
import type { ConnectionSecretState } from './connection.ts';
import type { ProbeResult } from './reach.ts';
import type { Catalog, CreateOutcome, CreateServerRequest, ProviderErrorLike, Server } from '../../provider/types.ts';

/** What this process, or its own journal, knows of an attempt; see journal/journal.ts. */
export interface AttemptNote {
  attempt: string;
  /** `minted`: certainly not sent. `sending`: may have been sent. `task`: accepted, with `task`. */
  state: 'minted' | 'sending' | 'task';
  /** RFC 3339. */
  mintedAt?: string;
  task?: number;
  account?: string;
}

/** How often, and for how long, the provider has denied a server or a task (404) without a 200 in between. */
export interface Denials {
  /** `server IDENTIFIER` or `task NUMBER`. */
  of: string;
  /** Of the first and of the last one that counted, on the monotonic clock (ms). */
  since: number;
  countedAt: number;
  /** Of the last one of all. */
  lastAt: number;
  counted: number;
}

/** What the process remembers of an object between visits; losing it costs calls, never safety. */
export interface Memo {
  /**
   * Do not take this kind of action before `at` (ms; Infinity: never), unless the inputs (see inputs.ts) changed, or the
   * clock stands before `from`, when this was planned: it was set back, and `at` may be any time away.
   */
  next?: { action: Action['type']; from: number; at: number; inputs: string };
  /** Consecutive failures of calls to the provider. */
  failures: number;
  /** When an attempt of another process was first seen here (ms), and which. */
  foreignAttempt?: { attempt: string; since: number };
  /** The task of this identifier has answered 303 to this process, or the server was read. */
  taskComplete?: string;
  /** The task, asked under this account, has named this server. */
  vouched?: { identifier: string; account: string };
  /** The inputs with which the provider was last asked about the task or the server, whatever it answered. */
  looked?: string;
  /** The task tells nothing more (404, or overdue while the server is to be cancelled): ask for the server itself once. */
  readInstead?:
    { why: 'taskNotFound' } | { why: 'renamed'; named: string } | { why: 'overdue'; message: string | undefined };
  /** DELETE was answered with 200 for this identifier. */
  cancelled?: string;
  /** A DELETE for this identifier was sent, and its answer was lost. */
  cancelAsked?: string;
  /** The absence of this identifier is proven, without a 200 to a DELETE. */
  gone?: string;
  /** The last server that was read with this identifier cannot be proven to be that of the object. */
  unrecognized?: string;
  denials?: Denials;
}

export interface Facts extends GatheredFacts {
  /** ms since the epoch. */
  now: number;
  /** ms of a clock that only goes forward. */
  monotonic: number;
  /** The same by the API server's clock, as far as it is known. */
  apiServerNow?: number;
  memo: Memo;
  notes: readonly AttemptNote[];
  /** The attempt that this very visit has claimed. */
  claimed?: string;
  /** What other objects hold, as far as it may concern this one. */
  others: Others;
  timing: Timing;
  /** Why the journal takes no step, without which nothing is ordered; left out where it does. */
  journalProblem?: string;
  /** A number in [0, 1) for jitter. */
  jitter: number;
}

/** What a visit gathers on demand; undefined: not yet. */
export interface GatheredFacts {
  credentials?: { ok: true; account: string; note?: string } | Missing;
  sshKeys?: { ok: true; text: string } | Missing;
  catalog?: { ok: true; catalog: Catalog } | Missing;
  /** ms until the namespace may create again; 0: now. */
  createDelayMs?: number;
  /** Whether the namespace may have one more server; `limit`: how many it may have in all. */
  place?: { free: boolean; limit: number };
  /** For one DELETE alone. */
  cancellation?: CancellationFacts;
}

/** What was looked at before a DELETE, in this order. */
export interface CancellationFacts {
  identifier: string;
  /** What a read of the server came to. */
  shown: Outcome;
  /** When the object was then read live, on the monotonic clock (ms); facts and object are of that version since. */
  liveAt?: number;
  /** What becomes of the CustomResourceDefinition, read after the object. */
  definition?: DefinitionState | 'forbidden';
}

/** `held`: leaves out those that are only about to take the server over. */
type Asker = Pick<ServerRecord, 'account' | 'fingerprint'> & { held?: true };

/** Other objects, as `namespace/name`; `account` is that of the one who asks. */
export interface Others {
  /** Those that hold the server. */
  withServer: (identifier: string, asker: Asker) => readonly string[];
  /** Those that follow the task of this number to its end. */
  withTask: (task: number, account: string | undefined) => readonly string[];
  /** Those that have ordered a server and do not know its identifier yet, and will. */
  ordering: (account: string | undefined) => readonly string[];
}

/** All in ms. */
export interface Timing {
  pollMs: number;
  resyncMs: number;
  /** Create timeout, lease and grace: after that a create of another process cannot be on its way any more. */
  takeoverMs: number;
  /** How long a server that was read before has to be denied until it counts as gone. */
  absenceMs: number;
}

export type GatherKind =
  | 'credentials'
  | 'sshKeys'
  | 'catalog'
  | 'place'
  | 'createDelay'
  /** For a cancellation: the server of the record, then the object as it is now, then the definition. */
  | 'server'
  | 'liveObject'
  | 'definition';

/** Why a record is written anew. All but the first change what is known: what the record no longer names is resolved. */
export type RecordChange = 'restored' | 'notCreated' | 'orphanHandled' | 'wordTakenBack' | 'expired';

export type Action =
  /** Collect one more fact, then decide again. */
  | { type: 'gather'; what: GatherKind }
  /** Bring record and finalizer in line with what is known. */
  | { type: 'record'; record: ServerRecord; why: RecordChange }
  /** Write finalizer and record with a new attempt; `create` follows in the same visit or never. */
  | { type: 'claim'; record: ServerRecord | undefined; account: string }
  | { type: 'create'; record: ServerRecord; attempt: string; request: CreateServerRequest }
  /** Read the server that a person named, then hold it. */
  | { type: 'adopt'; record: ServerRecord | undefined; identifier: string }
  | { type: 'pollTask'; record: ServerRecord; task: number }
  | { type: 'readServer'; record: ServerRecord; identifier: string }
  | { type: 'deleteServer'; record: ServerRecord; identifier: string; leave: Leave }
  | {
      type: 'release';
      why: 'nothingCreated' | 'cancelled' | 'gone' | 'retained' | 'foreign';
      record: ServerRecord | undefined;
    }
  /** Nothing to do before `afterMs`; left out: before something changes. The verdict stays as it is. */
  | { type: 'wait'; afterMs?: number }
  /**
   * Say why nothing is done; looked at again when something changes, or after `afterMs`, or where that is left out and
   * `retry` is not, after a growing pause of `atLeastMs`. `empties`: the connection Secret is to hold nothing any more.
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
 * Whether a DELETE may be sent: what a read of the server came to, and when the object was read live (ms, monotonic); or
 * what stands against it, which is then the outcome.
 */
export type Leave = { ok: true; shown: Outcome; liveAt: number } | { ok: false; outcome: Outcome };

export type Outcome =
  /** `connection`: that the connection Secret could not be emptied. */
  | { type: 'done'; connection?: ConnectionSecretState }
  /** An attempt has a name now, and the journal knows it. */
  | { type: 'minted'; attempt: string }
  | { type: 'sent'; result: CreateOutcome }
  | { type: 'pending'; identifier?: string | undefined; status?: string | undefined }
  | { type: 'complete'; identifier: string }
  /** 404 for the task; `counts` as for a server. */
  | { type: 'taskNotFound'; counts: boolean; detail: string }
  /**
   * `probed`: whether an SSH server answers there, where spec asks for that and there is a place to ask.
   * `connection`: what came of the connection Secret, where spec asks for one.
   */
  | { type: 'server'; server: Server; account: string; probed?: ProbeResult; connection?: ConnectionSecretState }
  /** 404 for the server; `counts`: with the account of the record, and lists that are not empty. */
  | { type: 'serverNotFound'; counts: boolean; detail: string }
  /** The server that was to be adopted is held by others. */
  | { type: 'held'; holders: readonly string[] }
  | { type: 'cancelled' }
  /** Nothing is cancelled while the CustomResourceDefinition is being deleted by mistake, or may be. */
  | { type: 'heldBack'; definition: 'deleting' | 'forbidden' }
  /** `cancelAsked`: a DELETE has left, and its answer was lost or says nothing. */
  | { type: 'failed'; error: ProviderErrorLike; cancelAsked?: true };

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
