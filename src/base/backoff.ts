/** Pauses that grow with each failure in a row, with jitter, so that those who failed together do not come back together. */
import type { Timers } from './timers.ts';

export interface Backoff {
  /** The first pause (ms). */
  baseMs: number;
  /** No pause grows further (ms). */
  maxMs: number;
  /** Which part of a pause is taken, at least and at most; between half of it and the whole if left out. */
  jitter?: readonly [from: number, to: number];
}

/** The pause in ms after so many failures before this one (0 at the first); `random` is at least 0 and less than 1. */
export function backoffDelay(failures: number, { baseMs, maxMs, jitter = [0.5, 1] }: Backoff, random: number): number {
  const [from, to] = jitter;
  return Math.min(maxMs, baseMs * 2 ** failures) * (from + (to - from) * random);
}

/** Resolves after `ms`, or as soon as the signal fires. */
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
