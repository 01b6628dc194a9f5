/** The faults that requests on one route of the simulated network meet. */
import type { Random } from './random.ts';

/** Probability of each fault per request, 0 to 1; all 0 once faults have stopped. */
export interface Weather {
  /** The request or its answer is lost, with equal probability. */
  lost: number;
  /** The request is processed, but answered with an error 500. */
  error: number;
  /** Maximum delay in one direction (ms). */
  delayMs: number;
  /** A proxy answers 409 although the write was applied. */
  conflictAfterApplied: number;
  /** An admission policy rejects a status write. */
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
