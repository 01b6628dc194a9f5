/**
 * Decides when a 404 is believed. A single 404 proves nothing: a read replica may lag, an endpoint may err. Absence
 * needs several denials spread over a grace period, with the account of the record, non-empty lists, and no 200 in
 * between. The counts live in memory: a restart begins again, which only takes longer. Pure.
 */
import { timestamp } from '../../base/timestamp.ts';
import type { Verdict } from '../../controller/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isProvisioned } from './status.ts';
import { wasRequested, type Denials } from './memo.ts';
import type { Facts } from './types.ts';
import { durationText } from '../../base/duration.ts';
import { goneAdvice } from './words.ts';

const NEEDED = 3;
/** A server that was never read with 200 may be slow to appear, so it needs this many grace periods. */
const UNSEEN_PERIODS = 12;

/**
 * Adds one denial of `what` (a server or a task) to the denials in the memo. Denials that come too fast count as one. A
 * gap longer than the grace period restarts the count, since it may hide a 200.
 */
export function denied({ memo, monotonic, timing }: Facts, what: string): Denials {
  const before = memo.evidence.denials?.of === what ? memo.evidence.denials : undefined;
  const isStale = before !== undefined && monotonic - before.lastAt > timing.absenceMs;
  const lastAt = monotonic;
  if (before === undefined || isStale) return { of: what, since: monotonic, counted: 1, countedAt: monotonic, lastAt };
  if (monotonic - before.countedAt < timing.absenceMs / 4) return { ...before, lastAt };
  return { ...before, counted: before.counted + 1, countedAt: monotonic, lastAt };
}

/** How long the denials of the record's server have to last (ms). */
export function graceOf(object: VirtualServer, record: ServerRecord, { memo, timing }: Facts): number {
  const mirror = object.status?.record;
  const isMirrored = mirror?.identifier === record.identifier && isProvisioned(object.status);
  const wasRead = record.fingerprint !== undefined || record.mode === 'adopt' || isMirrored;
  // A DELETE whose answer was lost explains why the server is gone.
  const isExplained = wasRequested(memo, record.identifier);
  return timing.absenceMs * (wasRead || isExplained ? 1 : UNSEEN_PERIODS);
}

export function isProven({ counted, since }: Denials, graceMs: number, { monotonic }: Facts): boolean {
  return counted >= NEEDED && monotonic - since >= graceMs;
}

/** How long until the next check (ms). */
export function pauseOf({ since }: Denials, graceMs: number, { monotonic, timing }: Facts): number {
  const left = since + graceMs - monotonic;
  // The pause grows, but stays short enough that no gap restarts the count.
  const pause = Math.min(Math.max(timing.pollMs, (monotonic - since) / 8), timing.absenceMs / 2);
  return left > 0 ? Math.min(left, pause) : pause;
}

/** The verdict while the absence is unproven. `pauseMs`: until the next check. */
export function unprovenVerdict(
  object: VirtualServer,
  { counted, since }: Denials,
  what: string,
  graceMs: number,
  pauseMs: number,
  facts: Facts,
): Verdict {
  const { now, monotonic } = facts;
  const earliest = timestamp(now + Math.max(0, since + graceMs - monotonic));
  const word = what.startsWith('server ') ? `. ${goneAdvice(object, what.slice('server '.length))}` : '';
  return {
    reason: 'AbsenceUnproven',
    message:
      `The provider answers 404 for ${what}, which may be an error of the provider. The operator has counted ` +
      `${Math.min(counted, NEEDED)} of at least ${NEEDED} such answers, and believes them at ${earliest} at the earliest. ` +
      `Next check in ${durationText(pauseMs)} (at ${timestamp(now + pauseMs)})${word}`,
  };
}
