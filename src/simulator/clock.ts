/** The simulator's clock, which tests can replace. */
import { setTimeout as wait } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds; used by faults that delay answers. */
  sleep(ms: number): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Unreferenced: an answer delayed by an hour must not keep a finished test process alive.
  sleep: (ms) => wait(ms, undefined, { ref: false }),
};
