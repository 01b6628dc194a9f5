/** What the loops tell of themselves while they work; metrics are made of it. */
import type { CATALOG_SINGULAR, SINGULAR } from '../api/names.ts';

/** How a visit ended: nothing more to do, a fault, a newer version met, or to be looked at again later. */
export type VisitResult = 'success' | 'error' | 'requeue' | 'requeue_after';

/** The loops, by the kind that each works on. */
export type LoopName = typeof SINGULAR | typeof CATALOG_SINGULAR;

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

/** As LoopInstruments. */
export interface Instruments {
  loops: Record<LoopName, LoopInstruments>;
  /** A server that was ordered was read for the first time, so long after its order was written down. */
  provisioned(durationMs: number): void;
  /** A finalizer was taken off by force while there may have been a server. */
  serverLost(): void;
}

const ignore = (): void => undefined;

export const noLoopInstruments: LoopInstruments = {
  keyAdded: ignore,
  keyRetried: ignore,
  keyTaken: ignore,
  keyDone: ignore,
  visited: ignore,
};

export const noInstruments: Instruments = {
  loops: { virtualserver: noLoopInstruments, servercatalog: noLoopInstruments },
  provisioned: ignore,
  serverLost: ignore,
};
