/**
 * Decides which operation is next for one object: the first check with an answer wins. The order of the chains is part of
 * the design (docs/concepts/design.md). Pure.
 */
import { without } from '../../base/without.ts';
import { cut } from '../../base/text.ts';
import { HAND_OVER_ANNOTATION, RECORD_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../api/names.ts';
import {
  RECORD_FORMAT,
  RECORD_MODES,
  byPhase,
  isClaimed,
  isNamed,
  type Claimed,
  type ServerRecord,
} from '../../api/record.ts';
import { isLetGo, isPaused } from '../../api/server-state.ts';
import {
  namesAsGone,
  saysGone,
  orphanMessage,
  saysNotCreated,
  saysNothingCreated,
  takerOf,
  takerProblem,
  unknownAnnotations,
  withoutHandledOrphans,
} from './inputs.ts';
import { isProvisioned, wasRead } from './server-status.ts';
import type { Operation } from './types.ts';
import { isOwnNamespace, namesOf, PROTECTED, unknownMessage } from './sentences.ts';
import {
  isNewClaim,
  isOverdue,
  isProtected,
  notDue,
  park,
  taskIsOver,
  untilSent,
  type OwnView,
  type View,
} from './view.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import { createHasFailed, nextOrderWaits } from './create-failure.ts';
import { holdsSomething, withFailedOrder } from './known-record.ts';
import { isDeniedSince, isNamedLost, isTaskLost, mayArrive, orderIsToRepeat } from './named.ts';
import { clockOf, expiryOf, isToExpire } from './expiry.ts';
import { isToRunFirst } from './change.ts';
import { keepsServer } from './delay.ts';
import { dueCall } from './power.ts';
import { openIn, openReason } from '../../api/open.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { endOf, isGone } from './memo.ts';
import { ON_CHANGE, RECHECK_MS } from './next.ts';

export type Check<V extends View = View> = (view: V) => Operation | undefined;

export interface Chain {
  /** Whether the checks run at all; they rely on this. */
  admits: (view: View) => boolean;
  checks: readonly Check[];
}

/** `decide` runs no check on a view that `admits` rejects, so each check may rely on what a type guard has found. */
function chain<V extends View>(admits: (view: View) => view is V, checks: readonly Check<V>[]): Chain;
function chain(admits: (view: View) => boolean, checks: readonly Check[]): Chain;
function chain(admits: (view: View) => boolean, checks: readonly Check<never>[]): Chain {
  return { admits, checks: checks as readonly Check[] };
}

const isOwn = (view: View): view is OwnView => view.own !== undefined;
const holds = (view: View): view is OwnView => view.own !== undefined && holdsSomething(view.own);

/**
 * `decide` asks in this order: `record` for every object, `own` for an object with its own record, then whichever of
 * the other four fits. docs/concepts/design.md lists them; test/unit/virtual-server/decision/decide.test.ts compares.
 */
export const CHAINS = {
  record: chain(
    () => true,
    [
      finalizerIsGone,
      recordIsTooNew,
      recordIsInvalid,
      recordIsForeign,
      recordIsMissing,
      recordIsInConflict,
      recordIsStale,
      serverIsTakenOver,
      objectIsPaused,
    ],
  ),
  own: chain(isOwn, [
    attemptCreatedNothing,
    createHasFailed,
    orphanIsHandled,
    annotationIsTakenBack,
    serverHasExpired,
    identifierIsHeldTwice,
  ]),
  ordering: chain(
    (view) => !view.deleting && !holds(view),
    [
      serverIsGiven,
      serverIsNotWanted,
      serverIsToBeTakenOver,
      timeIsOver,
      adoptionIsAsked,
      annotationIsUnknown,
      nextOrderWaits,
      serverIsToBeOrdered,
    ],
  ),
  living: chain(
    (view): view is OwnView => !view.deleting && holds(view),
    [
      createIsInFlight,
      adoptionIsAsked,
      createOutcomeIsUnknown,
      taskRuns,
      serverIsToExpire,
      orderIsToRepeat,
      serverIsToChange,
      serverIsToBeSwitched,
      serverIsHeld,
    ],
  ),
  deleting: chain(
    (view): view is OwnView => view.deleting && holds(view),
    [
      createIsInFlight,
      serverIsToStart,
      serverIsRetained,
      adoptionIsAsked,
      createOutcomeIsUnknown,
      taskRuns,
      serverIsProtected,
      serverIsKept,
      serverIsToBeCancelled,
    ],
  ),
  leaving: chain((view) => view.deleting && !holds(view), [nothingIsOwed, adoptionIsAsked]),
};

export function decide(view: View): Operation {
  for (const { admits, checks } of Object.values(CHAINS)) {
    if (!admits(view)) continue;
    for (const check of checks) {
      const operation = check(view);
      if (operation !== undefined) return operation;
    }
  }
  throw new Error('no check has an answer');
}

/** Only finalizers of other controllers keep the object; the operator is done with it. */
export function finalizerIsGone({ object }: View): Operation | undefined {
  return isLetGo(object) ? { type: 'wait', when: ON_CHANGE } : undefined;
}

/** Comes before every check that reads the record, since this version may misread what a newer version wrote. */
export function recordIsTooNew({ record }: View): Operation | undefined {
  if (record.kind !== 'tooNew') return undefined;
  return park(
    'RecordTooNew',
    `A newer version of the operator wrote the record: it has ${record.unknown}. This version understands formats up to ` +
      `${RECORD_FORMAT} with mode ${RECORD_MODES.slice(0, -1).join(', ')} or ${RECORD_MODES.at(-1)}. The operator orders, cancels and changes nothing, and a ` +
      'deletion waits. Run the newer version again',
  );
}

/**
 * No record is left, and your annotation says that there is no server. It counts only for an object that is being
 * deleted: a living object could lose its next record too, while the annotation is still there.
 */
function goneWithoutServer({ object, deleting }: View): Operation | undefined {
  if (!deleting || !saysNothingCreated(object)) return undefined;
  return { type: 'release', why: 'nothingCreated', record: undefined };
}

export function recordIsInvalid(view: View): Operation | undefined {
  const { record, object } = view;
  if (record.kind !== 'invalid') return undefined;
  if (record.isAlone) {
    const message =
      `Annotation ${RECORD_ANNOTATION} is not a valid record: ${record.problem}. No copy of the record is left, so a ` +
      'server may exist. The operator orders and cancels nothing. Restore the earlier text of the annotation';
    return goneWithoutServer(view) ?? park('RecordInvalid', message, ON_CHANGE, object.metadata.uid);
  }
  return park(
    'RecordInvalid',
    `Annotation ${RECORD_ANNOTATION} is not a valid record: ${record.problem}. The operator orders and cancels nothing. ` +
      'Ask a cluster administrator to restore the earlier text of the annotation',
  );
}

export function recordIsForeign(view: View): Operation | undefined {
  const { record, deleting, adoption } = view;
  if (record.kind !== 'foreign') return undefined;
  if (deleting) return { type: 'release', why: 'foreign', record: record.record };
  if (adoption !== undefined || record.startOver) return undefined;
  return park(
    'RecordMismatch',
    `This object is a copy, or was restored from a backup: its record belongs to the object with uid ${record.record.owner}. ` +
      'If that object still exists, in this or another cluster, delete this one; no server is cancelled',
  );
}

export function recordIsMissing(view: View): Operation | undefined {
  const { record, adoption } = view;
  if (record.kind !== 'missing' || adoption !== undefined) return undefined;
  const message = 'The finalizer is there, but the record is missing from metadata and status: a server may exist';
  return goneWithoutServer(view) ?? park('RecordMissing', message);
}

export function recordIsInConflict({ record }: View): Operation | undefined {
  if (record.kind !== 'conflict') return undefined;
  const remedy =
    record.other === 'the journal'
      ? `correct annotation ${RECORD_ANNOTATION} and status.record`
      : 'find out which of the two is right; the operator then restores the other one from it';
  return park(
    'RecordConflict',
    `The record contradicts itself: ${record.problem}. The operator orders and cancels nothing. ` +
      `Ask a cluster administrator to ${remedy}`,
  );
}

/** Comes before `objectIsPaused`, since known facts are recorded even while the object is paused. */
export function recordIsStale({ record }: View): Operation | undefined {
  if (record.kind !== 'own' || !record.stale) return undefined;
  return { type: 'record', record: record.record, why: 'restored' };
}

/**
 * Another object has taken the server over, so this one must not cancel it. Comes before `objectIsPaused`: no call to the
 * provider is needed.
 */
export function serverIsTakenOver(view: View): Operation | undefined {
  const { own, deleting } = view;
  const { takenBy } = view.handOver;
  if (!deleting || takenBy === undefined || own?.identifier === undefined) return undefined;
  return giverIsStillThere(view) ?? { type: 'handOver', record: own, taker: takenBy };
}

/** Only this object keeps its giver from the server: without this one, the giver holds the server again, and may cancel it. */
function giverIsStillThere({ handOver: { giver } }: View): Operation | undefined {
  if (giver === undefined) return undefined;
  const message = `This object has taken over the server of ${giver}, and the server stays. The object goes as soon as ${giver} is gone`;
  return park('HandOverPending', message, { afterMs: RECHECK_MS });
}

export function objectIsPaused({ object }: View): Operation | undefined {
  return isPaused(object) ? { type: 'wait', when: ON_CHANGE } : undefined;
}

/**
 * You say that the attempt created nothing. The operator obeys once no create can be in flight. If there is a task, the
 * operator must have asked the provider after your annotation, and the task must be hopeless or overdue. If a server is
 * named, the provider must have denied that server when it was last asked.
 */
export function attemptCreatedNothing(view: OwnView): Operation | undefined {
  const { own, object, inputs } = view;
  if (own.attempt === undefined || !(saysNotCreated(object, own) || deniesNamed(view))) return undefined;
  const { identifier, task } = own;
  const { asked } = view.memo.evidence;
  const isDenied = identifier === undefined || isDeniedSince(view, identifier);
  const lost = byPhase(own, {
    unordered: () => false,
    claimed: (claim) => !isBeingSent(view, claim),
    following: () => false,
    named: (named) => isNamedLost(view, named),
    held: () => false,
  });
  const fruitless = task !== undefined && isDenied && isHopeless(view, own) && asked === inputs && !taskIsOver(view);
  if (!lost && !fruitless) return undefined;
  return { type: 'record', record: withFailedOrder(own), why: 'notCreated' };
}

/** You say that a living object's server, which the provider has never shown, does not exist. */
const deniesNamed = ({ own, object, deleting }: OwnView): boolean => isNamed(own) && !deleting && saysGone(object, own);

export function orphanIsHandled({ own, object }: OwnView): Operation | undefined {
  const record = withoutHandledOrphans(object, own);
  return record === own ? undefined : { type: 'record', record, why: 'orphanHandled' };
}

/** A `server-gone` annotation that proved untrue counts again after you remove it and set it again. */
export function annotationIsTakenBack({ own, object }: OwnView): Operation | undefined {
  if (own.goneRefuted === undefined || namesAsGone(object, own)) return undefined;
  return { type: 'record', record: without(own, 'goneRefuted'), why: 'annotationTakenBack' };
}

/**
 * The server was cancelled. The operator orders no other one, or a GitOps tool that keeps the object would cost money
 * forever.
 */
export function serverHasExpired(view: OwnView): Operation | undefined {
  const { own, object, deleting } = view;
  if (own.expiredAt === undefined) return undefined;
  const taker = takerOf(object);
  if (deleting && taker !== undefined) {
    const message =
      `${own.identifier === undefined ? 'The server' : `Server ${own.identifier}`} was cancelled when its time was up, so it cannot be handed over to ` +
      `${cut(taker, 64)}. The operator orders nothing in its place unasked`;
    return park('HandOverRefused', message);
  }
  if (!deleting) return notDue(view, 'expire') ?? { type: 'expire', record: own };
  if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage({ orphans: own.orphans }));
  return { type: 'release', why: 'cancelled', record: own };
}

