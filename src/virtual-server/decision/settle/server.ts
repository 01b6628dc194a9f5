/** What reading, adopting or cancelling a server means for its object. Pure. */
import { eventOf, type Verdict } from '../../../controller/conditions.ts';
import { ADOPT_ANNOTATION } from '../../../api/names.ts';
import { unknownIn, type ServerRecord } from '../../../api/record.ts';
import type { VirtualServer } from '../../../api/virtual-server.ts';
import type { Server } from '../../../provider/types.ts';
import { denied, graceOf, isProven, pauseOf, unprovenVerdict, withoutDenials } from '../absence.ts';
import { heldMessage } from '../checks/adoption.ts';
import { adopt } from '../commands.ts';
import { compose } from '../compose.ts';
import { heard, withoutWord, wordOn } from '../confirmation.ts';
import { connectionCondition } from '../connection.ts';
import { isToExpire, withReadyAt } from '../expiry.ts';
import { recognizeFor } from '../doubt.ts';
import { fingerprintOf, type Recognition } from '../identity.ts';
import { saysGone, withRefuted } from '../inputs.ts';
import { goneByWord, missingVerdict, sealed } from './missing.ts';
import { goOn, jittered, rest, retryLater } from './next.ts';
import { isRunning, reach } from '../reach.ts';
import { mergeOrphans, newRecord, settledWith } from '../record.ts';
import { invisible, renamed, unseen, vanished } from './task.ts';
import { isProvisioned, serverFields } from '../status.ts';
import { unconfirmed } from './unconfirmed.ts';
import { cut } from '../../../base/text.ts';
import type { Action, Memo, Next, Outcome } from '../types.ts';
import { withMemo, type View } from '../view.ts';
import {
  definitionDeleting,
  definitionForbidden,
  notVisible,
  resolveAdvice,
  setDefinitionLost,
  unprovenServer,
} from '../words.ts';

export function settleServer(at: View, action: Extract<Action, { type: 'readServer' }>, outcome: Outcome): Next {
  const { object, facts } = at;
  const { record } = action;
  switch (outcome.type) {
    case 'server': {
      const known = recognizeFor('look', at, record, outcome);
      if (!known.ok) return notRecognized(at, record, 'readServer', known);
      const current = withRefuted(object, known.record);
      if (object.metadata.deletionTimestamp === undefined && !isToExpire(object, current, facts))
        return seen(at, record, current, outcome);
      const next = goOn({ ...recognized(facts.memo), taskComplete: action.identifier });
      return current === record ? next : { ...next, ...inBoth(at, current) };
    }
    case 'serverNotFound': {
      const { readInstead } = facts.memo;
      if (record.task === undefined || readInstead === undefined) return absent(at, record, 'readServer', outcome);
      const gone = goneByWord(at, record);
      if (gone !== undefined) return gone;
      if (!outcome.counts) return invisible(at, record, outcome.detail);
      if (readInstead.why === 'renamed') return renamed(at, record, readInstead.named);
      return readInstead.why === 'overdue' ? unseen(at, record, readInstead.message) : vanished(at, record);
    }
    default:
      throw new Error(`outcome ${outcome.type} does not belong to a read`);
  }
}

/** Writes the mirror in the same step, or an outdated absence in the mirror would return to the record. */
function inBoth({ object, facts }: View, record: ServerRecord): Pick<Next, 'record' | 'status'> {
  return { record, ...(object.status?.record && { status: compose(object, { record }, facts.now) }) };
}

/** The memo for a server that exists: without its absence, and without another server in its place. */
function recognized(memo: Memo): Memo {
  const { readInstead: _readInstead, gone: _gone, unrecognized: _unrecognized, ...rest } = withoutDenials(memo);
  return rest;
}

