/**
 * Whether the workers get on. They are called stuck only when all of them are busy, or all that one namespace may have
 * while more of its objects wait (fair-line.ts), and none has come a step further for longer than any step may last: a
 * restart in mid-create makes the outcome of that create unknown, which is worse than slowness. So a service or an API
 * server that hangs must never be taken for stuck workers. It is not: every wait inside a step is bounded (a call by its
 * deadline, the token bucket by its rate), a call that meets its deadline fails, and a step that fails is a step that has
 * ended. What is left are waits that end never: a bug, or a disk that hangs.
 * One stuck worker of many is no reason either; `workqueue_longest_running_processor_seconds` shows it.
 */
import { PROBE_MS } from '../virtual-server/ssh/probe.ts';
import type { Timers } from '../base/timers.ts';

/** Workers of the catalogs: a service that hangs for one key must not hold up the catalogs of the others. */
export const CATALOG_WORKERS = 4;

export interface StepBounds {
  maxConcurrentReconciles: number;
  providerQps: number;
  createTimeoutMs: number;
  providerTimeoutMs: number;
  kubeTimeoutMs: number;
}

/**
 * The most that one step does. A DELETE that meets a 404 asks for the list of products and for the server again: three
 * calls, of which each may log in, be refused, log in again and be repeated: 12 exchanges, 6 of them through the bucket.
 * A step reads 16 Secrets at most (`sshKeysFrom`), or an object, or a Secret and its fallback, and writes twice: 20.
 * The visit of a catalog, with its three lists, does no more than that.
 */
const MAX_EXCHANGES = 12;
const MAX_TOKENS = 6;
const MAX_KUBE_CALLS = 20;

/**
 * How long (ms) all workers of a loop together may be without one that ends a step: the sum of all that may happen in
 * one, and of the time in which the bucket serves all that the workers of both loops can ask of it, since by then it has
 * served each of them fully.
 */
export function longestStepMs(bounds: StepBounds): number {
  const { maxConcurrentReconciles, providerQps, createTimeoutMs, providerTimeoutMs, kubeTimeoutMs } = bounds;
  const bucketMs = ((maxConcurrentReconciles + CATALOG_WORKERS) * MAX_TOKENS * 1000) / providerQps;
  // A probe waits for its turn only while others run, and each of these ends a step.
  return createTimeoutMs + MAX_EXCHANGES * providerTimeoutMs + MAX_KUBE_CALLS * kubeTimeoutMs + bucketMs + PROBE_MS;
}

export class Progress {
  readonly #timers: Pick<Timers, 'monotonic'>;
  #markedAt: number;

  constructor(timers: Pick<Timers, 'monotonic'>) {
    this.#timers = timers;
    this.#markedAt = timers.monotonic();
  }

  /** A worker has begun or ended something. */
  mark(): void {
    this.#markedAt = this.#timers.monotonic();
  }

  /** Since the last mark (ms). */
  get ageMs(): number {
    return this.#timers.monotonic() - this.#markedAt;
  }
}
