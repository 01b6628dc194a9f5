/** What a loop tells of itself while it works; metrics are made of it. */

/** How a visit ended: nothing more to do, a fault, a newer version met, or to be looked at again later. */
export type VisitResult = 'success' | 'error' | 'requeue' | 'requeue_after';

/** Every method returns at once and never throws. Durations are in ms. */
export interface LoopInstruments {
  /** A key entered the queue, or is to enter it again when its worker is done. */
  keyAdded(): void;
  /** A key is to be added after a pause, because its visit failed. */
  keyRetried(): void;
  /** A worker took a key that had waited for it. */
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