/** The operator shows and uses nothing of a server that may be another one. */
function notRecognized(
  before: View,
  record: ServerRecord,
  action: LookAction,
  { isOther, why, word }: Extract<Recognition, { ok: false }>,
): Next {
  const identifier = record.identifier ?? '';
  const at = withMemo(before, { ...before.facts.memo, unrecognized: identifier });
  const { object, facts, deleting } = at;
  // Either the object's server had counted as gone and another server got its identifier, or your annotation says that
  // it is gone.
  const isGone = (record.missingAt !== undefined && isOther) || saysGone(object, record);
  if (isGone && (deleting || isToExpire(object, record, facts))) return goOn({ ...facts.memo, gone: identifier });
  const pause = isProvisioned(object.status) ? facts.timing.resyncMs : facts.timing.pollMs;
  const plan = { action, afterMs: jittered(pause, facts) };
  const memo = { ...facts.memo, failures: 0 };
  if (record.missingAt !== undefined && isOther)
    return rest(at, { record, verdict: missingVerdict(object, record, why) }, plan, memo);
  if (isGone) return sealed(at, record, plan.afterMs);
  const verdict = { reason: 'IdentityUnproven', message: unprovenServer(object, identifier, why, word) } as const;
  return rest(at, { record, verdict }, plan, memo);
}

/** Both start by reading the server. */
type LookAction = 'readServer' | 'deleteServer';

