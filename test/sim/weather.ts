/** How well requests fare on one way of the simulated network. */
import type { Random } from './random.ts';

/** How likely each fault is for one request, 0 to 1; all 0 when faults have stopped. */
export interface Weather {
  /** The request never arrives, or its answer never does: half each. */
  lost: number;
  /** An answer 500 to a request that was processed. */
  error: number;
  /** Longest delay of one way (ms). */
  delayMs: number;
  /** A proxy answers 409 to a write of an object that was applied. */
  conflictAfterApplied: number;
  /** An admission policy refuses a write of status. */
  statusRefused: number;
}

export const CALM: Weather = { lost: 0, error: 0, delayMs: 20, conflictAfterApplied: 0, statusRefused: 0 };

export function drawWeather(random: Random): Weather {
  const bad = random.chance(0.5);
  return {
    lost: bad ? random.pick([0.02, 0.1, 0.4, 1]) : 0,
    error: bad ? random.pick([0, 0.1, 0.5]) : 0,
    delayMs: random.pick([5, 50, 2000]),
    conflictAfterApplied: bad && random.chance(0.3) ? random.pick([0.05, 0.5]) : 0,
    statusRefused: bad && random.chance(0.15) ? random.pick([0.5, 1]) : 0,
  };
}
