/** The delay after a failed provider call; visits that throw use the backoff of controller/queue.ts. Pure. */
import { backoffDelay } from '../../base/backoff.ts';

const BASE_MS = 1_000;
const BACKOFF = { baseMs: BASE_MS, maxMs: 10 * 60_000, jitter: [0.9, 1.1] } as const;

/** Delay in ms after the n-th consecutive failure (n >= 1): doubles from one second to ten minutes, with ±10% jitter. */
export function backoffMs(failures: number, jitter: number, atLeastMs = 0): number {
  return Math.max(atLeastMs, Math.round(backoffDelay(failures - 1, BACKOFF, jitter)));
}

/**
 * Like `backoffMs`, for a failing key. A visit only checks whether the Secret was fixed and makes no provider call, so
 * it waits at most until the next login (0 if unknown), plus jitter to spread the objects that share the key.
 */
export function keyPauseMs(failures: number, jitter: number, untilLoginMs = 0): number {
  const pause = backoffMs(failures, jitter);
  if (untilLoginMs === 0) return pause;
  return Math.min(pause, Math.max(BASE_MS, Math.round(untilLoginMs * (1 + 0.1 * jitter))));
}
