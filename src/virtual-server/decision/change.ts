/**
 * How a server that was just read differs from spec in what can be changed in place, and what to do about it: one step at a
 * time, and the record notes beforehand what must survive a crash. Pure.
 */
import { requestsIn, type Cost } from '../../api/change-requests.ts';
import type { Held, RecordedChange, RecordedTries } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isRunning, powerStateOf } from '../../api/server-state.ts';
import { timestamp } from '../../base/duration.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import { cut, ended } from '../../base/text.ts';
import { without } from '../../base/without.ts';
import type { Finding, Verdict } from '../../controller/conditions.ts';
import type { Server } from '../../provider/types.ts';
import {
  allDifferences,
  differencesOf,
  fieldsOf,
  isShown,
  keyOfChange,
  resizeIn,
  resizes,
  wantedText,
  type FieldChange,
  type Value,
} from './change-fields.ts';
import { INEFFECTIVE, REQUESTS_MS, settled } from './change-requests.ts';
import { keepsServer } from './delay.ts';
import type { Changing, SeenChange } from './memo.ts';
import { cutSaid } from './sentences.ts';
import type { View } from './view.ts';

export type ChangeStep =
  /** Send these changes. */
  | { do: 'send'; changes: FieldChange[] }
  /** Shut the server down to make these changes; the record notes `change` first. No changes: only to start it again. */
  | { do: 'stop'; changes: FieldChange[]; change: RecordedChange }
  /** Start the server; the record notes `change` first. */
  | { do: 'start'; change: RecordedChange };

export interface Course {
  /** The next call; undefined: none is due. */
  step?: ChangeStep;
  /** What the object says while server and spec differ. */
  finding?: Finding | undefined;
  /** The record with what this read has shown of the change. */
  record: Held;
}

/** For how long a server that was asked to shut down may take (ms). After that it needs you. */
const SHUTDOWN_MS = 10 * 60_000;
/** For so long after the operator has changed its mind, a server that was asked to shut down may still do so (ms). */
const LATE_SHUTDOWN_MS = 15 * 60_000;
/** How soon reads show a change that was accepted, or it is sent again (ms). */
const SHOWN_MS = 2 * 60_000;

/** Shutdowns for what spec asks for. */
const MOST_STOPS = 3;
/** How often the provider may take back one field for another, for what spec asks for. */
const MOST_TAKEN_BACK = 3;
/** Requests in a row to shut down that were not accepted. */
const MOST_ASKS = 8;
const RUNS_AGAIN = 'the server was asked at least three times to shut down for it, and runs again or still';
const TAKEN_BACK = 'each time the provider makes a change, it takes another one back';
const WORN_OUT = 'the server was shut down three times for it, and still differs';

const isOff = (status: string | undefined): boolean => powerStateOf(status) === 'off';

/** No word that tells what the server does. It may be off. */
const isUnclear = (status: string | undefined): boolean => powerStateOf(status) === 'unknown';

/** A server that should be off is not started for a change, nor shut down: that is the matter of `spec.power`. */
export const staysOff = ({ spec: { power } }: VirtualServer): boolean => power === 'Off' || power === 'Dormant';

type Changed = Pick<Held, 'change' | 'identifier'>;

/** What the record has of a change of the server that it names. */
export function changeIn(record: Changed): RecordedChange | undefined {
  return isSameIdentifier(record.change?.identifier, record.identifier) ? record.change : undefined;
}

/** True if the operator has shut the server down for a change, or was about to, and has to start it again. */
export const isStoppedForChange = (record: Held): boolean => changeIn(record)?.phase !== undefined;

/** True if a server that the operator has stopped must run before its object goes. */
export const isToRunFirst = (view: View, record: Held): boolean =>
  isStoppedForChange(record) &&
  !staysOff(view.object) &&
  view.deleting &&
  (view.object.spec.deletionPolicy === 'Retain' || keepsServer(view, record));

/** The next step with a server that was just read. Whatever has failed is not tried again before its pause has ended. */
export function courseOf(at: View, record: Held, server: Server): Course {
  const course = courseBy(at, record, server);
  const isHeldBack = (changingOf(at, record)?.retryAt ?? -Infinity) > at.monotonic;
  return isHeldBack ? without<Course, 'step'>(course, 'step') : course;
}

