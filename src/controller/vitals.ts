/** What can be seen of a running loop from outside: probes and metrics are made of it. */

/** All durations are in ms. */
export interface LoopVitals {
  /** Keys that wait for a worker. */
  queued: number;
  /** For how long each busy worker has had its key. */
  busyForMs: readonly number[];
  maxWorkers: number;
  /** Since a worker last ended a step. */
  progressAgeMs: number;
  /** Since the most silent of its reflectors last showed a sign of life; a failure is one. */
  informerSilentMs: number;
}
