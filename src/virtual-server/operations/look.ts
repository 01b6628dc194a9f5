/** Reads the server: whether it is still there, what it is like, and whether it answers. */
import { without } from '../../base/without.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { hasTrait } from '../../api/conditions.ts';
import { HAND_OVER_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { timestamp, UNITS_MS } from '../../base/duration.ts';
import { cut } from '../../base/text.ts';
import type { Server } from '../../provider/types.ts';
import { compose } from '../decision/compose.ts';
import { connectionCondition, type ConnectionSecretState } from '../decision/connection.ts';
import { recognizeFor } from '../decision/identity.ts';
import { delayEndOf, isAskedToCancel, keepsServer } from '../decision/delay.ts';
import { isToExpire, withReadyAt } from '../decision/expiry.ts';
import { takerOf, takerProblem, withRefuted } from '../decision/inputs.ts';
import { withEvidence, withoutFailures, withoutWord, type Evidence } from '../decision/memo.ts';
import { absent, goneByAnnotation, notRecognized, recognized } from '../decision/absence.ts';
import { failed, goOn, goneUnasked, jittered, endVisit, withoutKey } from '../decision/outcome.ts';
import { pauseMs, runsForMs } from '../decision/next-poll.ts';
import { isRunning } from '../../api/server-state.ts';
import { changedFinding, knownKeys, pinned, typesOf, type PinnedKeys } from '../decision/host-keys.ts';
import { reach, sshTarget, type ProbeResult } from '../decision/reach.ts';
import { isProvisioned, serverFields } from '../decision/status.ts';
import type { Facts, Outcome, Operation, ServerAnswer, ShownServer } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { invisible, renamed, unseen, vanished } from '../decision/silent-task.ts';
import { readServer } from './reads.ts';

/** How long a hand-over to an object that does not exist is no reason to worry (ms). */
const TAKER_MS = UNITS_MS.h;

/**
 * `probed`: whether an SSH server answers. `connection`: the result of writing the connection Secret. If spec asks for it.
 * `hostKeys`: which keys of its SSH server are trusted.
 */
type LookedAt = ShownServer & { probed?: ProbeResult; connection?: ConnectionSecretState; hostKeys?: PinnedKeys };

export async function look(
  visit: Visit,
  at: View,
  { record, identifier }: Extract<Operation, { type: 'look' }>,
): Promise<Outcome> {
  const key = await visit.key(at);
  if (!key.ok) return goneUnasked(visit.view()) ?? withoutKey(visit.view(), 'look', key);

  const answer = await readServer(identifier, record.account, key.session, visit.object);
  if (answer.type === 'serverNotFound' && !answer.counts) visit.suspectKey();
  // A server that may be another one gets no check and no Secret: its password does not belong to this object.
  const own = answer.type === 'server' ? recognizeFor('look', visit.view(), record, answer) : undefined;
  const isOwn = answer.type === 'server' && own?.ok === true;
  return afterLook(visit.view(), record, isOwn ? await withFindings(visit, own.record, answer) : answer);
}

async function withFindings(visit: Visit, current: ServerRecord, shown: ShownServer): Promise<LookedAt> {
  const { object, services } = visit;
  const where = sshTarget(object, shown.server);
  const known = knownKeys(object, current, shown.server);
  const probed = where && (await services.probe(where, object.metadata.namespace, typesOf(known)));
  const hostKeys = pinned(object, known, probed, services.timers.now());
  // Only keys that the status holds: if the write of a new one fails, the next check may find another.
  const connection = await services.connections.write(object, shown.server, known);
  return { ...shown, probed, connection, hostKeys };
}

/** What the answer means for the object. Pure. */
export function afterLook(
  at: View,
  record: ServerRecord,
  answer: LookedAt | Exclude<ServerAnswer, ShownServer>,
): Outcome {
  const { object, facts } = at;
  switch (answer.type) {
    case 'failed':
      return goneUnasked(at) ?? failed(at, 'look', answer.error);
    case 'server': {
      const known = recognizeFor('look', at, record, answer);
      if (!known.ok) return notRecognized(at, record, 'look', known);
      const current = withRefuted(object, known.record);
      const isEnding = at.deleting ? !keepsServer(object, current, facts) : isToExpire(object, current, facts);
      if (!isEnding) return seen(at, record, current, answer);
      const next = goOn(
        withEvidence(recognized(facts.memo), { task: { state: 'over', identifier: answer.server.identifier } }),
      );
      return current === record ? next : { ...next, ...inBoth(at, current) };
    }
    case 'serverNotFound': {
      const { task } = facts.memo.evidence;
      if (record.task === undefined || task?.state !== 'silent') return absent(at, record, 'look', answer);
      const gone = goneByAnnotation(at, record);
      if (gone !== undefined) return gone;
      if (!answer.counts) return invisible(at, record, answer.detail);
      if (task.why === 'renamed') return renamed(at, record, task.named);
      return task.why === 'overdue' ? unseen(at, record, task.message) : vanished(at, record);
    }
  }
}

/** Writes the mirror in the same step, or an outdated absence in the mirror would return to the record. */
function inBoth({ object, facts }: View, record: ServerRecord): Pick<Outcome, 'record' | 'status'> {
  return { record, ...(object.status?.record && { status: compose(object, { record }, facts.now) }) };
}

function seen(at: View, known: ServerRecord, current: ServerRecord, found: LookedAt): Outcome {
  const { facts, object } = at;
  const { server, probed, connection, hostKeys = { keys: [], changed: undefined } } = found;
  const { keys, changed } = hostKeys;
  const fields = { ...serverFields(server), ...(keys.length > 0 && { sshHostKeys: [...keys] }) };
  const reached = isRunning(server.status) ? reach(object, current, server, probed, facts.now) : undefined;
  const state = reached?.verdict ?? verdictOf(server);
  const takerMissing = at.deleting ? missingTaker(object, facts) : undefined;
  const verdict = at.deleting ? kept(object, current, facts, takerMissing) : state;
  const available = state.reason === 'Available';
  const record = available ? withReadyAt(object, current, facts) : current;
  const task = { state: 'over', identifier: server.identifier } as const;
  const memo = withEvidence(withoutFailures(withoutWord(recognized(facts.memo))), { task, takerMissing });
  const isBehind =
    connection?.state === 'written' && keys.some((key) => object.status?.sshHostKeys?.includes(key) !== true);
  const pause = pauseAfter(current, verdict, isBehind ? 'behind' : connection?.state, facts);
  const plan = { operation: 'look', afterMs: jittered(pause, facts) } as const;
  const parts = {
    record,
    fields,
    verdict,
    reachable: reached?.reachable,
    hostKey: changed === undefined || changed === 'unknown' ? changed : changedFinding(keys, changed),
    connection: connectionCondition(object, connection),
  };
  const next = endVisit(at, parts, plan, memo, record !== known ? record : undefined);
  return next.record !== undefined && canFollow(at, record, available) ? mirroredFirst(next) : next;
}

/**
 * Whether the annotation can wait until the status is written: a new server is Ready one write sooner, and the mirror has the
 * whole record. The task in the annotation leads to the server all the same.
 */
function canFollow({ object, deleting }: View, { mode, task }: ServerRecord, isAvailable: boolean): boolean {
  return isAvailable && mode === 'create' && task !== undefined && !isProvisioned(object.status) && !deleting;
}

/** The next visit brings the annotation in line, when nothing is more urgent (shared/pace.ts). */
function mirroredFirst(next: Outcome): Outcome {
  return { ...without(next, 'record'), requeueAfterMs: 0 };
}

/** Whatever the server does: from now on, its end is what matters. Its fields in status stay up to date. */
function kept(object: VirtualServer, record: ServerRecord, facts: Facts, missing: Evidence['takerMissing']): Verdict {
  const taker = takerOf(object);
  const server = record.identifier ?? '';
  if (isAskedToCancel(object, record, facts.memo)) {
    const message =
      `The operator has asked the provider to cancel server ${server}. The provider still shows the server, but may cancel it at ` +
      'any time, so no other object can take it over';
    return { reason: 'CancellationUnconfirmed', message };
  }
  const problem = takerProblem(object) ?? (taker === undefined ? undefined : takerObjection(taker, facts, missing));
  if (problem !== undefined) {
    const message =
      `Annotation ${HAND_OVER_ANNOTATION} ${problem}, so server ${server} cannot be handed over. The operator does not cancel the ` +
      'server, which costs money';
    return { reason: 'HandOverRefused', message };
  }
  if (taker !== undefined) {
    const message =
      `This object hands server ${server} over to ${cut(taker, 64)}, and cancels nothing: ${cut(taker, 64)} takes the ` +
      'server over as soon as it exists in this namespace with the same product, image, disk size and SSH keys';
    return { reason: 'HandOverPending', message };
  }
  const { deletionDelay = '' } = object.spec;
  const at = timestamp(delayEndOf(object, record) ?? 0);
  const message =
    `This object was deleted, and its server ${server} runs on for spec.deletionDelay (${deletionDelay}): the operator cancels ` +
    `the server at ${at}`;
  return { reason: 'DeletionDelayed', message };
}

/** Since when the object that is to get the server is known not to exist. */
function missingTaker(object: VirtualServer, { memo, monotonic, handOver }: Facts): Evidence['takerMissing'] {
  const name = takerOf(object);
  if (name === undefined || handOver.taker !== 'missing') return undefined;
  const { takerMissing } = memo.evidence;
  return takerMissing?.name === name ? takerMissing : { name, since: monotonic };
}

function takerObjection(taker: string, { monotonic, handOver }: Facts, missing: Evidence['takerMissing']) {
  const name = cut(taker, 64);
  if (handOver.taker === 'holding') return `names ${name}, which holds another server`;
  const isLong = missing !== undefined && monotonic - missing.since >= TAKER_MS;
  return isLong ? `names ${name}, which has not existed for an hour` : undefined;
}

/** A new server is about to be ready, so it is read again soon; also one whose Secret lacks a key that the status gets now. */
function pauseAfter(
  { attemptedAt }: ServerRecord,
  { reason }: Verdict,
  connection: ConnectionSecretState['state'] | 'behind' | undefined,
  { now, timing }: Facts,
): number {
  if (hasTrait(reason, 'readAtPoll') || connection === 'behind')
    return pauseMs(runsForMs(attemptedAt, now) ?? Infinity, timing);
  return connection === 'failed' ? timing.pollMs : timing.resyncMs;
}

function verdictOf(server: Server): Verdict {
  const { identifier, status = '' } = server;
  if (!isRunning(server.status)) {
    const words = status === '' ? 'no status' : `status "${cut(status, 128)}"`;
    const message =
      `Server ${identifier} exists, but the provider reports ${words}. The operator keeps checking. Start the server in the ` +
      "provider's control panel, or wait";
    return { reason: 'ServerNotRunning', message };
  }
  if (server.ipv6.length === 0 && server.ipv4.length === 0 && server.sshProxy === undefined) {
    return { reason: 'AddressPending', message: `Server ${identifier} is running; the provider shows no address yet` };
  }
  return { reason: 'Available', message: `Server ${identifier} is running` };
}
