/**
 * What this process remembers about an object between visits: evidence about its server, and what only saves calls. Losing
 * it costs time and calls, never safety. Pure.
 */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import type { Verdict } from '../../controller/conditions.ts';
import type { FurtherAnswer, PowerAction } from '../../provider/types.ts';
import type { TaskProgress } from './server-status.ts';

export interface Memo {
  evidence: Evidence;
  /** Consecutive failures of calls to the provider. */
  failures: number;
  plan?: Plan | undefined;
  /** How often the object makes the operator call the provider; undefined: this process has not visited it yet. */
  calls?: Calls | undefined;
  /** The answers of the task that is followed. */
  polled?: Polled | undefined;
  /** When the status last told the progress of the task, on the monotonic clock (ms); undefined: it says something else now. */
  toldAt?: number | undefined;
}

/** The answers of a task so far. */
export interface Polled {
  task: TaskNumber;
  /** When this process got the first answer, and the last one, on the monotonic clock (ms). */
  since: number;
  at: number;
  /** What the last answer said. */
  progress: TaskProgress;
  /** The first percentage since the numbers last fell. */
  base?: { percent: number; at: number } | undefined;
  /** How many answers in a row have shown no progress. */
  stale: number;
  /** The server that the last answer named, which the status may not tell yet. */
  identifier?: string | undefined;
}

/** At every poll interval, at every resync interval, or never except for single calls. */
export type Calls = 'poll' | 'resync' | 'none';

/** Operations that may be planned for later. */
export type Planned = 'order' | 'adopt' | 'takeOver' | 'follow' | 'look' | 'cancel' | 'expire';

/**
 * Do not begin this operation before `at` (ms; Infinity: never), unless the inputs (see inputs.ts) have changed. It does
 * not apply while the clock is before `from`, when this was planned: the clock was set back, so `at` means nothing.
 */
export interface Plan {
  operation: Planned;
  from: number;
  at: number;
  inputs: string;
  /** An order or a failed call comes before: the pause holds whether it was written or not. */
  isFirm?: true | undefined;
  /** What the object shows until then; undefined: what its status says. */
  verdict?: Verdict | undefined;
  /** When it was last shown again in place of what another writer had written, on the monotonic clock (ms). */
  restoredAt?: number | undefined;
  ifListed?: LastRead | undefined;
}

/** What the last read has shown of a server that runs. While the list shows the same, few reads follow (operations/look.ts). */
export interface LastRead {
  verdict: Verdict;
  name: string | undefined;
  product: string | undefined;
  isDormant: boolean;
  /** On the monotonic clock (ms). */
  readAt: number;
}

/** What this process has found out, and the API server does not store. */
export interface Evidence {
  /** The request that the record claims; `since`: when this process first saw the claim, on the monotonic clock (ms). */
  claim?: { attempt: string; at: string | undefined; since: number } | undefined;
  /** The order that this process has sent last, with its user data: the Secret may have another text by now. */
  ordered?: { attempt: string; userData: string | undefined } | undefined;
  task?: TaskEvidence | undefined;
  sent?: Sent | undefined;
  /**
   * The server of another order has the identifier of this request; `since`: when this process sent the request, or first saw that
   * server, on the monotonic clock (ms).
   */
  another?: Pick<Sent, 'attempt' | 'at' | 'since'> | undefined;
  /** The provider has denied this task of a named order, and its server, for a grace period. */
  lostTask?: TaskNumber | undefined;
  /** The task, polled with this account, has named this server. */
  vouched?: { identifier: string; account: string } | undefined;
  /** The inputs when the provider was last asked about the task or the server, whatever it answered. */
  asked?: string | undefined;
  denials?: Denials | undefined;
  failure?: Failure | undefined;
  /**
   * The order of this attempt failed, and the provider's list of servers has not had its server for a grace period; `at`: when
   * that was proven, on the monotonic clock (ms).
   */
  createdNothing?: { attempt: string; at: number } | undefined;
  /** The last server that was read with this identifier cannot be proven to be the object's server. */
  unrecognized?: string | undefined;
  /**
   * At `at` (monotonic, ms), after your word about the order of this server, the API key was of another account than that order. So
   * no answer said anything about the server.
   */
  unaskable?: { identifier: string; at: number } | undefined;
  end?: End | undefined;
  change?: Changing | undefined;
  boot?: Boot | undefined;
  power?: PowerEvidence | undefined;
  /** The object that is to get the server does not exist, or is being deleted; `since`: on the monotonic clock (ms). */
  takerMissing?: { name: string; since: number } | undefined;
}

