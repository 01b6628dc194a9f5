/** What to do next for an object (operation), and what to write (outcome), with what both are made of. Plain data. */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import type { Verdict, EventNote } from '../../controller/conditions.ts';
import type { Withheld } from '../../controller/observer.ts';
import type { ServerRecord, Following, Held, Named, Unordered } from '../../api/record.ts';
import type { VirtualServerStatus } from '../../api/virtual-server.ts';
import type { Memo, PowerCall, Unlisted } from './memo.ts';
import type { GrowingPause, Next, Pause } from './next.ts';
import type { ProviderError, ResponseError } from '../../provider/error.ts';
import type { Server } from '../../provider/types.ts';

/** What this process or its own journal knows about an attempt; see journal/journal.ts. */
export interface AttemptNote {
  attempt: string;
  /** `minted`: certainly not sent. `sending`: may have been sent. `task`: accepted, with `task`. */
  state: 'minted' | 'sending' | 'task';
  /** RFC 3339. */
  mintedAt?: string;
  task?: TaskNumber;
  account?: string;
}

/** Which objects of the namespace hand their servers over to this one, or have got its server. */
export interface HandOver {
  /** Those that name this object; first those that are being deleted. */
  givers: readonly { name: string; isEnding: boolean }[];
  /** Name of the object that holds the server of this one. */
  takenBy: string | undefined;
  /** Of the object that is to get the server of this one: it does not exist or is being deleted, or it holds another server. Left out: neither. */
  taker?: 'missing' | 'holding' | undefined;
  /** Name of the deleted object whose server this one has taken over, while it is still there. */
  giver?: string | undefined;
}

/**
 * `held`: leaves out objects that are only about to adopt the server. `missing`: also asks for objects whose server counts as
 * missing.
 */
type Asker = Pick<ServerRecord, 'account' | 'fingerprint'> & { held?: true; missing?: true };

/** Other objects, as `namespace/name`; `account` is the account of the object that asks. */
export interface Others {
  /** Objects that hold the server. */
  withServer: (identifier: string, asker: Asker) => readonly string[];
  /** Objects with a key of the account that hold another server, which shows this address too. */
  withAddress: (address: string, asker: Pick<ServerRecord, 'account' | 'identifier'>) => readonly string[];
  /** Objects that follow the task with this number to its end. */
  withTask: (task: TaskNumber, account: string | undefined) => readonly string[];
  /** Objects that have ordered a server and do not know its identifier yet, but will. */
  ordering: (account: string | undefined) => readonly string[];
}

/** All in ms. */
export interface Timing {
  /** The longest pause between two polls of a task. */
  pollMs: number;
  /** The pause at which the polls of all tasks leave room for other calls; at most `pollMs`. */
  pollShareMs: number;
  resyncMs: number;
  /** Create timeout, lease and grace together: after that, no create of another process can still be in flight. */
  takeoverMs: number;
  /** How long a server that was read before must be denied until it counts as gone. */
  absenceMs: number;
}

/**
 * Why a record is rewritten. All but the first change what is known: whatever the new record does not name is resolved.
 */
export type RecordChange = 'restored' | 'notCreated' | 'createFailed' | 'orphanHandled' | 'annotationTakenBack';

/**
 * What to do next for an object; `decide` chooses it, and operations/table.ts names the function that does it. `wait` and
 * `park` only write the status (outcome.ts).
 */
export type Operation =
  /** Order a server; nothing is held, and nothing may be on its way. */
  | { type: 'order'; record: Unordered | undefined }
  /** Send a named order again, unless the provider shows the server or the order may still arrive. */
  | { type: 'repeat'; record: Named }
  /** Read the server that the annotation names, then hold it. */
  | { type: 'adopt'; record: ServerRecord | undefined; identifier: string }
  /** Take over the server of this deleted object; if it is refused, of one of the others. */
  | { type: 'takeOver'; record: ServerRecord | undefined; giver: string; others: readonly string[] }
  /** Another object holds the server now. */
  | { type: 'handOver'; record: Held; taker: string }
  /** Poll the task of the order. */
  | { type: 'follow'; record: Following | Held; task: TaskNumber }
  /** Read the server. */
  | { type: 'look'; record: Held }
  /** Switch the server off or on, or restart it: the read before has shown that this call is missing. */
  | { type: 'power'; record: Held; call: PowerCall }
  /** Change the server in place, or start it again after that. */
  | { type: 'change'; record: Held }
  /** Cancel the server of an object that is being deleted or has expired. */
  | { type: 'cancel'; record: Held }
  /** The server has expired and no longer exists: record that, and order no other one. */
  | { type: 'expire'; record: ServerRecord }
  /** Remove the finalizer. */
  | {
      type: 'release';
      why: 'nothingCreated' | 'cancelled' | 'gone' | 'retained' | 'foreign';
      record: ServerRecord | undefined;
    }
  | { type: 'release'; why: 'handedOver'; record: ServerRecord; taker: string }
  /** Bring record and finalizer in line with what is known. */
  | { type: 'record'; record: ServerRecord; why: RecordChange }
  /**
   * Nothing to do before `when`. The object keeps showing the same verdict. `verdict`: what this process showed last, to be written
   * again if another writer has replaced it.
   */
  | { type: 'wait'; when: Pause; verdict?: Verdict | undefined }
  /** Report why nothing is done. */
  | ({ type: 'park' } & Park);

/** Why nothing is done. */
export interface Park {
  verdict: Verdict;
  /** Left out: when something changes. */
  when?: Pause | GrowingPause;
}

/** What the provider answered to a question about a server. */
export type ServerAnswer = ShownServer | Denial | Failed;

/** The provider says that the server does not exist. */
export interface Denial {
  type: 'serverNotFound';
  /** With the account of the record, with non-empty lists, and the list of servers does not contradict it. */
  counts: boolean;
  /** Why it proves nothing, if so. */
  detail: string;
  unlisted: Unlisted;
  /** The provider shows it as cancelled (operations/shown-cancelled.ts). */
  isCancelled?: true;
}

export interface ShownServer {
  type: 'server';
  server: Server;
  account: string;
}

/** What the provider answered to a question about a task. */
export type TaskAnswer =
  | { type: 'pending'; identifier?: string | undefined; status?: string | undefined }
  | { type: 'complete'; identifier: string }
  /** The provider says that the task does not exist; `counts` as for a server. */
  | { type: 'taskNotFound'; counts: boolean; detail: string }
  /** An error with the provider's text, while the provider answers other calls. */
  | { type: 'taskFailed'; error: ResponseError }
  | Failed;

/** The provider gave no answer that means anything. */
export interface Failed {
  type: 'failed';
  error: ProviderError;
}

/** What to write, what to remember, and when to come back. */
export interface Outcome {
  /** The new record; `null` removes it together with the finalizer; left out: metadata stays. */
  record?: ServerRecord | null;
  /** The whole new status; left out or equal to the present one: not written. */
  status?: VirtualServerStatus;
  /** What every status write shows until the planned operation begins. */
  shows?: Verdict | undefined;
  /**
   * What the object says while the API server refuses to write `record`; `isOver`: no server is left. Left out: what follows
   * from the record (refused.ts).
   */
  unwritten?: { says: string; isOver?: true };
  /** What `--observe-only` keeps the operator from doing. */
  withheld?: Withheld;
  memo: Memo;
  events: EventNote[];
  /** Why the step failed, for the log. */
  error?: ProviderError;
  /** Also which operation is planned. Without one, the plan in `memo` stays. */
  when: Next;
}
