/** An attempt to order a server, its outcome, and the task that results from it. */
import { currentReason } from '../../../controller/conditions.ts';
import { hasTrait } from '../../../api/conditions.ts';
import type { VirtualServer } from '../../../api/virtual-server.ts';
import type { ServerRecord } from '../../../api/record.ts';
import { isSameAccount, isSameProvider } from '../account.ts';
import { isAcceptedWord } from '../identity.ts';
import type { Action } from '../types.ts';
import { causeIn, namesOf, taskInUse, unknownMessage, unprovenTask } from '../words.ts';
import { accountOf, firstSeen, isOverdue, notYetOrGone, park, taskIsOver, type OwnView, type View } from '../view.ts';

/** Only the visit that claimed the attempt may send it. */
export function attemptWasClaimedJustNow({ own, facts, object }: OwnView): Action | undefined {
  if (own.attempt === undefined || own.task !== undefined || facts.claimed !== own.attempt) return undefined;
  if (facts.sshKeys?.ok !== true) throw new Error('an attempt was claimed without the keys that it sends');
  const { product, image, diskSize } = object.spec;
  const request = { product, image, diskSize, sshKeys: facts.sshKeys.text };
  return { type: 'create', record: own, attempt: own.attempt, request };
}

export function createIsInFlight(view: OwnView): Action | undefined {
  const { own, facts } = view;
  if (!mayBeInFlight(view) || own.attempt === undefined) return undefined;
  return park(
    'CreateInFlight',
    `Another process of the operator claimed order ${own.attempt} and may still be sending it. The operator waits until that process can no longer send it`,
    { afterMs: firstSeen(own.attempt, facts) + facts.timing.takeoverMs - facts.now },
  );
}

/** True while another process may still be sending the create of the record's attempt. */
export function mayBeInFlight({ own, facts }: OwnView): boolean {
  if (own.attempt === undefined || own.task !== undefined || own.identifier !== undefined) return false;
  if (facts.notes.some((note) => note.attempt === own.attempt)) return false;
  return facts.now - firstSeen(own.attempt, facts) < facts.timing.takeoverMs;
}

/**
 * True if waiting will not resolve the order (the reason is `hopeless`), or if its task has run for more than an hour.
 */
export function isHopeless({ object, facts }: View, own: ServerRecord): boolean {
  return hasTrait(currentReason(object.status?.conditions), 'hopeless') || isOverdue(own, facts.now);
}

export function createOutcomeIsUnknown({ own, object }: OwnView): Action | undefined {
  if (own.attempt === undefined || own.task !== undefined || own.identifier !== undefined) return undefined;
  return park('CreateOutcomeUnknown', unknownMessage(object, own, causeOf(object, own)));
}

/** Only the visit that sent the create knows what happened; the condition of this order still contains it. */
function causeOf({ status }: VirtualServer, { attempt, hintedTask }: ServerRecord): string | undefined {
  if (status?.record?.attempt !== attempt || status?.record?.hintedTask !== hintedTask) return undefined;
  const condition = status?.conditions?.find(({ reason }) => reason === 'CreateOutcomeUnknown');
  return condition && causeIn(condition.message);
}

/**
 * The provider has restarted its task numbers, so following this task could lead both objects to one server. An object
 * that already knows its server can tell when the task names another one.
 */
export function taskIsHeldTwice(view: OwnView): Action | undefined {
  const { own, facts, object } = view;
  if (own.task === undefined || own.identifier !== undefined) return undefined;
  const holders = facts.others.withTask(own.task, own.account);
  if (holders.length === 0) return undefined;
  return park('TaskInUse', taskInUse(object, own, `Task ${own.task} is also the task of ${namesOf(holders, object)}`), {
    retry: 'pollTask',
    afterMs: facts.timing.pollMs,
  });
}

export function taskRuns(view: OwnView): Action | undefined {
  const { own, facts } = view;
  if (own.task === undefined || taskIsOver(view)) return undefined;
  const { identifier, task } = own;
  const type = facts.memo.readInstead !== undefined && identifier !== undefined ? 'readServer' : 'pollTask';
  const first = notYetOrGone(view, type);
  if (first !== undefined) return first;
  if (type === 'readServer' && identifier !== undefined) return { type, record: own, identifier };
  return taskOfAnotherAccount(view) ?? { type: 'pollTask', record: own, task };
}

/**
 * Each account counts its own tasks. Under another key of the same base URL, the identifier that the task named before
 * can prove that it is the same task. Without an identifier, the task may belong to any other order.
 */
function taskOfAnotherAccount({ facts, object, own }: OwnView): Action | undefined {
  const account = accountOf(facts);
  if (own.account === undefined || isSameAccount(own.account, account)) return undefined;
  if (own.identifier !== undefined && isSameProvider(own.account, account)) return undefined;
  const word = `task-${own.task ?? ''}@${account ?? ''}`;
  if (isAcceptedWord(object, word)) return undefined;
  const why = 'the API key or the base URL is not the one that was used for the order';
  return park('IdentityUnproven', unprovenTask(object, own, why, word), {
    retry: 'pollTask',
    afterMs: facts.timing.pollMs,
  });
}
