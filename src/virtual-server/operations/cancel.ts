/**
 * Cancels the server of an object that is being deleted or has expired. Right before the DELETE, the server,
 * the object and the definitions are read live, so that no cached state cancels a server. Right after it, the server is
 * read again, since the provider's word alone proves nothing.
 */
import type { ReadyReason } from '../../api/conditions.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { SERVER_DEFINITION, SET_DEFINITION, SET_KIND } from '../../api/names.ts';
import { isNamed, type Held } from '../../api/record.ts';
import { durationText, timestamp } from '../../base/duration.ts';
import { saysCancelled, saysDone } from '../../base/cancelled.ts';
import { cut, ended } from '../../base/text.ts';
import { isUnreadable } from '../../kube/failing-reads.ts';
import type { DefinitionState } from '../kube.ts';
import { ResponseError, answerOf, isProviderError, mayHaveActed, type ProviderError } from '../../provider/error.ts';
import type { Server } from '../../provider/types.ts';
import { isInDoubt, isSameAccount, recognizeFor } from '../decision/identity.ts';
import { decide } from '../decision/decide.ts';
import {
  endOf,
  withEvidence,
  withoutDenials,
  withoutFailures,
  answeredCancel,
  type AnsweredCancel,
  type End,
  type Memo,
} from '../decision/memo.ts';
import { RECHECK_MS } from '../decision/next.ts';
import { absent, notRecognized } from '../decision/absence.ts';
import { isUnguessable } from '../decision/named.ts';
import { failed, goOn, goneUnasked, jittered, endVisit, waited, withoutKey } from '../decision/outcome.ts';
import { withoutSilence } from '../decision/silent-task.ts';
import type { Outcome, Operation, ServerAnswer, ShownServer } from '../decision/types.ts';
import { accountOf, withMemo, type View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { lostToAnother } from './identifier-taken.ts';
import { readAgain, readServer } from './reads.ts';
import { unlessCancelled } from './shown-cancelled.ts';
import { isRunning } from '../../api/server-state.ts';
import { NEVER_ALIVE, cutSaid } from '../decision/sentences.ts';
import { wasRead, wasSeenAlive } from '../decision/server-status.ts';

type Cancel = Extract<Operation, { type: 'cancel' }>;
/** What a read finds. */
type Found = Exclude<ServerAnswer, { type: 'failed' }>;

/** Undefined if the object is gone. A task that has failed is asked again before the next cancellation. */
export async function cancel(visit: Visit, at: View, operation: Cancel): Promise<Outcome | undefined> {
  const next = await cancelOnce(visit, at, operation);
  return next && { ...next, memo: withoutSilence(next.memo) };
}

async function cancelOnce(visit: Visit, at: View, { record }: Cancel): Promise<Outcome | undefined> {
  const { identifier } = record;
  const key = await visit.key(at);
  if (!key.ok) return goneUnasked(visit.view()) ?? withoutKey(visit.view(), 'cancel', key.error);
  const { session } = key.value;

  // Another server may have the identifier now, so read the server first.
  const read = await readServer(identifier, record.account, session, visit.object);
  const shown = await unlessCancelled(visit, record, read, { session, purpose: 'cancel' });
  const before = visit.view();
  if (shown.type === 'failed') return notCancelled(before, shown.error);
  if (shown.type === 'serverNotFound' && !shown.counts) visit.suspectKey();
  const objection = beforeDelete(before, record, shown);
  if (objection !== undefined) return objection;

  const liveAt = visit.services.timers.monotonic();
  const { handOvers } = visit.services.objects;
  const { uid } = visit.object.metadata;
  // From here to the end of the visit, no other object takes the server over.
  const reservation = handOvers.begin(uid, visit);
  if (reservation === undefined || handOvers.wasTriedWithin(before.timing.takeoverMs, uid, liveAt))
    return waited(before, { afterMs: RECHECK_MS });
  visit.reserves(reservation);
  if (!(await visit.readLive())) return undefined;
  const definition = await readDefinitions(visit);

  // The operator decides again on what it has just read: this object or others may have changed since.
  const view = visit.view();
  const still = decide(view);
  if (visit.hasChangedSince(before) || still.type !== 'cancel' || still.record.identifier !== identifier)
    return goOn(view.memo);
  const newer = beforeDelete(view, still.record, shown);
  if (newer !== undefined) return newer;
  if (definition !== undefined) return heldBack(view, still.record, definition);

  const maySend = visit.gate('cancel', identifier, () => visit.mayActOn(liveAt));
  const sent = await answerOf(session.deleteServer(identifier, maySend));
  if (!sent.ok) return afterRefusal(visit.view(), still.record, shown, sent.error);
  if (shown.type === 'serverNotFound') return afterWord(visit.view(), still.record, shown, sent.value, shown);
  const after = await readAgain(identifier, session);
  return afterWord(visit.view(), still.record, shown, sent.value, after);
}

/** A definition that is being deleted by mistake, or may be, with all its objects. */
interface EndangeredDefinition {
  of: 'servers' | 'sets';
  definition: 'deleting' | 'missing' | Unread;
}

/** The right is missing, or the read keeps failing. */
type Unread = 'forbidden' | { why: string };

/**
 * The definitions are read after the object: the API server marks a definition for deletion before it deletes any object. A
 * deletion of the definition of sets reaches the members of all sets, through the garbage collector. If the deletion of
 * all VirtualServers is allowed, so is that of members.
 */
async function readDefinitions({ object, services: { kube } }: Visit): Promise<EndangeredDefinition | undefined> {
  const servers = await stateOf(kube.getDefinition());
  if (servers === 'deletionAllowed') return undefined;
  if (servers !== 'kept') return { of: 'servers', definition: servers };
  // The garbage collector follows each owner reference, not only the one to a controller.
  const hasSet = object.metadata.ownerReferences?.some(({ kind }) => kind === SET_KIND) === true;
  const sets = hasSet ? await stateOf(kube.getSetDefinition()) : 'kept';
  return sets === 'kept' || sets === 'deletionAllowed' ? undefined : { of: 'sets', definition: sets };
}

async function stateOf(read: Promise<DefinitionState>): Promise<DefinitionState | Unread> {
  try {
    return await read;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return error.code === 'Forbidden' ? 'forbidden' : { why: error.message };
  }
}

/** Why what a read shows permits no DELETE now, and what follows; undefined: it permits one. Pure. */
export function beforeDelete(at: View, record: Held, shown: Found): Outcome | undefined {
  const isTooSoon = isAskedLately(at, record.identifier);
  if (shown.type === 'serverNotFound')
    return mayBeUnseen(at, record, shown) && !isTooSoon ? undefined : absent(at, record, 'cancel', shown);
  const lost = lostToAnother(at, record, shown.server, 'cancel');
  if (lost !== undefined) return lost;
  const known = recognizeFor('cancel', at, record, shown);
  const answered = answeredCancel(at.memo, record.identifier);
  if (known.ok && answered !== undefined && answered.saidBefore !== true && saysCancelled(shown.server.status))
    return goOn(withEvidence(at.memo, { end: { state: 'confirmed', identifier: record.identifier } }));
  if (known.ok)
    return answered !== undefined && isTooSoon ? unconfirmed(at, record, answered, shown.server) : undefined;
  // The provider has said that it cancels the server, and now shows another one.
  if (known.error.isOther && answered !== undefined)
    return goOn(withEvidence(at.memo, { end: { state: 'confirmed', identifier: answered.identifier } }));
  return notRecognized(at, record, 'cancel', known.error);
}

/**
 * A DELETE may find a server that reads do not show yet. This does not apply to a server that was read before: another
 * server may have got its identifier since.
 */
function mayBeUnseen(at: View, record: Held, shown: Found): boolean {
  // Somebody else's order may be on its way under an identifier that you chose.
  if (isNamed(record) && !isUnguessable(record.sent)) return false;
  const { object } = at;
  const { account } = record;
  const isOther = account !== undefined && !isSameAccount(account, accountOf(at));
  const counts = shown.type === 'serverNotFound' && shown.counts;
  return counts && !wasRead(object, record) && !isOther && !isInDoubt(object, at.memo);
}

/** What follows if the provider has not given the documented answer to the DELETE. `shown`: what the read before found. Pure. */
export function afterRefusal(at: View, record: Held, shown: Found, error: ProviderError): Outcome {
  // The server was shown right before, and denials count only without a 200 in between.
  const task = { state: 'over', identifier: record.identifier } as const;
  const memo = shown.type === 'server' ? withEvidence(withoutDenials(at.memo), { task }) : at.memo;
  // An earlier process may have sent the DELETE that counted.
  if (shown.type === 'server' && saysCancelled(shown.server.status) && refusesAgain(error)) {
    const { identifier } = record;
    if (wasSeenAlive(at.object, record)) return goOn(withEvidence(memo, { end: { state: 'confirmed', identifier } }));
    // It may still be in the making, whatever it is called: the next DELETE may cancel it.
    return absent(withMemo(at, memo), record, 'cancel', { ...UNPROVEN, detail: NEVER_ALIVE });
  }
  if (!isProviderError(error, 'PROVIDER_NOT_FOUND')) {
    const { identifier } = record;
    const saidBefore = shown.type === 'server' && saysCancelled(shown.server.status);
    // It may be busy, or cancelled for long: the next DELETE tells, or your word.
    if (saidBefore && isRefusal(error)) {
      const detail = `the provider refuses to cancel it (${cutSaid(error.message)})`;
      return absent(withMemo(at, memo), record, 'cancel', { ...UNPROVEN, detail });
    }
    const evidence = mayHaveActed(error) ? withRequest(memo, identifier, saidBefore) : memo;
    return notCancelled(withMemo(at, evidence), error);
  }
  if (shown.type === 'serverNotFound') return absent(at, record, 'cancel', shown);
  const status = error instanceof ResponseError ? error.status : 404;
  const what = `Cancelling the server failed: the provider answered ${status} for a server that it shows`;
  return notCancelled(withMemo(at, memo), new ResponseError(status, what));
}

const UNPROVEN = { type: 'serverNotFound', counts: false, unlisted: 'no', isCancelled: true } as const;

const REFUSALS = new Set([400, 409, 422]);
const isRefusal = (error: ProviderError): error is ResponseError =>
  error instanceof ResponseError && REFUSALS.has(error.status);

/** Whether a provider that shows the server as cancelled says the same of another DELETE. */
const refusesAgain = (error: ProviderError): boolean =>
  isProviderError(error, 'PROVIDER_NOT_FOUND') || (isRefusal(error) && saysDone(error.said));

/**
 * The outcome after the documented answer with the message `said`. `before`, `after`: what the reads around the DELETE
 * found; undefined: the provider denies the server. Pure.
 */
export function afterWord(
  at: View,
  record: Held,
  before: Found,
  said: string,
  after: ServerAnswer | undefined,
): Outcome {
  const { identifier } = record;
  // A denial confirms nothing if the provider did not show the server before the DELETE either: it may still appear.
  if (before.type === 'serverNotFound')
    return absent(withMemo(at, withRequest(at.memo, identifier)), record, 'cancel', before);
  const saidBefore = saysCancelled(before.server.status);
  const answered = { ...heard(at, identifier, said), ...(saidBefore && { saidBefore }) };
  if (after?.type === 'failed') {
    const memo = withEvidence(at.memo, { denials: undefined, end: answered });
    return notCancelled(withMemo(at, memo), after.error);
  }
  if (after?.type !== 'server' || isConfirmed(at, record, before.server, after))
    return goOn(withEvidence(at.memo, { end: { state: 'confirmed', identifier } }));
  return unconfirmed(at, record, answered, after.server);
}

/** A DELETE was sent, and its answer was lost. The provider's earlier word about the server says more. */
function withRequest(memo: Memo, identifier: string, saidBefore = false): Memo {
  const end: End = { state: 'requested', identifier, ...(saidBefore && { saidBefore }) };
  return endOf(memo, identifier) === undefined ? withEvidence(memo, { end }) : memo;
}

/** A call failed. Your annotation that the server is gone is enough then. */
function notCancelled(at: View, error: ProviderError): Outcome {
  return goneUnasked(at, error) ?? failed(at, 'cancel', error);
}

/** The operator cancels nothing while all objects of a kind are being deleted by mistake, or may be. Pure. */
export function heldBack(at: View, record: Held, { of, definition }: EndangeredDefinition): Outcome {
  const plan = { operation: 'cancel', afterMs: jittered(at.timing.pollMs, at) } as const;
  const memo = withoutFailures(at.memo);
  const [name, kind, objects] =
    of === 'servers'
      ? [SERVER_DEFINITION, 'VirtualServer', 'all VirtualServers']
      : [SET_DEFINITION, 'VirtualServerSet', 'the members of all sets'];
  const held = (reason: ReadyReason, why: string, subject?: string): Outcome => {
    const message = `Server ${record.identifier} is not cancelled, because ${why}`;
    return endVisit(at, { record, verdict: { reason, message, subject } }, plan, memo);
  };
  const doubt = `it cannot rule out that ${objects} are being deleted by mistake`;
  if (definition === 'forbidden')
    return held(
      'CRDForbidden',
      `the operator may not read the CustomResourceDefinition ${name}: ${doubt}. Ask an administrator to apply the ` +
        'ClusterRole vps-operator-definition and its binding. The operator then continues',
    );
  if (typeof definition === 'object') {
    const said = `the operator cannot read the CustomResourceDefinition ${name}, and ${doubt}: ${ended(definition.why)}`;
    return held('CRDForbidden', `${said} The operator retries automatically`);
  }
  // No set has a finalizer, so their definition may be gone at once, and with it the annotation that allows its deletion.
  const isGone = of === 'sets' && definition === 'missing';
  const members = of === 'sets' ? ': the garbage collector deletes the members of all sets' : '';
  const fate = isGone ? 'missing' : 'being deleted';
  const why = `the CustomResourceDefinition ${name} is ${fate}, and with it every ${kind}${members}`;
  return held('CRDDeleting', why, isGone ? undefined : name);
}

/** Waits and asks again. A short lag is no reason for a Warning, so the reason follows after a poll interval. */
function unconfirmed(at: View, record: Held, answered: AnsweredCancel, server: Server): Outcome {
  const { deleting } = at;
  const afterMs = at.timing.pollMs;
  const calm: Verdict = { reason: 'Deleting', message: stillShown(answered, server, afterMs, at) };
  const isLag = at.monotonic - answered.since < at.timing.pollMs;
  const verdict = isLag ? deleting && calm : warning(answered, server, afterMs, at);
  const memo = withEvidence(withoutFailures(at.memo), { denials: undefined, end: answered });
  return endVisit(at, { record, ...(verdict !== false && { verdict }) }, { operation: 'cancel', afterMs }, memo);
}

function stillShown(
  { identifier, said }: AnsweredCancel,
  { status = '' }: Server,
  afterMs: number,
  { now }: View,
): string {
  const state = status === '' ? '' : ` (status "${cut(status, 128)}")`;
  return (
    `The provider answered 200 ("${cut(said, 128)}") to the cancellation of server ${identifier}, but still shows ` +
    `the server${state}. Next check in ${durationText(afterMs)} (at ${timestamp(now + afterMs)})`
  );
}

function warning(answered: AnsweredCancel, server: Server, afterMs: number, at: View): Verdict {
  return {
    reason: 'CancellationUnconfirmed',
    message:
      `${stillShown(answered, server, afterMs, at)}. The server still costs money, and the operator keeps asking. If this lasts, cancel ` +
      "the server in the provider's control panel",
  };
}

/** The provider's word after the documented answer `said` to a DELETE. */
export function heard({ memo, monotonic }: View, identifier: string, said: string): AnsweredCancel {
  return {
    state: 'answered',
    identifier,
    said,
    since: answeredCancel(memo, identifier)?.since ?? monotonic,
    askedAt: monotonic,
  };
}

/** True while the last DELETE is too recent for another one. */
function isAskedLately({ memo, monotonic, timing }: View, identifier: string | undefined): boolean {
  const answered = answeredCancel(memo, identifier);
  return answered !== undefined && monotonic - answered.askedAt < timing.absenceMs / 4;
}

/**
 * Whether what the provider shows after the DELETE confirms its word: a server that is shown as cancelled, that has stopped running, or
 * certainly another one. `before`: the server as it was read right before the DELETE. A server that did not run then shows nothing
 * new, nor does one that the operator had asked to stop.
 */
export function isConfirmed(view: View, record: Held, before: Server, after: ShownServer): boolean {
  const known = recognizeFor('cancel', view, record, after);
  if (!known.ok && known.error.isOther) return true;
  const { status = '' } = after.server;
  // A word that was there before the DELETE tells nothing about it.
  if (saysCancelled(status)) return !saysCancelled(before.status);
  if (wasToStop(view.object, record)) return false;
  return isRunning(before.status) && status.trim() !== '' && !isRunning(status);
}

/** The operator may have shut the server down, or restarted it, before the DELETE. */
const wasToStop = ({ spec }: VirtualServer, { reboot, forceOff, change }: Held): boolean =>
  (spec.power ?? 'On') !== 'On' || (reboot ?? forceOff ?? change?.phase) !== undefined;
