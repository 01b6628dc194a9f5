/** Clock, timers and chance, passed in wherever they are used, so that a test or a simulation can bring its own. */

export interface Timers {
  /** Wall clock, in ms since the epoch; may jump. For what is written down, never for measuring. */
  now(): number;
  /** A clock that only goes forward, in ms since any start. */
  monotonic(): number;
  /** Calls `fn` once after `ms`, at most 2^31 - 1 (about 24.8 days). */
  set(fn: () => void, ms: number): unknown;
  /** Takes back what `set` returned; of a timer that has fired or was cleared, does nothing. */
  clear(handle: unknown): void;
  /** At least 0 and less than 1. */
  random(): number;
}

/** Longest delay that `setTimeout` knows: a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const realTimers: Timers = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  set: (fn, ms) => setTimeout(fn, ms),
  clear: (handle) => clearTimeout(handle as NodeJS.Timeout),
  random: () => Math.random(),
};