export function identifierIsHeldTwice({ own, object, deleting, others, timing }: OwnView): Operation | undefined {
  if (own.identifier === undefined || (deleting && object.spec.deletionPolicy === 'Retain')) return undefined;
  const { account, fingerprint } = own;
  // An object that is only about to adopt the server is left out: it will see this object as the holder.
  const holders = others.withServer(own.identifier, { account, fingerprint, held: true });
  if (holders.length === 0) return undefined;
  const message = `Server ${own.identifier} is also held by ${namesOf(holders, object)}. The operator makes no calls for this server`;
  const when = { afterMs: timing.pollMs };
  // If you can see only one of the objects, you must not give the server away.
  if (holders.every((holder) => isOwnNamespace(holder, object)))
    return park('IdentifierInUse', message, when, holders.join(', '));
  const ask = 'Ask a cluster administrator which object keeps the server, and have the server removed from the others';
  return park('IdentifierInUse', `${message}. ${ask}`, when);
}

/** Another object of the namespace names this one as the one that gets its server. */
export function serverIsGiven(view: View): Operation | undefined {
  const { record, own } = view;
  const [giver, ...rest] = view.handOver.givers;
  if (giver === undefined || record.kind === 'missing') return undefined;
  const others = rest.filter(({ isEnding }) => isEnding).map(({ name }) => name);
  if (giver.isEnding) return notDue(view, 'takeOver') ?? { type: 'takeOver', record: own, giver: giver.name, others };
  const message =
    `Annotation ${HAND_OVER_ANNOTATION} of ${giver.name} names this object, which therefore orders nothing. It takes the ` +
    `server over once ${giver.name} is being deleted`;
  return park('HandOverPending', message);
}