/** A change of this server in place. */
export interface Changing {
  identifier: string;
  /** The inputs when a read has shown that a step is due. */
  due?: string | undefined;
  /** This process has asked the server to shut down, the provider has accepted that, and the server was not off since. */
  isAsked?: boolean | undefined;
  /** What the record has of the change, and since when this process has known that. */
  seen?: SeenChange | undefined;
  requests?: SeenRequests | undefined;
  /** How many calls have failed in a row. */
  failures: number;
  /** The record counts the next shutdown already, because the last request had no answer. */
  isCounted?: boolean | undefined;
  /** How many requests to shut the server down were not accepted since the last one that was. */
  failedStops?: number | undefined;
  /** How often the change has failed while the server was off for it. */
  failedSends?: number | undefined;
  /** No call before that, on the monotonic clock (ms). */
  retryAt?: number | undefined;
  /** Why no call was made, or what the last one failed for, in a sentence. `isLimit`: the price limit leaves no room. */
  problem?: { said: string; isLimit?: true } | undefined;
}

/**
 * A change in the record, on the monotonic clock (ms). The times in the record are for you: they were written under the clock of
 * whichever process led then.
 */
export interface SeenChange {
  change: string;
  /** How far it has come, and since when this process has known that. */
  state: string;
  at: number;
  /** Since when this process has known that the provider accepted it. */
  acceptedSince?: number | undefined;
  /** When this process learned of the last shutdown that has no answer. It may still be on its way. */
  lostStopAt?: number | undefined;
}

/** The requests in the record (change-requests.ts), and since when this process has known them, on the monotonic clock (ms). */
export interface SeenRequests {
  text: string;
  since: number;
}

/** The last request of an order under an identifier that this process has sent. */
export interface Sent {
  attempt: string;
  /** When, as the record has it. */
  at: string;
  /** When this process last knew it to be on its way, on the monotonic clock (ms). */
  since: number;
  /**
   * `lost`: it has no answer, so it may still be on its way. `refused`: the provider refuses the order, of which an earlier
   * request may have created the server.
   */
  answer: 'accepted' | 'lost' | 'refused' | 'other';
  /** The task of an accepted order. */
  task?: TaskNumber | undefined;
}

export type TaskEvidence =
  /** The task has answered 303, or this process has read the server with this identifier. */
  | { state: 'over'; identifier: string }
  /** The task reports nothing more, so the server itself is read once. */
  | ({ state: 'silent' } & Silence);

export type Silence =
  | { why: 'taskNotFound' }
  | { why: 'failed' }
  | { why: 'renamed'; named: string }
  | { why: 'overdue'; message: string | undefined };

/** How often in a row, and since when, the task has answered with an error that says why the order failed. */
export interface Failure {
  task: TaskNumber;
  said: string;
  count: number;
  /** On the monotonic clock (ms). */
  since: number;
}

/**
 * Whether the list of servers confirms a denial. `yes`: it does not have the server. `perhaps`: nor has it, but it may leave
 * out servers whose task runs, and this one was never read. `no`: there is no list.
 */
export type Unlisted = 'yes' | 'perhaps' | 'no';

/** How often and for how long the provider has denied a server or a task, without a 200 in between. */
export interface Denials {
  /** `server IDENTIFIER` or `task NUMBER`. */
  of: string;
  /** `since` and `countedAt`: when the first and the last counted denial came, on the monotonic clock (ms). */
  since: number;
  countedAt: number;
  /** When the last denial of all came, counted or not. */
  lastAt: number;
  counted: number;
  /** The weakest evidence that the list of servers gave for any counted denial. */
  unlisted: Unlisted;
  /** The inputs at the last denial; undefined: the provider was asked since then, and has denied nothing. */
  inputs?: string | undefined;
}

/** Since when a server that was read may be booting, on the monotonic clock (ms). `off`: it did not run. `over`: it is up. */
export interface Boot {
  identifier: string;
  since: number | 'off' | 'over';
}

/** A call about the power of a server. `wake` ends `dormant`. */
export type PowerCall = PowerAction | 'dormant' | 'wake' | 'reboot';

/** What this process knows about a server whose power is to change. It counts for the same inputs (inputs.ts) only. */
export interface PowerEvidence {
  identifier: string;
  inputs: string;
  /** Since when the server is not as asked, on the monotonic clock (ms). */
  since: number;
  /** The last call for these inputs: `count` is how often in a row, `at` when, on the monotonic clock (ms). */
  last?: { call: PowerCall; count: number; at: number; answer: PowerAnswer } | undefined;
  /** The call that a read has shown to be missing: with which account, and when, on the monotonic clock (ms). */
  due?: { call: PowerCall; product: string; account: string; readAt: number } | undefined;
}

