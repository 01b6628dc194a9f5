/** Clock, timers and random numbers. Passed as a dependency, so tests and simulations can supply their own. */

export interface Timers {
  /** Wall clock in ms since the epoch; may jump. Use it for timestamps, never to measure time. */
  now(): number;
  /** Monotonic clock in ms since an arbitrary start. */
  monotonic(): number;
  /** Calls `fn` once after `ms`, at most 2^31 - 1 (about 24.8 days). */
  set(fn: () => void, ms: number): unknown;
  /** Clears the timer that `set` returned; does nothing if it has fired or was cleared before. */
  clear(handle: unknown): void;
  /** Random number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

/** A moment on both clocks: suspending the machine stops the monotonic clock, setting the time moves the wall clock. */
export interface Moment {
  wall: number;
  monotonic: number;
}

export type Clocks = Pick<Timers, 'now' | 'monotonic'>;

export const momentOf = (clocks: Clocks): Moment => ({ wall: clocks.now(), monotonic: clocks.monotonic() });

/** Time since `since` (ms), on whichever clock has advanced more. */
export const elapsedMs = (clocks: Clocks, since: Moment): number =>
  Math.max(clocks.now() - since.wall, clocks.monotonic() - since.monotonic);

/** The longest delay of `setTimeout` (ms); a longer timer would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const realTimers: Timers = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  set: (fn, ms) => setTimeout(fn, ms),
  clear: (handle) => clearTimeout(handle as NodeJS.Timeout),
  random: () => Math.random(),
};