function courseBy(at: View, before: Held, server: Server): Course {
  const record = settledFor(at, before, server);
  const changes = at.deleting ? [] : differencesOf(at.object, server);
  const known = changeIn(record);
  const about = { at, record, server, changes, known };
  // If you switch it off, or have made it dormant, you decide from now on whether it runs.
  const isTakenOver = staysOff(at.object) || server.isDormant === true;
  if (known?.phase !== undefined && isTakenOver) {
    const change = without(unreserved(known), 'phase', 'stoppedAt', 'wasOff');
    return steady({ ...about, record: { ...record, change }, known: change });
  }
  if (known?.phase === 'start') return started(about, known);
  return known?.phase === 'stop' ? stopped(about, known) : steady(about);
}

interface About {
  at: View;
  record: Held;
  server: Server;
  changes: FieldChange[];
  known: RecordedChange | undefined;
}

/** What this process remembers of the change of the server. */
export function changingOf({ memo }: View, { identifier }: Held): Changing | undefined {
  const { change } = memo.evidence;
  return change?.identifier === identifier ? change : undefined;
}

/** What this process knows about what the record has of the change; undefined: it has nothing. */
export function seenIn(at: View, record: Held): SeenChange | undefined {
  const note = changeIn(record);
  if (note === undefined) return undefined;
  const { change, phase = '', stoppedAt = '', acceptedAt = '', refused } = note;
  const isRefused = phase === '' && refused !== undefined;
  const state = `${phase} ${stoppedAt} ${acceptedAt}${isRefused ? 'refused' : ''}`;
  const before = changingOf(at, record)?.seen;
  const known = before?.change === change ? before : undefined;
  if (known?.state === state) return known;
  // Another process may have asked for the shutdown just now.
  const { acceptedSince, lostStopAt } = known ?? { lostStopAt: phase === '' ? undefined : at.monotonic };
  return {
    change,
    state,
    at: at.monotonic,
    acceptedSince: acceptedAt === '' ? undefined : (acceptedSince ?? at.monotonic),
    lostStopAt,
  };
}

/** What this process knows once it has asked for the shutdown that the record notes. `lost`: it may still arrive. */
export function askedIn(at: View, record: Held, { isLost }: { isLost: boolean }): SeenChange | undefined {
  const [seen, before] = [seenIn(at, record), changingOf(at, record)?.seen];
  if (seen === undefined) return undefined;
  const earlier = before?.change === seen.change ? before.lostStopAt : undefined;
  return { ...seen, lostStopAt: isLost ? at.monotonic : earlier };
}

/** For how long the record has not changed, as far as this process knows (ms). */
function ageOf(at: View, record: Held): number {
  const { monotonic } = at;
  return monotonic - (seenIn(at, record)?.at ?? monotonic);
}

export const hasPrice = ({ price, isUnpriced }: Cost): boolean => price !== undefined || isUnpriced === true;

/** Shutdowns no longer reserve room for it. */
export const unreserved = (change: RecordedChange): RecordedChange => without(change, 'price', 'isUnpriced');

/** The note of a change that was not made, and is not sent again. */
export const refusedFor = (change: RecordedChange, refused: string): RecordedChange => ({
  ...unreserved(change),
  refused,
});

/** How often the operator has tried to make the server what spec asks for. */
export function triesIn({ object }: View, { identifier, tries }: Held): RecordedTries {
  const wanted = wantedText(object);
  const isCurrent = isSameIdentifier(tries?.identifier, identifier) && tries?.wanted === wanted;
  return isCurrent ? tries : { identifier, wanted, stops: 0, takenBack: 0 };
}

/**
 * The record with one more shutdown, unless it counts already because the one before had no answer. Whatever happens to this
 * process, the next one knows how often the server may have been shut down.
 */
export function withStop(at: View, record: Held): Held {
  const tries = triesIn(at, record);
  if (tries.stops > 0 && changingOf(at, record)?.isCounted === true) return record;
  return { ...record, tries: { ...tries, stops: tries.stops + 1 } };
}

/** The record with one more change that takes the one before back, if this is one. */
export function withTakenBack(at: View, record: Held, changes: readonly FieldChange[]): Held {
  if (!isTakenBack(changeIn(record), changes)) return record;
  const tries = triesIn(at, record);
  return { ...record, tries: { ...tries, takenBack: tries.takenBack + 1 } };
}

