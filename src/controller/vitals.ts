/** Health data of a running reconcile loop, for probes and metrics. */

/** All durations are in ms. */
export interface LoopVitals {
  /** Number of keys that wait for a worker. */
  queued: number;
  /** How long each busy worker has been processing its key. */
  busyForMs: readonly number[];
  maxWorkers: number;
  /** Time since a worker last started or finished a step. */
  progressAgeMs: number;
  /** Time since the most silent reflector last showed a sign of life; a failure counts as one. */
  informerSilentMs: number;
}
