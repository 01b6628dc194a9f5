/** Callbacks through which a reconcile loop reports its work, for metrics. */

/** How a visit ended: done, failed, requeued because of a newer version, or requeued for a later time. */
export type VisitResult = 'success' | 'error' | 'requeue' | 'requeue_after';

/** Every method returns at once and never throws. Durations are in ms. */
export interface LoopInstruments {
  /** A key entered the queue, or will enter it again when its worker is done. */
  keyAdded(): void;
  /** A key will be added after a backoff, because its visit failed. */
  keyRetried(): void;
  /** A worker took a key that had waited this long. */
  keyTaken(waitedMs: number): void;
  keyDone(workedMs: number): void;
  visited(result: VisitResult, durationMs: number): void;
}

const ignore = (): void => undefined;

export const noLoopInstruments: LoopInstruments = {
  keyAdded: ignore,
  keyRetried: ignore,
  keyTaken: ignore,
  keyDone: ignore,
  visited: ignore,
};