/** `said`: why the call failed. */
export type PowerAnswer =
  { state: FurtherAnswer } | { state: 'refused' | 'failed'; said: string; retryAfterMs: number };

/** How far the end of a server has come. */
export type End =
  /**
   * A DELETE was sent; its answer was lost, or a later read has shown the server. `saidBefore`: the provider had shown the server as
   * cancelled before the DELETE already, so that word tells nothing about it.
   */
  | { state: 'requested'; identifier: string; saidBefore?: true }
  | AnsweredCancel
  /** The provider's word, confirmed by what it shows since. */
  | { state: 'confirmed'; identifier: string }
  /**
   * Its absence is proven by denials, by another server with its identifier or by your annotation. `wasRequested`: a DELETE was
   * sent, and its answer was lost.
   */
  | { state: 'gone'; identifier: string; wasRequested: boolean };

/** The documented 200 to a DELETE: the provider's word that the server is cancelled, and not proof (operations/cancel.ts). */
export interface AnsweredCancel {
  state: 'answered';
  identifier: string;
  /** The message in the answer. */
  said: string;
  /** When the first and the last of these answers came, on the monotonic clock (ms). */
  since: number;
  askedAt: number;
  /** As above. */
  saidBefore?: true;
}

export const NEW_MEMO: Memo = { evidence: {}, failures: 0 };

export function withEvidence(memo: Memo, evidence: Evidence): Memo {
  return { ...memo, evidence: { ...memo.evidence, ...evidence } };
}

export function withoutPlan(memo: Memo): Memo {
  return { ...memo, plan: undefined };
}

/** The provider has answered. */
export function withoutFailures(memo: Memo): Memo {
  return { ...memo, failures: 0 };
}

/** The server or the task that was denied has been seen. */
export function withoutDenials(memo: Memo): Memo {
  return withEvidence(memo, { denials: undefined });
}

/** How far the end of this server has come. */
export function endOf({ evidence: { end } }: Memo, identifier: string | undefined): End | undefined {
  return end?.identifier === identifier ? end : undefined;
}

/** True once the server no longer exists, by confirmed word or by proof. */
export function isGone(memo: Memo, identifier: string | undefined): boolean {
  const state = endOf(memo, identifier)?.state;
  return state === 'confirmed' || state === 'gone';
}

/** True if a DELETE was sent for this server, and its answer was lost. */
export function wasRequested(memo: Memo, identifier: string | undefined): boolean {
  const end = endOf(memo, identifier);
  return end?.state === 'requested' || (end?.state === 'gone' && end.wasRequested);
}

/** True if a DELETE was sent for this server, whatever the answer. */
export function wasSent(memo: Memo, identifier: string | undefined): boolean {
  const end = endOf(memo, identifier);
  return end !== undefined && (end.state !== 'gone' || end.wasRequested);
}

/**
 * True if the list has to tell what a status means that says that the server is cancelled: it is new since a DELETE whose answer was
 * lost, or it was there before a DELETE that was answered with 200. Before a DELETE with an answer, another one tells more.
 */
export function isForList(memo: Memo, identifier: string): boolean {
  const end = endOf(memo, identifier);
  if (end?.state === 'answered') return end.saidBefore === true;
  return end?.state === 'requested' && end.saidBefore !== true;
}

export function withGone(memo: Memo, identifier: string): Memo {
  return withEvidence(memo, { end: { state: 'gone', identifier, wasRequested: wasRequested(memo, identifier) } });
}

/** The absence of the server has to be proven again. */
export function withoutGone(memo: Memo): Memo {
  const { end } = memo.evidence;
  if (end?.state !== 'gone') return memo;
  const { identifier } = end;
  return withEvidence(memo, { end: end.wasRequested ? { state: 'requested', identifier } : undefined });
}

/** A read has shown the server, so its end has to be proven again: it is another one, or was never cancelled. */
export function withoutEnd(memo: Memo): Memo {
  const { end } = memo.evidence;
  if (end?.state !== 'confirmed') return withoutGone(memo);
  return withEvidence(memo, { end: { state: 'requested', identifier: end.identifier } });
}

/** The provider's word about this server; undefined without one, or if a later read has shown the server. */
export function answeredCancel(memo: Memo, identifier: string | undefined): AnsweredCancel | undefined {
  const end = endOf(memo, identifier);
  return end?.state === 'answered' ? end : undefined;
}

/** A read has shown the server, so later answers do not confirm the word. The memo still knows that a DELETE was sent. */
export function withoutWord(memo: Memo): Memo {
  const { end } = memo.evidence;
  if (end?.state !== 'answered') return memo;
  return withEvidence(memo, { end: { state: 'requested', identifier: end.identifier } });
}
