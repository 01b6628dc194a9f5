/** Checks that hold for every object, deleted or not. Each is one named fact with the action that follows from it. */
import { ADOPT_ANNOTATION, RECORD_ANNOTATION, START_ANEW_ANNOTATION } from '../../../api/names.ts';
import { RECORD_FORMAT, RECORD_MODES, type ServerRecord } from '../../../api/record.ts';
import { isSameAccount, isSameService } from '../account.ts';
import { isAcceptedWord } from '../identity.ts';
import { isPaused, namesAsGone, saysNotCreated, saysNothingCreated, withoutHandledOrphans } from '../inputs.ts';
import { settledWith, withoutAttempt, withoutServer } from '../record.ts';
import { isProvisioned } from '../status.ts';
import type { Action } from '../types.ts';
import { currentReason } from '../verdict.ts';
import { heldTwiceAdvice, letGoAdvice, namesOf, taskInUse, unprovenTask } from '../words.ts';
import {
  firstSeen,
  goneByWordAlone,
  isOverdue,
  notDue,
  park,
  taskIsOver,
  withoutCredentials,
  type View,
} from '../view.ts';

/** Before everything that reads the record: this version may misread what a newer one has written. */
export function recordIsTooNew({ record }: View): Action | undefined {
  if (record.kind !== 'tooNew') return undefined;
  return park(
    'RecordTooNew',
    `A newer version of the operator wrote the record: it has ${record.unknown}. This version understands format ` +
      `${RECORD_FORMAT} with mode ${RECORD_MODES.join(' or ')}. The operator orders, cancels and changes nothing, and a ` +
      'deletion waits. Run the newer version of the operator again',
  );
}

/**
 * No record is left, and you say that there is no server either. The word counts only for an object that is being deleted:
 * one that lives on could lose its next record too, and the word would still be there.
 */
function goneWithoutServer({ object, deleting }: View): Action | undefined {
  if (!deleting || !saysNothingCreated(object)) return undefined;
  return { type: 'release', why: 'nothingCreated', record: undefined };
}

export function recordIsInvalid(view: View): Action | undefined {
  const { record, object } = view;
  if (record.kind !== 'invalid') return undefined;
  if (record.isAlone) {
    const message =
      `annotation ${RECORD_ANNOTATION} is not a record: ${record.problem}. No copy of the record is left, so a server ` +
      'may exist. Nothing is ordered or cancelled. Put the earlier text back. If you have none, look at the provider, ' +
      `and if it shows no server that you need, ${letGoAdvice(object)}`;
    return goneWithoutServer(view) ?? park('RecordInvalid', message);
  }
  return park(
    'RecordInvalid',
    `annotation ${RECORD_ANNOTATION} is not a record: ${record.problem}. Nothing is ordered or cancelled. ` +
      'Put its earlier text back, or remove the annotation to have it restored from status.record',
  );
}

export function recordIsForeign(view: View): Action | undefined {
  const { record, deleting, adoption } = view;
  if (record.kind !== 'foreign') return undefined;
  if (deleting) return { type: 'release', why: 'foreign', record: record.record };
  if (adoption !== undefined || record.startAnew) return undefined;
  const { owner, identifier } = record.record;
  const server = identifier === undefined ? 'its server' : `server ${identifier}`;
  return park(
    'RecordMismatch',
    `the record was written for another object (uid ${owner}): this one is a copy or was restored. ` +
      `Annotate ${ADOPT_ANNOTATION}=<identifier> to take ${server} over, ` +
      `or ${START_ANEW_ANNOTATION}=${view.object.metadata.uid} to order a new one`,
  );
}

export function recordIsMissing(view: View): Action | undefined {
  const { record, adoption, object } = view;
  if (record.kind !== 'missing' || adoption !== undefined) return undefined;
  const message =
    'the finalizer is there and the record is lost from metadata and status: a server may exist. Look at the provider. ' +
    `If it shows the server of this object, annotate ${ADOPT_ANNOTATION}=IDENTIFIER; if it shows none, ${letGoAdvice(object)}`;
  return goneWithoutServer(view) ?? park('RecordMissing', message);
}

export function recordIsInConflict({ record }: View): Action | undefined {
  if (record.kind !== 'conflict') return undefined;
  return park(
    'RecordConflict',
    `what is known of the server contradicts itself: ${record.problem}. Nothing is ordered or cancelled. ` +
      `Correct annotation ${RECORD_ANNOTATION}, or remove it to have it restored from status.record`,
  );
}

/** Comes before `objectIsPaused`: what is known is written down even then. */
export function recordIsStale({ record }: View): Action | undefined {
  if (record.kind !== 'own' || !record.stale) return undefined;
  return { type: 'record', record: record.record, why: 'restored' };
}

export function objectIsPaused({ object }: View): Action | undefined {
  return isPaused(object) ? { type: 'wait' } : undefined;
}

/** Reasons in which a task is known that will not tell of a server any more. */
const FRUITLESS = new Set<string | undefined>([
  'TaskNotFound',
  'TaskFailed',
  'TaskOverdue',
  'TaskInUse',
  'IdentityUnproven',
  'IdentifierInUse',
  'ServerNotVisible',
]);

/** Nothing will be heard of the task by itself, or has been heard for an hour. */
export function isHopeless({ object, facts }: View, own: ServerRecord): boolean {
  return FRUITLESS.has(currentReason(object.status?.conditions)) || isOverdue(own, facts.now);
}