/** True if the provider has made the change, and the server differs now in a field in which it did not before. */
function isTakenBack(known: RecordedChange | undefined, changes: readonly FieldChange[]): boolean {
  if (known?.acceptedAt === undefined || known.refused !== undefined) return false;
  const sent = fieldsOf(known.change);
  return sent !== undefined && changes.some(({ field }) => !sent.has(field));
}

/** No change is under way that the server was stopped for. */
function steady(about: About): Course {
  const { at, record, server, changes, known } = about;
  const policy = at.object.spec.changePolicy ?? 'Never';
  if (policy === 'Never' && !at.deleting) return leftAsItIs(about);
  const waits = at.deleting ? undefined : resizeIn(server);
  if (changes.length === 0 && waits === undefined) return { record: without(record, 'change') };
  const isSame = known !== undefined && (changes.length === 0 || isAbout(known, changes));
  const isOwn = isSame && known.acceptedAt !== undefined && known.refused === undefined && resizes(known.change);
  if (waits !== undefined && (isOwn || changes.length === 0)) {
    const isAllowed = policy === 'AllowStop' && !staysOff(at.object);
    const mayRestart =
      isAllowed && isOwn && known.isRestarted !== true && isRunning(server.status) && !isWornOut(at, record);
    const finding = restartPending(waits, mayRestart, about);
    if (!mayRestart) return { record, finding };
    const change: RecordedChange = { ...known, phase: 'stop', stoppedAt: timestamp(at.now), isRestarted: true };
    return { record, finding, step: { do: 'stop', changes: [], change } };
  }
  const noted = { ...record, change: newChange(about, keyOfChange(changes)) };
  const blocked = blockedBy(about);
  const isImpossible = changes.some(({ problem }) => problem !== undefined);
  if (blocked !== undefined) return { record: isImpossible ? noted : record, finding: blocked };
  if (server.isDormant === true) return { record: noted, finding: changedLater(changes, about) };
  const rest = changes.filter(({ needsOff }) => needsOff);
  const isStop = policy === 'AllowStop' && rest.length > 0;
  const sent = isStop ? changes : changes.filter(({ needsOff }) => !needsOff);
  if (sent.length === 0) return { record: noted, finding: stopRequired(changes, about) };
  const finding = changing(sent, about);
  const key = keyOfChange(sent);
  if (isStop && !isOff(server.status)) {
    const begun = without(newChange(about, key), 'acceptedAt');
    const change = { ...begun, phase: 'stop', stoppedAt: timestamp(at.now) } as const;
    const isDue = isRunning(server.status) && !staysOff(at.object);
    // While the server was off, the provider has not shown what differs, or one field excludes another.
    if (isDue && isWornOut(at, record)) return givenUp(about, refusedFor(newChange(about, key), WORN_OUT));
    return isDue ? { record, finding, step: { do: 'stop', changes: sent, change } } : { record, finding };
  }
  const { acceptedSince = at.monotonic } = seenIn(at, record) ?? {};
  if (known?.acceptedAt !== undefined && known.change === key && at.monotonic - acceptedSince > REQUESTS_MS) {
    return givenUp(about, { ...known, refused: INEFFECTIVE });
  }
  if (isTakenBack(known, sent) && triesIn(at, record).takenBack >= MOST_TAKEN_BACK)
    return givenUp(about, refusedFor(newChange(about, key), TAKEN_BACK));
  if (known?.change === key && !isToRepeat(about, known)) return { record, finding };
  return { record, finding, step: { do: 'send', changes: sent } };
}

/** This change is not sent again. */
function givenUp(about: About, change: RecordedChange): Course {
  const record = { ...about.record, change };
  return { record, finding: blockedBy({ ...about, record, known: change }) };
}

/** The record without requests that are over. What was accepted, and had no effect in all that time, is not sent again. */
function settledFor(at: View, before: Held, server: Server): Held {
  const record = settled(at, before, server);
  const change = changeIn(record);
  const isAccepted = change?.acceptedAt !== undefined && change.refused === undefined;
  if (record === before || !isAccepted || isShown(change.change, server)) return record;
  return { ...record, change: { ...change, refused: INEFFECTIVE } };
}