/** An object that hands its server over needs no other one. */
export function serverIsNotWanted({ object }: View): Operation | undefined {
  const taker = takerOf(object);
  if (taker === undefined) return undefined;
  const problem = takerProblem(object);
  const what = problem ?? `names ${cut(taker, 64)}`;
  const message = `The operator orders nothing while annotation ${HAND_OVER_ANNOTATION} ${what}`;
  return park(problem === undefined ? 'HandOverPending' : 'HandOverRefused', message);
}

/** A user who takes a deletion back wants that server, not an empty new one. */
export function serverIsToBeTakenOver({ object, adoption }: View): Operation | undefined {
  if (object.metadata.annotations?.[TAKE_OVER_ANNOTATION] === undefined || adoption !== undefined) return undefined;
  const message =
    `Annotation ${TAKE_OVER_ANNOTATION} says that this object takes over the server of a deleted object, but no object ` +
    'hands one over to it. The operator orders nothing';
  return park('HandOverRefused', message, ON_CHANGE, object.metadata.name);
}

/** After the expiry, order and adopt nothing: the operator would have to cancel the server at once. */
export function timeIsOver(view: View): Operation | undefined {
  const { own, object } = view;
  const at = expiryOf(object, own);
  if (at === undefined || clockOf(view) < at) return undefined;
  return park('Expired', 'spec.expiresAt is in the past, so the operator orders and adopts nothing');
}

