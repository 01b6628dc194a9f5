/** Time as the simulator sees it, so that a test can stand in for it. */
import { setTimeout as wait } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds; used by the faults that answer late. */
  sleep(ms: number): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Unreferenced: an answer that is late by an hour must not keep a finished test process alive.
  sleep: (ms) => wait(ms, undefined, { ref: false }),
};