/** True if the server was shut down as often as it may be for what spec asks for. */
const isWornOut = (at: View, record: Held): boolean =>
  triesIn(at, record).stops >= MOST_STOPS && changingOf(at, record)?.isCounted !== true;

/** The server shuts down for the change, or is off. */
function stopped(about: About, known: RecordedChange): Course {
  const { at, record, server, changes } = about;
  const isWanted = at.object.spec.changePolicy === 'AllowStop' && !at.deleting;
  const isRestart = known.isRestarted === true;
  const blocked = isRestart ? undefined : blockedBy(about);
  const finding = blocked ?? changing(changes, about);
  const isOver = isRestart ? resizeIn(server) === undefined && isRunning(server.status) : changes.length === 0;
  if (!isWanted || blocked !== undefined || isOver) return startedAgain(about, known, finding);
  const { problem, isAsked, failedStops = 0 } = changingOf(at, record) ?? {};
  // Whatever was accepted before the shutdown is sent again.
  const isSent = !isRestart && known.acceptedAt !== undefined;
  // A server does not stay off until there is room in a limit.
  if (problem?.isLimit === true && !isSent && !isRestart) {
    // Before it was off, the change has cost nothing, and waits for room.
    const isUntouched = !isOff(server.status);
    const kept = isUntouched ? known : refusedFor({ ...known, change: keyOfChange(changes) }, cutSaid(problem.said));
    return startedAgain(about, kept, finding);
  }
  if (isSent) return ageOf(at, record) > SHOWN_MS ? startedAgain(about, known, finding) : { record, finding };
  if (!isOff(server.status)) {
    const isLate = ageOf(at, record) > SHUTDOWN_MS;
    if (isLate && isUnclear(server.status)) {
      const said = `after the shutdown, the server has the status "${cut(server.status ?? '', 64)}", which may not mean off`;
      return startedAgain(about, refusedFor(known, said), finding);
    }
    const change: RecordedChange = { ...known, stoppedAt: timestamp(at.now) };
    const isToAsk = isRunning(server.status) && isAsked !== true;
    if (isToAsk && isWornOut(at, record)) return startedAgain(about, refusedFor(known, RUNS_AGAIN), finding);
    // Each of them may have shut it down, and the next one may do so again.
    const isHopeless = isToAsk && failedStops >= MOST_ASKS;
    // Nothing was sent, and nothing will be before you act.
    const idle: Held = { ...record, change: unreserved(known) };
    if (isHopeless) return { record: idle, finding: shutdownFailed(about) };
    if (isToAsk) return { record, finding, step: { do: 'stop', changes: isRestart ? [] : changes, change } };
    return isLate ? { record: idle, finding: shutdownIgnored(known, about) } : { record, finding };
  }
  if (isRestart) return startedAgain(about, known, finding);
  return { record, finding, step: { do: 'send', changes } };
}

/** The server that was stopped is to run. One that runs may still shut down. */
function startedAgain(about: About, known: RecordedChange, finding: Finding): Course {
  const { record, server } = about;
  // The provider makes the change only while the server is off.
  const isDone = known.isRestarted === true ? resizeIn(server) === undefined : known.acceptedAt !== undefined;
  const wasOff = isOff(server.status) || isDone;
  const change: RecordedChange = { ...unreserved(known), phase: 'start', ...(wasOff && { wasOff }) };
  if (!isRunning(server.status)) return { record, finding, step: { do: 'start', change } };
  return started({ ...about, record: { ...record, change }, known: change }, change);
}

/** The server should run again. */
function started(about: About, known: RecordedChange): Course {
  const { at, record, server, changes } = about;
  const finding = changing(changes, about);
  if (isRunning(server.status)) {
    if (mayStillStop(at, record, known)) return { record, finding };
    const over = without(known, 'phase', 'stoppedAt', 'wasOff');
    const isFruitless =
      known.wasOff === true &&
      over.acceptedAt !== undefined &&
      over.refused === undefined &&
      changes.some(({ needsOff }) => needsOff);
    const isSame = isFruitless && over.change === keyOfChange(changes);
    const kept = isSame ? { ...over, refused: INEFFECTIVE } : over;
    return courseBy(at, { ...record, change: kept }, server);
  }
  if (isOff(server.status)) return { record, finding, step: { do: 'start', change: { ...known, wasOff: true } } };
  // Nothing is lost if the server runs: the provider refuses the call.
  return isUnclear(server.status) ? { record, finding, step: { do: 'start', change: known } } : { record, finding };
}

