/** Reads the server: whether it is still there, what it is like, and whether it answers. */
import { without } from '../../base/without.ts';
import { ended } from '../../base/text.ts';
import { hasTrait, type Reason } from '../../api/conditions.ts';
import { powerStateOf } from '../../api/server-state.ts';
import { RECORD_FORMAT, type FailedOrder, type ServerRecord, type Held } from '../../api/record.ts';
import type { EventNote, Verdict } from '../../controller/conditions.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import { ProviderError } from '../../provider/error.ts';
import type { Server, Session } from '../../provider/types.ts';
import { FLOOR_MS, pauseMs, runsForMs } from '../decision/next-poll.ts';
import { compose, showsReady } from '../decision/compose.ts';
import { connectionCondition, type ConnectionSecretState } from '../decision/connection.ts';
import { recognizeFor } from '../decision/identity.ts';
import {
  changingOf,
  courseOf,
  isStoppedForChange,
  seenIn,
  staysOff,
  isToRunFirst,
  stoppedVerdict,
  type Course,
} from '../decision/change.ts';
import { seenRequests } from '../decision/change-requests.ts';
import { keepsServer } from '../decision/delay.ts';
import { isToExpire, withReadyAt } from '../decision/expiry.ts';
import { takerOf, withRefuted } from '../decision/inputs.ts';
import { kept, missingTaker } from '../decision/kept.ts';
import {
  withEvidence,
  withoutFailures,
  withoutWord,
  type Changing,
  type LastRead,
  type PowerEvidence,
} from '../decision/memo.ts';
import { absent, goneByAnnotation, notRecognized, recognized } from '../decision/absence.ts';
import { NOW, type Pause } from '../decision/next.ts';
import { failed, goOn, goneUnasked, endVisit, jittered, withoutKey } from '../decision/outcome.ts';
import { hostKeyFinding, knownKeys, NO_KEYS, pinned, typesOf, type PinnedKeys } from '../decision/host-keys.ts';
import { powerStep, startsAfterChange } from '../decision/power.ts';
import { bootOf, sshTarget, type ProbeResult } from '../decision/reach.ts';
import { readiness } from '../decision/readiness.ts';
import { readyEvent } from '../decision/order-events.ts';
import { isPricedPlainly, priceText, recordedPrice, withPrice } from '../decision/price.ts';
import { changedUserData, sentDigest } from '../decision/sent-user-data.ts';
import { isProvisioned, serverFields } from '../decision/server-status.ts';
import type { Outcome, Operation, ServerAnswer, ShownServer } from '../decision/types.ts';
import { cancelIsForbidden, withMemo, type View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { failedUnseen } from '../decision/create-failure.ts';
import { withoutOpen } from '../decision/open.ts';
import { withOrphaned } from '../decision/known-record.ts';
import { invisible, renamed, saysFailed, unseen, vanished, withoutSilence } from '../decision/silent-task.ts';
import { lostToAnother } from './identifier-taken.ts';
import { lookForFailed, readServer } from './reads.ts';
import { unlessCancelled } from './shown-cancelled.ts';
import { userDataDigest } from './user-data.ts';

/**
 * `probed`: whether an SSH server answers. `connection`: the result of writing the connection Secret. If spec asks for it.
 * `hostKeys`: which keys of its SSH server are trusted.
 */
export type LookedAt = ShownServer & {
  probed?: ProbeResult;
  connection?: ConnectionSecretState;
  hostKeys?: PinnedKeys;
  /** Of what `spec.userDataFrom` names now; undefined if that cannot be read, or need not be. */
  userDataDigest?: string | undefined;
};

export async function look(visit: Visit, at: View, { record }: Extract<Operation, { type: 'look' }>): Promise<Outcome> {
  const key = await visit.key(at);
  if (!key.ok) return goneUnasked(visit.view()) ?? withoutKey(visit.view(), 'look', key.error);

  const listed = await stillListed(visit, at, record, key.value.session);
  if (listed !== undefined) return listed;

  const { session } = key.value;
  const read = await readServer(record.identifier, record.account, session, visit.object);
  const answer = await unlessCancelled(visit, record, read, { session, purpose: 'look' });
  if (answer.type === 'serverNotFound' && !answer.counts) visit.suspectKey();
  if (answer.type !== 'server') return notShown(visit.view(), record, answer);

  const shown = visit.view();
  const lost = lostToAnother(shown, record, answer.server, 'look');
  if (lost !== undefined) return lost;
  // A server that may be another one gets no check and no Secret: its password does not belong to this object.
  const known = recognizeFor('look', shown, record, answer);
  if (!known.ok) return notRecognized(visit.view(), record, 'look', known.error);
  const found = await withFindings(visit, known.value, answer);
  const current = await withAppeared(visit, known.value, session);
  return seen(visit.view(), record, current, found);
}

/** A running server is read at least this often, in resync intervals. */
const READ_EVERY = 2.5;
/** How old the list may be, in resync intervals: one call serves many objects. */
const LIST_AGE = 0.1;

/**
 * The end of a resync without a read: the list, which one call brings for all servers of the account, has the server with the
 * name and product of before. Undefined if the server has to be read.
 */
async function stillListed(visit: Visit, at: View, record: Held, session: Session): Promise<Outcome | undefined> {
  const { memo, monotonic, timing, inputs } = at;
  const { ifListed, inputs: planned } = memo.plan ?? {};
  if (ifListed === undefined || planned !== inputs || record.account !== session.account) return undefined;
  // Whatever was wiped from the status comes back with a read.
  if (!isProvisioned(at.object.status)) return undefined;
  // Prices are not in the list.
  if (visit.services.quota.limitsPrices(visit.object.metadata.namespace)) return undefined;
  if (!session.listsAll() || monotonic - ifListed.readAt >= READ_EVERY * timing.resyncMs) return undefined;
  const listed = await session.listedServers(LIST_AGE * timing.resyncMs).catch((error: unknown) => {
    // A read tells what is wrong.
    if (error instanceof ProviderError) return undefined;
    throw error;
  });
  const shown = listed?.find(({ identifier }) => isSameIdentifier(identifier, record.identifier));
  if (shown === undefined || (shown.isDormant ?? false) !== ifListed.isDormant) return undefined;
  const { name = ifListed.name, product = ifListed.product } = shown;
  if (name !== ifListed.name || product !== ifListed.product) return undefined;
  const view = visit.view();
  const when = { operation: 'look', afterMs: jittered(timing.resyncMs, view), ifListed } as const;
  return endVisit(view, { record, verdict: ifListed.verdict }, when, withoutFailures(view.memo));
}

/**
 * What has to be found in the list to save the next read; undefined if only a read brings what the status or the connection Secret
 * needs.
 */
function shownOf(
  { object, deleting, now, monotonic }: View,
  { failed = [] }: ServerRecord,
  { name, product, isDormant = false }: Server,
  verdict: Verdict,
): LastRead | undefined {
  const { sshCheck, connectionSecretName } = object.spec;
  const isSought = failed.some((order) => isLookedFor(order, now));
  if (deleting || isSought || !AS_ASKED.has(verdict.reason)) return undefined;
  if (sshCheck !== 'None' || connectionSecretName !== undefined) return undefined;
  return { verdict, name, product, isDormant, readAt: monotonic };
}

/** For how long the operator looks for the server of a failed order (ms). */
const LOOKED_FOR_MS = 24 * 60 * 60_000;

const isLookedFor = ({ attemptedAt }: FailedOrder, now: number): boolean =>
  (runsForMs(attemptedAt, now) ?? 0) < LOOKED_FOR_MS;

/** The record with a failed order as an orphan, if its server has appeared. A new server is shown first. */
async function withAppeared(visit: Visit, record: Held, session: Session): Promise<Held> {
  const { object, services } = visit;
  if (record.failed === undefined || !isProvisioned(object.status)) return record;
  const recent = record.failed.filter((order) => isLookedFor(order, services.timers.now()));
  const { appeared } = await lookForFailed(visit, recent, session);
  return appeared === undefined ? record : withOrphaned(record, appeared.order);
}

async function withFindings(visit: Visit, current: ServerRecord, shown: ShownServer): Promise<LookedAt> {
  const { object, services } = visit;
  const where = sshTarget(object, shown.server);
  const known = knownKeys(object, current, shown.server);
  const probed = where && (await services.probe(where, object.metadata.namespace, typesOf(known)));
  const hostKeys = pinned(object, known, probed, services.timers.now());
  // Only keys that the status holds: if the write of a new one fails, the next check may find another.
  const connection = await services.connections.write(object, shown.server, known);
  const userData = sentDigest(current) === undefined ? undefined : await visit.userDataText();
  return { ...shown, probed, connection, hostKeys, userDataDigest: userDataDigest(object, userData) };
}

/** The provider gave no answer, or denies the server. Pure. */
export function notShown(at: View, record: Held, answer: Exclude<ServerAnswer, ShownServer>): Outcome {
  const { task } = at.memo.evidence;
  const hasFailed = saysFailed(at.memo);
  // The record was rolled back since the order failed: the task tells again.
  if (hasFailed && record.createFailure === undefined) return goOn(withoutSilence(at.memo));
  // As before a cancellation: the task is asked again, and the proof needs no list.
  const isKept = at.deleting && cancelIsForbidden(at.object) !== undefined;
  if (hasFailed && isKept && answer.type !== 'failed' && takerOf(at.object) === undefined)
    return absent(withMemo(at, withoutSilence(at.memo)), record, 'look', answer);
  if (answer.type === 'failed')
    return (
      goneUnasked(at, answer.error) ?? (hasFailed ? failedUnseen(at, record, answer) : failed(at, 'look', answer.error))
    );
  if (record.task === undefined || task?.state !== 'silent') return absent(at, record, 'look', answer);
  const gone = goneByAnnotation(at, record, answer);
  if (gone !== undefined) return gone;
  if (hasFailed) return failedUnseen(at, record, answer);
  if (!answer.counts) return invisible(at, record, answer.detail);
  if (task.why === 'renamed') return renamed(at, record, task.named);
  return task.why === 'overdue' ? unseen(at, record, task.message) : vanished(at, record);
}

/** Reasons of a server that is as its object asks. */
const AS_ASKED: ReadonlySet<Reason> = new Set(['Available', 'PoweredOff', 'Dormant']);
const NO_STEP = { evidence: undefined, verdict: undefined, afterMs: Infinity } as const;

/** The server is this object's. `before`: the record before the read; `known`: with what the read has shown. Pure. */
export function seen(at: View, before: Held, known: Held, found: LookedAt): Outcome {
  const { object, deleting } = at;
  const { server, account, probed, connection, hostKeys = NO_KEYS } = found;
  const task = { state: 'over', identifier: server.identifier } as const;
  const present = withEvidence(recognized(at.memo), { task, failure: undefined });
  const shown = withRefuted(object, known.createFailure === undefined ? known : without(known, 'createFailure'));
  const isHeldUp = isToRunFirst(at, shown);
  const isEnding = deleting ? !keepsServer(at, shown) && !isHeldUp : isToExpire(at, shown);
  if (isEnding) return { ...goOn(present), ...(shown !== before && inBoth(at, shown)) };

  const course = courseOf(at, shown, server);
  const isChangeAsBefore = (['change', 'changeRequests', 'tries'] as const).every(
    (field) => course.record[field] === shown[field],
  );
  const changed = isChangeAsBefore ? shown : course.record;
  // While the server is off for a change, its power is no one else's. A deleted object changes nothing about the server that it keeps.
  // A change that is sent to a server that should be off concerns its power no more than the pause before it is sent again.
  const isOfPower = course.step !== undefined && !(course.step.do === 'send' && staysOff(object));
  const isBusy = isOfPower || isStoppedForChange(changed);
  const power = deleting || isBusy ? { ...NO_STEP, record: changed } : powerStep(at, changed, server, account);
  const started = isOfPower && !isStoppedForChange(changed) ? startsAfterChange(object, server) : undefined;
  const current = power.record;
  const boot = bootOf(at, current, server, probed);
  const ready = readiness(object, server, probed, boot, power.verdict ?? started);
  const isAsAsked = AS_ASKED.has(ready.verdict.reason);
  const takerMissing = deleting ? missingTaker(at) : undefined;
  // An earlier record gets what it lacks with the next change, or when it is needed. Only the price gets its period at once: without it, a
  // dormant server could not be told from one that was read awake.
  const isEarlier = current === before && current.format !== RECORD_FORMAT && object.spec.ttl === undefined;
  const mayBeDormant = object.spec.power === 'Dormant';
  const isToStay = isEarlier && current.price === undefined && isPricedPlainly(server) && !mayBeDormant;
  const priced = isToStay ? current : withPrice(object, current, server, at.now);
  const stopped = ready.verdict.reason === 'ServerNotRunning' ? stoppedVerdict(current) : undefined;
  const left = isHeldUp ? startsFirst(current) : kept(at, current, takerMissing);
  const verdict = deleting ? left : withPriceNote(stopped ?? ready.verdict, priced);
  const isDue = isAsAsked && (!isEarlier || priced !== current);
  const record = isDue ? withReadyAt(at, priced) : priced;
  const { keys, isNew: isNewKey } = hostKeys;
  const parts = {
    record,
    fields: {
      ...serverFields(server, recordedPrice(priced)?.amount),
      ...(keys.length > 0 && { sshHostKeys: [...keys] }),
      ...changedUserData(object, record, found.userDataDigest),
    },
    verdict,
    reachable: ready.reachable,
    hostKey: hostKeyFinding(hostKeys),
    connection: connectionCondition(object, connection),
    change: course.finding,
  };
  const lookMs = nextLookMs(current, verdict, { connection, isNewKey, power: power.evidence }, at);
  const isScheduled = power.afterMs !== Infinity;
  const when = {
    operation: 'look',
    afterMs: Math.min(lookMs, power.afterMs, nextStepMs(at, course)),
    // The list brings no visit at the time for which a restart was asked.
    ifListed: isScheduled || course.finding !== undefined ? undefined : shownOf(at, priced, server, verdict),
  } as const;
  const memo = withEvidence(withoutFailures(withoutWord(present)), {
    takerMissing,
    boot,
    power: power.evidence,
    change: dueChange(at, course, server),
  });
  // The mirror alone has it, which costs no write, until a `ttl` counts from it.
  const isNoted = priced === before && object.spec.ttl === undefined;
  const ended = endVisit(at, parts, when, memo, record === before || isNoted ? undefined : record);
  // An earlier version of the operator recorded no time of readiness, and one that only observes records nothing.
  const isFirst = !deleting && !showsReady(object.status);
  const first = isFirst ? readyEvent(object, current, record, server) : undefined;
  const next = first === undefined ? ended : { ...ended, events: withReady(ended.events, first) };
  // With the time of readiness, a ttl may be over already, and nothing else would lead to the next visit.
  if (!deleting && isToExpire(at, record)) return { ...next, when: NOW };
  // The call follows in this visit. Until then, the object shows what is about to happen.
  const isFreed = isHeldUp && !isToRunFirst(at, record);
  if (course.step !== undefined || power.evidence?.due !== undefined || isFreed) return { ...next, when: NOW };
  if (next.record === undefined || !canFollow(at, before, record, isAsAsked)) return next;
  // The identifier in the annotation leads to the server, but not to the time from which a ttl counts.
  const isInLine = record.mode === 'named' && object.spec.ttl === undefined;
  return isInLine ? without(next, 'record') : mirroredFirst(next, when);
}

/** In place of the Event of the condition, which says less. */
const withReady = (events: readonly EventNote[], ready: EventNote): EventNote[] => [
  ...events.filter(({ reason }) => reason !== 'Available'),
  ready,
];

function startsFirst({ identifier }: Held): Verdict {
  const message = `The operator starts server ${identifier} again, which it had shut down, before it lets the object go`;
  return { reason: 'Deleting', message };
}

/** What is remembered of a change: whether a step is due. */
function dueChange(at: View, { step, finding, record }: Course, { status }: Server): Changing | undefined {
  const { identifier } = record;
  const requests = seenRequests(at, record);
  if ((step ?? finding ?? record.change ?? requests) === undefined) return undefined;
  const known = changingOf(at, record) ?? { identifier, failures: 0 };
  const isAsked = powerStateOf(status) === 'off' ? undefined : known.isAsked;
  return { ...known, isAsked, seen: seenIn(at, record), requests, due: step === undefined ? undefined : at.inputs };
}

/**
 * When to read the server again (ms). A new server is about to be ready, so it is read again soon; also one whose connection Secret lacks a host key that the
 * status gets now (`isNewKey`).
 */
function nextLookMs(
  { attemptedAt }: ServerRecord,
  { reason }: Verdict,
  {
    connection,
    isNewKey,
    power,
  }: { connection: ConnectionSecretState | undefined; isNewKey: boolean; power: PowerEvidence | undefined },
  { now, monotonic, timing, jitter }: View,
): number {
  const isBehind = connection?.state === 'written' && isNewKey;
  if (power !== undefined && hasTrait(reason, 'readAtPoll'))
    return jittered(pauseMs(monotonic - power.since, timing), { jitter });
  if (hasTrait(reason, 'readAtPoll') || isBehind)
    return jittered(pauseMs(runsForMs(attemptedAt, now) ?? Infinity, timing), { jitter });
  return jittered(connection?.state === 'failed' ? timing.pollMs : timing.resyncMs, { jitter });
}

/** While a change is under way, the server is read again soon, and less and less often. */
function nextStepMs(at: View, { finding, record }: Course): number {
  const isWaiting = finding?.reason === 'Changing' || finding?.reason === 'ChangeLimited';
  if (!isWaiting && !isStoppedForChange(record)) return Infinity;
  const retryMs = (changingOf(at, record)?.retryAt ?? Infinity) - at.monotonic;
  const pause = pauseMs(at.monotonic - (seenIn(at, record)?.at ?? -Infinity), at.timing);
  return Math.max(FLOOR_MS, Math.min(retryMs, jittered(pause, at)));
}

function withPriceNote(verdict: Verdict, record: Held): Verdict {
  const { amount, unstatedSince } = recordedPrice(record) ?? {};
  if (amount === undefined || unstatedSince === undefined) return verdict;
  const note = `The provider states no price for it; the last known price, ${priceText(amount)}, counts`;
  return { ...verdict, message: `${ended(verdict.message)} ${note}` };
}

/** Writes the mirror in the same step, or an outdated absence in the mirror would return to the record. */
function inBoth({ object, now }: View, record: Held): Pick<Outcome, 'record' | 'status'> {
  return { record, ...(object.status?.record && { status: compose(object, { record }, now) }) };
}

/**
 * Whether the annotation can wait until the status is written: a new server is Ready one write sooner, and the mirror has the
 * whole record. The task or the identifier in the annotation still leads to the server.
 */
function canFollow(
  { object, deleting }: View,
  before: ServerRecord,
  { mode, task, failed }: ServerRecord,
  isAvailable: boolean,
): boolean {
  // What the record lost would come back from the annotation.
  if ((before.createFailure ?? before.missingAt) !== undefined || before.failed !== failed) return false;
  if (withoutOpen(before) !== before) return false;
  const leads = mode === 'named' || (mode === 'create' && task !== undefined);
  return isAvailable && leads && !isProvisioned(object.status) && !deleting;
}

/**
 * The next visit brings the annotation in line, when nothing is more urgent (shared/pace.ts); after a named order, it is in line.
 */
function mirroredFirst(next: Outcome, when: Pause): Outcome {
  return { ...without(next, 'record'), when: { ...when, visitAfterMs: 0 } };
}
