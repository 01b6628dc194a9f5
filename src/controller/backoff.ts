/** Exponential backoff with jitter. */

export interface Backoff {
  /** Upper bound of the first delay, in ms. */
  baseMs: number;
  /** Upper bound of every delay, in ms. */
  maxMs: number;
}

/**
 * Delay in ms after `failures` failures in a row (0 before the first). The upper bound doubles with each failure; the
 * delay lies between half of it and the whole, so that many keys that failed together do not come back together.
 * `random` is at least 0 and less than 1.
 */
export function backoffDelay(failures: number, backoff: Backoff, random: number): number {
  const bound = Math.min(backoff.maxMs, backoff.baseMs * 2 ** failures);
  return bound * (0.5 + random / 2);
}
