/** When to read a server again that was just read. Pure. */
import { hasTrait } from '../../api/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { Verdict } from '../../controller/conditions.ts';
import type { ConnectionSecretState } from './connection.ts';
import { pauseMs, runsForMs } from './next-poll.ts';
import { jittered } from './outcome.ts';
import type { View } from './view.ts';

/**
 * ms. A new server is about to be ready, so it is read again soon; also one whose connection Secret lacks a host key that the
 * status gets now (`isNewKey`).
 */
export function nextLookMs(
  { attemptedAt }: ServerRecord,
  { reason }: Verdict,
  { connection, isNewKey }: { connection: ConnectionSecretState | undefined; isNewKey: boolean },
  { now, timing, jitter }: View,
): number {
  const isBehind = connection?.state === 'written' && isNewKey;
  if (hasTrait(reason, 'readAtPoll') || isBehind)
    return jittered(pauseMs(runsForMs(attemptedAt, now) ?? Infinity, timing), { jitter });
  return jittered(connection?.state === 'failed' ? timing.pollMs : timing.resyncMs, { jitter });
}
