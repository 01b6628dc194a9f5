/** Exponential backoff, with jitter to spread the retries of callers that failed together. */
import type { Timers } from './timers.ts';

export interface Backoff {
  /** First delay, in ms; it doubles with each failure. */
  baseMs: number;
  /** Longest delay, in ms. */
  maxMs: number;
  /** Range of the random factor; default 0.5 to 1. */
  jitter?: readonly [from: number, to: number];
}

/** Delay in ms; `failures` is 0 after the first failure, `random` at least 0 and less than 1. */
export function backoffDelay(failures: number, { baseMs, maxMs, jitter = [0.5, 1] }: Backoff, random: number): number {
  const [from, to] = jitter;
  return Math.min(maxMs, baseMs * 2 ** failures) * (from + (to - from) * random);
}

/** Resolves after `ms` or when the signal fires, whichever comes first. */
export function pause(ms: number, signal: AbortSignal, timers: Pick<Timers, 'set' | 'clear'>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timers.clear(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = timers.set(done, ms);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
