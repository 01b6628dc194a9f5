/**
 * Switches the server off or on, makes it dormant or wakes it, or restarts it: one call, which a read of the server in the same
 * visit has shown to be missing. Right before the call, the object is read live. Whatever the provider answers, only later reads
 * tell what came of the call.
 */
import type { Held } from '../../api/record.ts';
import { powerStateOf } from '../../api/server-state.ts';
import { ResponseError, type ProviderError } from '../../provider/error.ts';
import type { Session } from '../../provider/types.ts';
import { decide } from '../decision/decide.ts';
import { withEvidence, type PowerCall, type PowerEvidence } from '../decision/memo.ts';
import { pauseMs } from '../decision/next-poll.ts';
import { askedAt, traitsOf, withOnce, NO_SUCH_CALL } from '../decision/once.ts';
import { endVisit, failed, goOn, jittered, withoutKey } from '../decision/outcome.ts';
import { verdictOf, withCall, withoutDue } from '../decision/power.ts';
import type { Operation, Outcome } from '../decision/types.ts';
import { withMemo, type View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { cameOf, switchServer, type Answered } from './switch.ts';

type Power = Extract<Operation, { type: 'power' }>;
type Due = NonNullable<PowerEvidence['due']>;

/** Undefined if the object is gone. */
export async function power(visit: Visit, at: View, operation: Power): Promise<Outcome | undefined> {
  const key = await visit.key(at);
  if (!key.ok) return withoutKey(visit.view(), 'look', key.error);
  const { session } = key.value;
  if (!(await visit.readLive())) return undefined;

  // The operator decides again on what it has just read: this object or others may have changed since.
  const found = stillDue(visit, at, operation, session);
  if (found === undefined) return goOn(withoutDue(visit.view().memo));
  const { once } = traitsOf(operation.call);
  if (once !== undefined) {
    // The read may have been of an older version, to which another process had not yet noted the call.
    if (askedAt(visit.object, found.record, once) === undefined) return goOn(withoutDue(visit.view().memo));
    // From here on, no process sends this call for the same annotation again.
    const claimed = withOnce(found.record, visit.object, once);
    await visit.commit({ name: operation.type, next: goOn(visit.view().memo, { record: claimed }) });
    if (stillDue(visit, at, operation, session)?.record[once]?.asked !== claimed[once]?.asked)
      return goOn(withoutDue(visit.view().memo));
  }
  const { readAt } = found.due;
  const { identifier } = found.record;
  const maySend = visit.gate(operation.call, identifier, () => visit.mayActOn(readAt));
  const answer = await switchServer(session, identifier, found.due, maySend);
  return afterCall(visit.view(), found.record, operation.call, answer);
}

/** What is due on the newest version of the object; undefined: something else is. */
function stillDue(
  visit: Visit,
  before: View,
  { call, record: { identifier } }: Power,
  { account }: Session,
): { record: Held; due: Due } | undefined {
  const view = visit.view();
  const still = decide(view);
  const { due } = view.memo.evidence.power ?? {};
  const isStill = still.type === 'power' && still.call === call && still.record.identifier === identifier;
  if (!isStill || due?.account !== account || visit.hasChangedSince(before)) return undefined;
  return { record: still.record, due };
}

/** How soon a server that was restarted is read again (ms). */
const RESTARTED_MS = 10_000;

/** What the answer means for the object. `record`: without a claim. Pure. */
function afterCall(at: View, record: Held, call: PowerCall, answer: Answered): Outcome {
  const { once, isRestart } = traitsOf(call);
  const came = cameOf(answer);
  if (!answer.ok && came === 'unsent') return notSent(at, record, call, answer.error);
  const said = answer.ok ? NO_SUCH_CALL : saidBy(answer.error);
  const known = outcomeOf(answer, said);
  const done = once === undefined ? record : withOnce(record, at.object, once, known);
  const memo = withCall(
    at.memo,
    call,
    answer.ok
      ? { state: answer.value }
      : {
          state: came === 'refused' ? 'refused' : 'failed',
          said,
          retryAfterMs: answer.error.retryAfterMs ?? 0,
        },
    at.monotonic,
  );
  const isRestarted = isRestart && known.answer === 'Accepted';
  const boot = { identifier: record.identifier, since: at.monotonic };
  const next = ended(
    withMemo(at, isRestarted ? withEvidence(memo, { boot }) : memo),
    done,
    call,
    isRestarted ? RESTARTED_MS : pauseMs(0, at.timing),
    once === undefined ? undefined : done,
  );
  return answer.ok ? next : { ...next, error: answer.error };
}

/** What the record notes of a call that is sent once. */
function outcomeOf(answer: Answered, said: string): { answer?: 'Accepted' | 'Refused'; said?: string } {
  if (answer.ok) return answer.value === 'accepted' ? { answer: 'Accepted' } : { answer: 'Refused', said };
  return cameOf(answer) === 'unclear' ? {} : { answer: 'Refused', said };
}

/** The same call may be sent again, by whatever process. */
function notSent(at: View, record: Held, call: PowerCall, error: ProviderError): Outcome {
  const isClaimed = traitsOf(call).once !== undefined;
  if (error.code === 'PROVIDER_WITHHELD') {
    const memo = withoutDue(at.memo);
    return ended(withMemo(at, memo), record, call, jittered(at.timing.pollMs, at), isClaimed ? record : undefined);
  }
  const { retryAfterMs = 0 } = error;
  const memo = withCall(at.memo, call, { state: 'failed', said: saidBy(error), retryAfterMs }, at.monotonic);
  return failed(withMemo(at, memo), 'look', error, isClaimed ? record : undefined);
}

/** `written`: the record, if it has changed. */
function ended(at: View, record: Held, call: PowerCall, afterMs: number, written: Held | undefined): Outcome {
  const { status } = at.object.status?.serverStatus === undefined ? {} : { status: at.object.status.serverStatus };
  const shown = { identifier: record.identifier, status, state: powerStateOf(status) };
  const verdict = traitsOf(call).isRestart ? undefined : verdictOf(at, shown, at.memo.evidence.power);
  return endVisit(at, { record, verdict }, { operation: 'look', afterMs }, at.memo, written);
}

const saidBy = (error: ProviderError): string =>
  error instanceof ResponseError && error.said !== '' ? error.said : error.message;