/** Most are typos: ordering a server could be the opposite of what you asked for, such as to adopt one, or to wait. */
export function annotationIsUnknown({ object }: View): Operation | undefined {
  const unknown = unknownAnnotations(object.metadata);
  if (unknown.length === 0) return undefined;
  const what = unknown.length === 1 ? 'annotation' : 'annotations';
  return park(
    'UnknownAnnotation',
    `The operator does not know the ${what} ${unknown.join(', ')}, so it orders nothing`,
  );
}

export function serverIsToBeOrdered(view: View): Operation {
  const { own, deleting } = view;
  // The last line of defense against a second order: no earlier check may let such an object through.
  if (deleting || (own !== undefined && holdsSomething(own))) throw new Error('a server is held, or may be: no create');
  return notDue(view, 'order') ?? { type: 'order', record: own };
}

/** True if the task named a server that was never seen, and now names another one or none. */
function isReplaceable({ own, adoption }: View): boolean {
  if (own === undefined || own.mode === 'adopt' || own.fingerprint !== undefined || own.task === undefined)
    return false;
  const isOther = adoption?.ok === true && !isSameIdentifier(adoption.value, own.identifier);
  return isOther && openReason(own, 'renamed') !== undefined;
}

/** You have said what came of the order whose task is known. The provider is asked about it before that counts. */
const isAnswered = (object: VirtualServer, own: ServerRecord): boolean =>
  saysNotCreated(object, own) || saysGone(object, own);

