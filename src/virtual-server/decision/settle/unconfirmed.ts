/** A server that the provider still shows after the documented 200 to a DELETE. Pure. */
import type { Verdict } from '../../../controller/conditions.ts';
import type { ServerRecord } from '../../../api/record.ts';
import type { VirtualServer } from '../../../api/virtual-server.ts';
import { durationText } from '../../../base/duration.ts';
import { cut } from '../../../base/text.ts';
import { timestamp } from '../../../base/timestamp.ts';
import type { Server } from '../../../provider/types.ts';
import { withoutDenials } from '../absence.ts';
import { patchSpec, retainedSpec } from '../commands.ts';
import type { CancelWord, Facts, Next } from '../types.ts';
import type { View } from '../view.ts';
import { rest } from './next.ts';

/** Waits and asks again. A short lag is no reason for a Warning, so the reason follows after a poll interval. */
export function unconfirmed(at: View, record: ServerRecord, word: CancelWord, server: Server): Next {
  const { facts, deleting } = at;
  const afterMs = facts.timing.pollMs;
  const calm: Verdict = { reason: 'Deleting', message: stillShown(word, server, afterMs, facts) };
  const isLag = facts.monotonic - word.since < facts.timing.pollMs;
  const verdict = isLag ? deleting && calm : warning(at.object, word, server, afterMs, facts);
  const memo = { ...withoutDenials(facts.memo), failures: 0, cancelAnswered: word };
  return rest(at, { record, ...(verdict !== false && { verdict }) }, { action: 'deleteServer', afterMs }, memo);
}

function stillShown(
  { identifier, said }: CancelWord,
  { status = '' }: Server,
  afterMs: number,
  { now }: Facts,
): string {
  const state = status === '' ? '' : ` (status "${cut(status, 128)}")`;
  return (
    `The provider answered 200 ("${cut(said, 128)}") to the cancellation of server ${identifier}, but still shows ` +
    `the server${state}. Next check in ${durationText(afterMs)} (at ${timestamp(now + afterMs)})`
  );
}

function warning(object: VirtualServer, word: CancelWord, server: Server, afterMs: number, facts: Facts): Verdict {
  const keep = patchSpec(object, retainedSpec(object));
  const isDeleted = object.metadata.deletionTimestamp !== undefined;
  const release = isDeleted ? 'To release this object and keep the server, run' : 'To keep the server, run';
  return {
    reason: 'CancellationUnconfirmed',
    message:
      `${stillShown(word, server, afterMs, facts)}. The server still costs money, and the operator keeps asking. If this lasts, cancel ` +
      `the server in the provider's control panel. ${release} ${keep}`,
  };
}