/**
 * A person has looked and found nothing: obeyed only when no create can be on its way any more. Of a task the provider has
 * to have no news, or none for an hour, when it is asked after the word; and where it named a server, that server has to be
 * denied.
 */
export function attemptCreatedNothing(view: View): Action | undefined {
  const { own, object, facts, inputs } = view;
  if (own?.attempt === undefined || !saysNotCreated(object, own)) return undefined;
  const { identifier, task } = own;
  const { denials, looked } = facts.memo;
  const lost = task === undefined && identifier === undefined && !mayBeInFlight(view);
  const isDenied = identifier === undefined || denials?.of === `server ${identifier}`;
  const fruitless = task !== undefined && isDenied && isHopeless(view, own) && looked === inputs && !taskIsOver(view);
  if (!lost && !fruitless) return undefined;
  return { type: 'record', record: { ...withoutServer(withoutAttempt(own)), ...settledWith(own) }, why: 'notCreated' };
}

export function orphanIsHandled({ own, object }: View): Action | undefined {
  if (own === undefined) return undefined;
  const record = withoutHandledOrphans(object, own);
  return record === own ? undefined : { type: 'record', record, why: 'orphanHandled' };
}

/** A word that turned out to be untrue counts again once it has been taken back and said anew. */
export function wordIsTakenBack({ own, object }: View): Action | undefined {
  if (own?.goneRefuted === undefined || namesAsGone(object, own)) return undefined;
  const { goneRefuted: _goneRefuted, ...record } = own;
  return { type: 'record', record, why: 'wordTakenBack' };
}

/** True while another process may still be sending the create of the record's attempt. */
export function mayBeInFlight({ own, facts }: View): boolean {
  if (own?.attempt === undefined || own.task !== undefined || own.identifier !== undefined) return false;
  if (facts.notes.some((note) => note.attempt === own.attempt)) return false;
  return facts.now - firstSeen(own.attempt, facts) < facts.timing.takeoverMs;
}

export function identifierIsHeldTwice({ own, facts, object, deleting }: View): Action | undefined {
  if (own?.identifier === undefined || (deleting && object.spec.deletionPolicy === 'Retain')) return undefined;
  const { account, fingerprint } = own;
  // Who is only about to take it over finds this object there.
  const holders = facts.others.withServer(own.identifier, { account, fingerprint, held: true });
  if (holders.length === 0) return undefined;
  return park(
    'IdentifierInUse',
    `Server ${own.identifier} is held by ${namesOf(holders, object)} too. The operator makes no calls for it. ` +
      heldTwiceAdvice(holders, object),
    { afterMs: facts.timing.pollMs },
  );
}

/**
 * The counter of the provider has started again: following the task could lead both to one server. An object that knows
 * its server can tell when the task speaks of another one.
 */
export function taskIsHeldTwice(view: View): Action | undefined {
  const { own, facts, object } = view;
  if (own?.task === undefined || own.identifier !== undefined) return undefined;
  const holders = facts.others.withTask(own.task, own.account);
  if (holders.length === 0) return undefined;
  return park('TaskInUse', taskInUse(own, `task ${own.task}, which ${namesOf(holders, object)} follows too`), {
    retry: 'pollTask',
    afterMs: facts.timing.pollMs,
  });
}

export function taskRuns(view: View): Action | undefined {
  const { own, facts } = view;
  if (own?.task === undefined || taskIsOver(view)) return undefined;
  const { identifier, task } = own;
  const type = facts.memo.readInstead !== undefined && identifier !== undefined ? 'readServer' : 'pollTask';
  const first = notDue(view, type) ?? withoutCredentials(view, type);
  if (first !== undefined) return goneByWordAlone(view, own, first) ?? first;
  if (type === 'readServer' && identifier !== undefined) return { type, record: own, identifier };
  return taskOfAnotherAccount(view, own) ?? { type: 'pollTask', record: own, task };
}

/**
 * Task numbers are those of an account. Under another key of the same base URL the identifier that the task named before
 * can prove that it is the same one; without it the task may be anybody's.
 */
function taskOfAnotherAccount({ facts, object }: View, own: ServerRecord): Action | undefined {
  const { credentials, timing } = facts;
  const account = credentials?.ok === true ? credentials.account : undefined;
  if (own.account === undefined || isSameAccount(own.account, account)) return undefined;
  if (own.identifier !== undefined && isSameService(own.account, account)) return undefined;
  const word = `task-${own.task ?? ''}@${account ?? ''}`;
  if (isAcceptedWord(object, word)) return undefined;
  const why = 'the API key or the base URL is not the one that the server was ordered with';
  return park('IdentityUnproven', unprovenTask(own, why, word), { retry: 'pollTask', afterMs: timing.pollMs });
}

export function serverIsHeld(view: View): Action | undefined {
  const { own, facts, object } = view;
  if (own?.identifier === undefined) return undefined;
  // A wiped status is filled in at once, unless the last call failed.
  const known = isProvisioned(object.status) || facts.memo.failures > 0;
  return (
    (known ? notDue(view, 'readServer') : undefined) ??
    withoutCredentials(view, 'readServer') ?? { type: 'readServer', record: own, identifier: own.identifier }
  );
}