export function adoptionIsAsked(view: View): Operation | undefined {
  const { own, adoption, object } = view;
  if (adoption === undefined) return undefined;
  // A running task will name its own server. Adopting that server earlier would make the task look like an orphan.
  const isInVain = (order: ServerRecord): boolean => isHopeless(view, order) && !isAnswered(object, order);
  const isReplaced = (order: ServerRecord): boolean => isReplaceable(view) && isInVain(order);
  const mayAdopt = {
    unordered: () => true,
    claimed: () => true,
    following: isInVain,
    named: isReplaced,
    held: isReplaced,
  };
  if (own !== undefined && !byPhase(own, mayAdopt)) return undefined;
  if (!adoption.ok) return park('AdoptInvalid', adoption.error);
  return notDue(view, 'adopt') ?? { type: 'adopt', record: own, identifier: adoption.value };
}

export function createIsInFlight(view: OwnView): Operation | undefined {
  const { deleting } = view;
  return byPhase<Operation | undefined>(view.own, {
    unordered: () => undefined,
    claimed: (own) => {
      if (!isBeingSent(view, own)) return undefined;
      const message = `Another process of the operator claimed order ${own.attempt} and may still be sending it. The operator waits until that process can no longer send it`;
      return park('CreateInFlight', message, { afterMs: untilSent(own, view) });
    },
    following: () => undefined,
    named: (own) => {
      if (own.task !== undefined || !mayArrive(own, view)) return undefined;
      // An object that is to keep its server looks for it while it waits.
      const isEnding = deleting || isToExpire(view, own);
      if (!isEnding) return undefined;
      const message = `Order ${own.attempt} under the identifier ${own.identifier} may still be on its way to the provider. The operator waits until it can no longer arrive`;
      return park('CreateInFlight', message, { afterMs: untilSent(own, view) });
    },
    held: () => undefined,
  });
}

/** True while another process may still be sending the order. This one has a note of each order that it has claimed. */
function isBeingSent(view: OwnView, own: Claimed): boolean {
  if (view.notes.some((note) => note.attempt === own.attempt)) return false;
  return isNewClaim(own, view);
}

/**
 * True if waiting will not resolve the order (what is open is `hopeless`, or the order has failed), or if its task has run for
 * more than an hour.
 */
export function isHopeless({ now }: View, own: ServerRecord): boolean {
  return openReason(own, 'hopeless') !== undefined || isOverdue(own, now);
}

export function createOutcomeIsUnknown({ own }: OwnView): Operation | undefined {
  if (!isClaimed(own)) return undefined;
  const open = openIn(own);
  const cause = open?.reason === 'CreateOutcomeUnknown' ? open.cause : undefined;
  return park('CreateOutcomeUnknown', unknownMessage(own, cause), ON_CHANGE, cause);
}

export function taskRuns(view: OwnView): Operation | undefined {
  const { own } = view;
  if (own.task === undefined || taskIsOver(view) || isTaskLost(view)) return undefined;
  const { task } = own;
  // The task has just failed again: whether its server exists is found out by the cancellation.
  const { task: evidence } = view.memo.evidence;
  const isFailed = evidence?.state === 'silent' && evidence.why === 'failed' && own.identifier !== undefined;
  if (isFailed && (view.deleting || isToExpire(view, own))) return undefined;
  if (view.memo.evidence.task?.state === 'silent' && own.identifier !== undefined)
    return notDue(view, 'look') ?? { type: 'look', record: own };
  return notDue(view, 'follow') ?? { type: 'follow', record: own, task };
}

/** The same guards as for a deletion: a live read, the lease, one holder, protection. */
export function serverIsToExpire(view: OwnView): Operation | undefined {
  const { own } = view;
  if (own.identifier === undefined || !isToExpire(view, own)) return undefined;
  if (isGone(view.memo, own.identifier)) return { type: 'expire', record: own };
  return notDue(view, 'cancel') ?? { type: 'cancel', record: own };
}

/** A read has just shown that a step of a change in place is due. */
export function serverIsToChange({ own, memo, inputs }: OwnView): Operation | undefined {
  const { change } = memo.evidence;
  if (own.identifier === undefined || change?.identifier !== own.identifier || change.due !== inputs) return undefined;
  return { type: 'change', record: own };
}