function seen(at: View, known: ServerRecord, current: ServerRecord, found: Extract<Outcome, { type: 'server' }>): Next {
  const { facts, object } = at;
  const { server, probed, connection } = found;
  const fields = serverFields(server);
  const reached = isRunning(server.status) ? reach(object, current, server, probed, facts.now) : undefined;
  const verdict = reached?.verdict ?? verdictOf(server);
  const available = verdict.reason === 'Available';
  const record = available ? withReadyAt(object, current, facts) : current;
  const memo = withoutWord(recognized(facts.memo));
  const rests = available && connection?.state !== 'failed';
  const pause = rests ? facts.timing.resyncMs : facts.timing.pollMs;
  const plan = { action: 'readServer', afterMs: jittered(pause, facts) } as const;
  return rest(
    at,
    {
      record,
      fields,
      verdict,
      reachable: reached?.reachable,
      connection: connectionCondition(object, connection),
    },
    plan,
    { ...memo, failures: 0, ...(record.identifier !== undefined && { taskComplete: record.identifier }) },
    record !== known ? record : undefined,
  );
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

/**
 * A 404 for the server, from a read or a DELETE: one hint, and proof together with enough others. Your annotation is
 * proof as well, since only you can check with the provider in another way.
 */
function absent(
  at: View,
  record: ServerRecord,
  action: LookAction,
  outcome: Extract<Outcome, { type: 'serverNotFound' }>,
): Next {
  const { object, facts } = at;
  const identifier = record.identifier ?? '';
  const goes = object.metadata.deletionTimestamp !== undefined || isToExpire(object, record, facts);
  const denials = outcome.counts ? denied(facts, `server ${identifier}`) : facts.memo.denials;
  const memo = { ...facts.memo, failures: 0, ...(denials && { denials }) };
  if (goes && outcome.counts && wordOn(memo, record.identifier) !== undefined)
    return goOn({ ...memo, cancelled: identifier });
  const grace = graceOf(object, record, facts);
  const isGone = saysGone(object, record) || (outcome.counts && denials && isProven(denials, grace, facts));
  if (isGone === true && goes) return goOn({ ...memo, gone: identifier });
  const resync = isProvisioned(object.status) ? facts.timing.resyncMs : facts.timing.pollMs;
  if (record.missingAt !== undefined && !goes) {
    const plan = { action, afterMs: jittered(resync, facts) };
    return rest(at, { record, verdict: missingVerdict(object, record) }, plan, memo);
  }
  if (isGone === true) return sealed(withMemo(at, memo), record, jittered(resync, facts));
  if (!outcome.counts || denials === undefined) {
    const pause = goes ? facts.timing.pollMs : resync;
    const message = notVisible(object, identifier, outcome.detail);
    return retryLater(at, action, { record, verdict: { reason: 'ServerNotVisible', message } }, pause);
  }
  const afterMs = pauseOf(denials, grace, facts);
  const verdict = unprovenVerdict(object, denials, `server ${identifier}`, grace, afterMs, facts);
  return rest(at, { record, verdict }, { action, afterMs }, memo);
}

/** The record comes first: the operator shows and writes nothing about the server until this object holds it. */
export function settleAdoption(at: View, action: Extract<Action, { type: 'adopt' }>, outcome: Outcome): Next {
  const { object, facts } = at;
  const { identifier, record: known } = action;
  if (outcome.type === 'server') {
    const { task, attempt, attemptedAt, orphans: others } = known ?? {};
    // If another object follows the same task, its number does not prove that a server is orphaned.
    const isShared = task !== undefined && facts.others.withTask(task, known?.account).length > 0;
    const order = { ...(attempt !== undefined && { attempt }), ...(attemptedAt !== undefined && { attemptedAt }) };
    const orphans = mergeOrphans(others, task === undefined || isShared ? undefined : [{ task, ...order }]);
    const record: ServerRecord = {
      ...(known && unknownIn(known)),
      ...newRecord(object.metadata.uid),
      mode: 'adopt',
      account: outcome.account,
      identifier,
      fingerprint: fingerprintOf(outcome.server),
      ...(orphans && { orphans }),
      ...(known && settledWith(known)),
    };
    const events = [eventOf({ reason: 'ServerAdopted', message: `This object now holds server ${identifier}` })];
    return { ...goOn({ ...recognized(facts.memo), failures: 0, taskComplete: identifier }, { record }), events };
  }
  if (outcome.type === 'held') {
    const message = heldMessage(at, identifier, outcome.holders);
    const parts = { record: known, verdict: { reason: 'IdentifierInUse', message } as const };
    return rest(at, parts, { action: 'adopt', afterMs: jittered(facts.timing.pollMs, facts) });
  }
  if (outcome.type !== 'serverNotFound') throw new Error(`outcome ${outcome.type} does not belong to an adoption`);
  const advice =
    known?.attempt === undefined ? `To correct the annotation, run ${adopt(object)}` : resolveAdvice(object, known);
  const verdict: Verdict = {
    reason: 'ServerNotVisible',
    message:
      `Server ${identifier}, named by annotation ${ADOPT_ANNOTATION}, is not visible with this API key. The operator keeps ` +
      `checking. If the key is wrong, correct the Secret. ${advice}`,
  };
  return retryLater(at, 'adopt', { record: known, verdict }, facts.timing.pollMs);
}

function heldBack(
  object: VirtualServer,
  identifier: string,
  { of, definition }: Extract<Outcome, { type: 'heldBack' }>,
): Verdict {
  if (definition === 'forbidden') return { reason: 'CRDForbidden', message: definitionForbidden(identifier, of) };
  const message =
    of === 'servers' ? definitionDeleting(object, identifier) : setDefinitionLost(object, identifier, definition);
  return { reason: 'CRDDeleting', message };
}

export function settleDelete(at: View, action: Extract<Action, { type: 'deleteServer' }>, outcome: Outcome): Next {
  const { facts } = at;
  const { record, identifier } = action;
  switch (outcome.type) {
    case 'cancelled':
      return goOn({ ...facts.memo, cancelled: identifier });
    case 'serverNotFound':
      return absent(at, record, 'deleteServer', outcome);
    case 'unconfirmed':
      return settleUnconfirmed(at, action, outcome);
    case 'server': {
      const known = recognizeFor('cancel', at, record, outcome);
      const word = wordOn(facts.memo, identifier);
      if (!known.ok && known.isOther && word !== undefined) return goOn({ ...facts.memo, cancelled: identifier });
      if (!known.ok) return notRecognized(at, record, 'deleteServer', known);
      if (word === undefined) throw new Error('a server that was recognized is cancelled at once');
      return unconfirmed(at, record, word, outcome.server);
    }
    case 'heldBack': {
      const plan = { action: 'deleteServer', afterMs: jittered(facts.timing.pollMs, facts) } as const;
      return rest(at, { record, verdict: heldBack(at.object, identifier, outcome) }, plan, {
        ...facts.memo,
        failures: 0,
      });
    }
    default:
      throw new Error(`outcome ${outcome.type} does not belong to a cancellation`);
  }
}

/** A denial confirms nothing if the provider did not show the server before the DELETE either: it may still appear. */
function settleUnconfirmed(
  at: View,
  { record, identifier }: Extract<Action, { type: 'deleteServer' }>,
  { said, shown }: Extract<Outcome, { type: 'unconfirmed' }>,
): Next {
  const { facts } = at;
  if (shown.type === 'serverNotFound')
    return absent(withMemo(at, { ...facts.memo, cancelAsked: identifier }), record, 'deleteServer', shown);
  return unconfirmed(at, record, heard(facts, identifier, said), shown.server);
}
