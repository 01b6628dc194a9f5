/** How long to wait after a call to the provider has failed; a visit that throws waits in the queue (controller/queue.ts). Pure. */
import { backoffDelay } from '../../base/backoff.ts';

const BASE_MS = 1_000;
const BACKOFF = { baseMs: BASE_MS, maxMs: 10 * 60_000, jitter: [0.9, 1.1] } as const;

/** Pause after the n-th failure in a row (n >= 1), in ms: doubling from one second to ten minutes, with jitter of a fifth. */
export function backoffMs(failures: number, jitter: number, atLeastMs = 0): number {
  return Math.max(atLeastMs, Math.round(backoffDelay(failures - 1, BACKOFF, jitter)));
}

/**
 * As `backoffMs`, where the key is at fault: a visit looks for a Secret that was fixed and costs the provider nothing, so
 * it waits no longer than until the next login (0: unknown), and a little more, lest all that share the key come at once.
 */
export function keyPauseMs(failures: number, jitter: number, untilLoginMs = 0): number {
  const pause = backoffMs(failures, jitter);
  if (untilLoginMs === 0) return pause;
  return Math.min(pause, Math.max(BASE_MS, Math.round(untilLoginMs * (1 + 0.1 * jitter))));
}