/** The last read has shown that a call about the power of the server is missing. */
export function serverIsToBeSwitched(view: OwnView): Operation | undefined {
  const { own } = view;
  const call = own.identifier === undefined ? undefined : dueCall(view);
  return own.identifier === undefined || call === undefined ? undefined : { type: 'power', record: own, call };
}

/** The operator has shut the server down for a change, and its object goes without it. */
export function serverIsToStart(view: OwnView): Operation | undefined {
  const { own, memo } = view;
  if (own.identifier === undefined || isGone(memo, own.identifier) || !isToRunFirst(view, own)) return undefined;
  return serverIsToChange(view) ?? serverIsHeld(view);
}

export function serverIsHeld(view: OwnView): Operation | undefined {
  const { own, object } = view;
  if (own.identifier === undefined) return undefined;
  // Fill in a wiped status at once, unless the last call failed.
  const known = isProvisioned(object.status) || view.memo.failures > 0;
  const wait = known ? notDue(view, 'look') : undefined;
  return wait ?? { type: 'look', record: own };
}

/** If nothing was created, the object goes without a key too. */
export function nothingIsOwed({ own, record, adoption }: View): Operation | undefined {
  if (record.kind === 'missing' && adoption !== undefined) return undefined;
  if (own?.orphans !== undefined) return park('OrphanedServer', orphanMessage(own));
  return { type: 'release', why: 'nothingCreated', record: own };
}

/**
 * A retained server must have an identifier, and must exist. Until then the operator follows the order and looks for the server,
 * or waits until you resolve the outcome of the order.
 */
export function serverIsRetained(view: OwnView): Operation | undefined {
  const { own, object, memo } = view;
  if (object.spec.deletionPolicy !== 'Retain' || own.identifier === undefined) return undefined;
  if (takerOf(object) !== undefined) return undefined;
  const waits = giverIsStillThere(view);
  if (waits !== undefined) return waits;
  if (isGone(memo, own.identifier)) return wasRead(object, own) ? serverIsToBeCancelled(view) : nothingIsOwed(view);
  if (!mayNotExist(view)) return { type: 'release', why: 'retained', record: own };
  return taskRuns(view) ?? notDue(view, 'look') ?? { type: 'look', record: own };
}

/**
 * The order named the server, or its task did before it failed, and no read has shown it. A record that was restored may not
 * know of the failure that this process has seen.
 */
const mayNotExist = (view: OwnView): boolean => {
  const { own, memo } = view;
  const hasFailed = (own.createFailure ?? memo.evidence.failure) !== undefined;
  return (isNamed(own) || hasFailed) && !taskIsOver(view);
};

/**
 * Protection only concerns the cancellation: the operator follows the order and looks for its server as ever, since a task may be
 * forgotten, and its number used again.
 */
export function serverIsProtected(view: OwnView): Operation | undefined {
  const { own, object, memo } = view;
  if (!isProtected(object.spec)) return undefined;
  const isUnseen = own.identifier !== undefined && !wasRead(object, own);
  if (isUnseen && isGone(memo, own.identifier)) return undefined;
  if (isUnseen && mayNotExist(view)) return notDue(view, 'look') ?? { type: 'look', record: own };
  return park('DeletionProtected', PROTECTED);
}

/**
 * The server runs on, and is read as before, during the delay and until another object has taken it over. An order is
 * followed first: only a server that is known can be cancelled, or taken over.
 */
export function serverIsKept(view: OwnView): Operation | undefined {
  const { own, object } = view;
  // Report that the server is gone, because you may be waiting for it.
  const isOver = isGone(view.memo, own.identifier) && takerOf(object) === undefined;
  return !keepsServer(view, own) || isOver ? undefined : serverIsHeld(view);
}

export function serverIsToBeCancelled(view: OwnView): Operation | undefined {
  const { own } = view;
  if (own.identifier === undefined) return undefined;
  if (isGone(view.memo, own.identifier)) {
    // The object's own server no longer exists, so the message must not advise to keep it.
    if (own.orphans !== undefined) return park('OrphanedServer', orphanMessage({ orphans: own.orphans }));
    return {
      type: 'release',
      why: endOf(view.memo, own.identifier)?.state === 'confirmed' ? 'cancelled' : 'gone',
      record: own,
    };
  }
  return notDue(view, 'cancel') ?? { type: 'cancel', record: own };
}
