/**
 * Tracks whether the workers of a loop make progress. They count as stuck only if no worker has finished a step for
 * longer than any step can take, while all workers are busy, or all that one namespace may have (base/fair-places.ts) while
 * more of its objects wait. The test is strict because a restart in the middle of an order leaves its outcome unknown,
 * which is worse than being slow.
 *
 * A hanging provider or API server never makes workers look stuck: every wait inside a step is bounded (a call by its
 * deadline, the token bucket by its rate), and a failed step counts as finished. Only a bug or a hanging disk waits
 * forever. A single stuck worker does not count either; `workqueue_longest_running_processor_seconds` shows it.
 */
import type { Timers } from '../base/timers.ts';

export class Progress {
  readonly #timers: Pick<Timers, 'monotonic'>;
  #markedAt: number;

  constructor(timers: Pick<Timers, 'monotonic'>) {
    this.#timers = timers;
    this.#markedAt = timers.monotonic();
  }

  /** Records that a worker has started or finished a step. */
  mark(): void {
    this.#markedAt = this.#timers.monotonic();
  }

  /** Time since the last mark (ms). */
  get ageMs(): number {
    return this.#timers.monotonic() - this.#markedAt;
  }
}