/** Whether the server may still shut down as this process, or one before it, has asked. */
function mayStillStop(at: View, record: Held, { wasOff }: RecordedChange): boolean {
  if (wasOff !== true) return ageOf(at, record) < LATE_SHUTDOWN_MS;
  const { lostStopAt = -Infinity } = seenIn(at, record) ?? {};
  return at.monotonic - lostStopAt < Math.max(at.timing.takeoverMs, LATE_SHUTDOWN_MS);
}

/** The note of a change that begins or continues. It keeps that the server is stopped. */
export function newChange({ at, record, known }: Pick<About, 'at' | 'record' | 'known'>, key: string): RecordedChange {
  if (known?.change === key) return known;
  const kept = known && without(unreserved(known), 'acceptedAt', 'refused', 'isUnavailable', 'isRestarted');
  return { ...kept, identifier: record.identifier, change: key, since: timestamp(at.now) };
}

/** With growing pauses: as long as this process has tried it so far. */
function isToRepeat({ at, record }: About, { acceptedAt }: RecordedChange): boolean {
  const { at: last = at.monotonic, acceptedSince = last } = seenIn(at, record) ?? {};
  return acceptedAt === undefined || at.monotonic >= last + Math.max(SHOWN_MS, last - acceptedSince);
}

/**
 * The policy forbids changes. A change that was to be made and is not done stays one, or a set would take its member for updated. It
 * is tried again once the policy allows it.
 */
function leftAsItIs(about: About): Course {
  const { at, record, server, known } = about;
  const left = (known ?? changingOf(at, record)) ? allDifferences(at.object, server) : [];
  if (left.length === 0) return { record: without(record, 'change') };
  const message =
    `Server ${record.identifier} differs from spec: ${changesText(left)}. The operator changes nothing, because ` +
    'spec.changePolicy is Never';
  // What is refused may be made all the same while a request may have an effect, and is not sent again before.
  if (known !== undefined && requestsIn(record) !== undefined) {
    const refused = known.refused === undefined ? undefined : blockedBy({ ...about, changes: left });
    return { record, finding: refused ?? { reason: 'ChangeRefused', message } };
  }
  const change = known && without(known, 'refused', 'acceptedAt', 'isUnavailable');
  return {
    record: { ...without(record, 'tries'), ...(change && { change }) },
    finding: { reason: 'ChangeRefused', message },
  };
}

const textOf = (value: Value): string => (value === '' ? 'none' : cut(String(value), 64));

const changesText = (changes: readonly FieldChange[]): string =>
  changes.map(({ field, from, to }) => `${field} from ${textOf(from)} to ${textOf(to)}`).join(', ');

const arrows = (changes: readonly FieldChange[]): string =>
  changes.map(({ field, from, to }) => `${field} ${textOf(from)} → ${textOf(to)}`).join(', ');

function changing(changes: readonly FieldChange[], { at, record, known, server }: About): Finding {
  const { problem, isAsked } = changingOf(at, record) ?? {};
  if (problem?.isLimit === true) return { reason: 'ChangeLimited', message: problem.said };
  const what =
    changes.length === 0 ? `server ${record.identifier}` : `server ${record.identifier} (${arrows(changes)})`;
  const said = problem === undefined ? [] : [ended(problem.said)];
  const does = known?.isRestarted === true ? `The operator restarts ${what}` : `The operator changes ${what}`;
  const message = ((): string => {
    if (known?.phase === 'start')
      return `The operator starts server ${record.identifier} again, which it had shut down for ${reasonOf(known)}`;
    if (known?.phase === 'stop' && !isOff(server.status) && problem !== undefined && isAsked !== true)
      return `${does}. It asks the server again to shut down`;
    if (known?.phase === 'stop' && !isOff(server.status))
      return `${does}. It asked the server to shut down at ${known.stoppedAt ?? ''}, and waits until it is off`;
    if (known?.acceptedAt !== undefined && known.change === keyOfChange(changes))
      return `${does}. The provider accepted that at ${known.acceptedAt}, but does not show it yet`;
    return does;
  })();
  return { reason: 'Changing', message: [...said, message].join(' ') };
}

