/** Checks on the way to a server: an attempt and its outcome, adoption, and what has to be in order before a create. */
import { ADOPT_ANNOTATION } from '../../../api/names.ts';
import { isHopeless, mayBeInFlight } from './record.ts';
import { holdsSomething } from '../record.ts';
import { specProblem } from '../spec.ts';
import type { Action, Facts, GatherKind, Missing } from '../types.ts';
import { currentReason } from '../verdict.ts';
import { namesOf, resolveAdvice, unknownMessage } from '../words.ts';
import { firstSeen, isOverdue, notDue, park, withoutCredentials, type View } from '../view.ts';

/** Only the visit that claimed the attempt may send it. */
export function attemptWasClaimedJustNow({ own, facts, object }: View): Action | undefined {
  if (own?.attempt === undefined || own.task !== undefined || facts.claimed !== own.attempt) return undefined;
  if (facts.sshKeys?.ok !== true) throw new Error('an attempt was claimed without the keys that it sends');
  const { product, image, diskSize } = object.spec;
  const request = { product, image, diskSize, sshKeys: facts.sshKeys.text };
  return { type: 'create', record: own, attempt: own.attempt, request };
}

export function createIsInFlight(view: View): Action | undefined {
  const { own, facts } = view;
  if (!mayBeInFlight(view) || own?.attempt === undefined) return undefined;
  return park(
    'CreateInFlight',
    `attempt ${own.attempt} was claimed by another process of the operator, which may still be sending it`,
    { afterMs: firstSeen(own.attempt, facts) + facts.timing.takeoverMs - facts.now },
  );
}

/** The task named a server that nobody has ever seen, and names another one now, or none. */
function isReplaceable({ own, adoption, object }: View): boolean {
  if (own?.mode !== 'create' || own.fingerprint !== undefined || own.task === undefined) return false;
  const isOther = adoption?.ok === true && adoption.identifier.toLowerCase() !== own.identifier?.toLowerCase();
  return isOther && RENAMED.has(currentReason(object.status?.conditions));
}

const RENAMED = new Set<string | undefined>(['TaskInUse', 'TaskNotFound']);

export function adoptionIsAsked(view: View): Action | undefined {
  const { own, adoption, facts, object } = view;
  if (adoption === undefined || (own?.identifier !== undefined && !isReplaceable(view))) return undefined;
  // A task that runs tells which server is its own; adopted before, that server would be called an orphan.
  const isRefused = currentReason(object.status?.conditions) === 'AdoptInvalid';
  if (own?.task !== undefined && !isRefused && !isHopeless(view, own)) return undefined;
  if (!adoption.ok) return park('AdoptInvalid', adoption.message);
  const { identifier } = adoption;
  // Without a key of the account nothing is said of what others hold.
  const first = notDue(view, 'adopt') ?? withoutCredentials(view, 'adopt');
  if (first !== undefined) return first;
  const account = facts.credentials?.ok === true ? facts.credentials.account : undefined;
  const ordering = facts.others.ordering(account);
  if (ordering.length > 0) {
    const message = `Server ${identifier} is adopted as soon as it is known which server ${namesOf(ordering, object)} has ordered`;
    // Two overdue orders would wait for each other: a reason that says so lets the other one go first (see isStuck).
    const isLate = own?.task !== undefined && isOverdue(own, facts.now);
    return park(isLate ? 'TaskOverdue' : 'Pending', message, {
      afterMs: Math.min(facts.timing.pollMs, ORDERING_RECHECK_MS),
    });
  }
  return { type: 'adopt', record: own, identifier };
}

const ORDERING_RECHECK_MS = 5_000;

/** While an attempt is open no advice may end in a release. */
export function heldMessage({ own, object }: View, identifier: string, holders: readonly string[]): string {
  const open = own?.attempt === undefined ? '' : ` ${resolveAdvice(own)}`;
  return `Server ${identifier}, named by annotation ${ADOPT_ANNOTATION}, is held by ${namesOf(holders, object)}. Correct the annotation.${open}`;
}

export function createOutcomeIsUnknown({ own, object }: View): Action | undefined {
  if (own?.attempt === undefined || own.task !== undefined || own.identifier !== undefined) return undefined;
  const message = unknownMessage(own);
  // What happened was known to the visit that sent the create alone.
  const fuller = object.status?.conditions?.find((condition) => condition.message.startsWith(message))?.message;
  return park('CreateOutcomeUnknown', fuller ?? message);
}

const RECHECK_MS = 60_000;

export function serverIsToBeOrdered(view: View): Action | undefined {
  const { facts, object, own, deleting } = view;
  // The last line of defence against a second create: no check before this one may let such an object through.
  if (deleting || (own !== undefined && holdsSomething(own))) throw new Error('a server is held, or may be: no create');
  const first = notDue(view, 'gather') ?? journalIsUnavailable(facts) ?? withoutCredentials(view, 'gather');
  if (first !== undefined) return first;
  const { sshKeys, catalog, place, createDelayMs } = facts;
  if (sshKeys === undefined) return gather('sshKeys');
  if (!sshKeys.ok) return missing(sshKeys);
  if (catalog === undefined) return gather('catalog');
  if (!catalog.ok) return missing(catalog);
  const problem = specProblem(object.spec, catalog.catalog);
  if (problem !== undefined) {
    return park('InvalidSpec', problem, { retry: 'gather', afterMs: Math.max(RECHECK_MS, facts.timing.resyncMs) });
  }
  if (place === undefined) return gather('place');
  if (!place.free) {
    const message =
      `the namespace has ${place.limit} servers, as many as --max-servers-per-namespace allows; ` +
      'retained servers count too. Delete one, or ask for a higher limit';
    return park('ServerLimit', message, { retry: 'gather', afterMs: facts.timing.pollMs });
  }
  if (createDelayMs === undefined) return gather('createDelay');
  if (createDelayMs > 0) {
    const message = 'the namespace has reached --max-creates-per-hour; the server is ordered when the hour allows it';
    return park('CreateLimit', message, { retry: 'gather', afterMs: createDelayMs });
  }
  if (facts.credentials?.ok !== true) throw new Error('credentials were checked above');
  return { type: 'claim', record: own, account: facts.credentials.account };
}

/** Nothing is claimed that could not be sent. */
function journalIsUnavailable({ journalProblem, timing }: Facts): Action | undefined {
  if (journalProblem === undefined) return undefined;
  const message =
    `the journal in --journal-dir cannot be written: ${journalProblem}. Nothing is ordered until it can. ` +
    'Free space there or make it writable; the operator retries automatically';
  return park('JournalUnavailable', message, { retry: 'gather', afterMs: timing.pollMs });
}

function gather(what: GatherKind): Action {
  return { type: 'gather', what };
}

function missing({ reason, message, retryAfterMs }: Missing): Action {
  return park(reason, message, { retry: 'gather', ...(retryAfterMs !== undefined && { atLeastMs: retryAfterMs }) });
}