function changedLater(changes: readonly FieldChange[], { record }: About): Finding {
  const message = `Server ${record.identifier} differs from spec: ${changesText(changes)}. The server is dormant. The operator changes it after it has woken up`;
  return { reason: 'Changing', message };
}

function stopRequired(changes: readonly FieldChange[], { record, server }: About): Finding {
  const while_ = isRunning(server.status) ? ' while it runs' : '';
  const message =
    `Server ${record.identifier} differs from spec: ${changesText(changes)}. The provider does not change that${while_}, and ` +
    'spec.changePolicy is Online, so the operator changes nothing';
  return { reason: 'StopRequired', message };
}

/** What the server was shut down for. */
const reasonOf = ({ isRestarted }: RecordedChange): string => (isRestarted === true ? 'a restart' : 'a change');

/** Without changes, the server restarts for a resize that waits. */
const purposeOf = (changes: readonly FieldChange[]): string =>
  changes.length === 0 ? 'a restart' : `a change (${changesText(changes)})`;

const shutDownYourself = (changes: readonly FieldChange[]): string =>
  `Shut the server down from inside; the operator then ${changes.length === 0 ? '' : 'changes it, and '}starts it again`;

function shutdownIgnored({ stoppedAt = '' }: RecordedChange, { record, changes }: About): Finding {
  const message =
    `The operator asked server ${record.identifier} at ${stoppedAt} to shut down for ${purposeOf(changes)}, but the server is ` +
    `not off. The operator never switches a server off by force. ${shutDownYourself(changes)}`;
  return { reason: 'StopRequired', message };
}

function shutdownFailed({ at, record, changes }: About): Finding {
  const { problem } = changingOf(at, record) ?? {};
  const why = problem === undefined ? [] : [ended(problem.said)];
  const message =
    `Server ${record.identifier} has to be off for ${purposeOf(changes)}, but the last ${MOST_ASKS} requests to shut it down failed. ` +
    [...why, 'The operator has stopped asking'].join(' ') +
    `. ${shutDownYourself(changes)}`;
  return { reason: 'StopRequired', message };
}

function restartPending(waits: string, mayRestart: boolean, { record }: About): Finding {
  const message = `The provider resizes server ${record.identifier} when the server starts the next time: ${waits}`;
  const then = mayRestart ? 'The operator restarts it' : 'The operator does not restart it';
  return { reason: 'RestartPending', message: `${message}. ${then}` };
}

/** Whether the operator changes nothing of this server: a value is impossible, or the provider has refused just this change. */
export function changesNothing(object: VirtualServer, record: Changed, server: Server): boolean {
  return blockedBy({ changes: differencesOf(object, server), known: changeIn(record), record }) !== undefined;
}

/** Why these changes are not sent. */
function blockedBy({
  changes,
  known,
  record,
}: Pick<About, 'changes' | 'known'> & { record: Changed }): Finding | undefined {
  const impossible = changes.find(({ problem }) => problem !== undefined);
  const differs = `Server ${record.identifier} differs from spec: ${changesText(changes)}`;
  if (impossible?.problem !== undefined)
    return {
      reason: 'ChangeRefused',
      message: `${differs}. The operator changes nothing, because ${impossible.problem}`,
    };
  if (known === undefined || !isAbout(known, changes)) return undefined;
  if (known.isUnavailable === true) {
    const message = `${differs}. The provider has no call to change a server`;
    return { reason: 'ChangeUnavailable', message };
  }
  if (known.refused === undefined) return undefined;
  return {
    reason: 'ChangeRefused',
    message: `${differs}. The operator does not send this change again: ${known.refused}`,
  };
}

/** Whether the note is about what would be sent now, with or without what needs the server off. */
function isAbout({ change }: RecordedChange, changes: readonly FieldChange[]): boolean {
  return [changes, changes.filter(({ needsOff }) => !needsOff)].some((sent) => keyOfChange(sent) === change);
}

/** What Ready says while the operator keeps the server off; undefined: it does not. */
export function stoppedVerdict(record: Held): Verdict | undefined {
  const change = changeIn(record);
  if (change?.phase === undefined) return undefined;
  const message = `The operator has shut server ${record.identifier} down for ${reasonOf(change)}, and starts it again after that`;
  return { reason: 'ServerNotRunning', message };
}
