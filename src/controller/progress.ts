/**
 * Whether the workers of a loop get on. They are called stuck only when all of them are busy, or all that one namespace may
 * have while more of its objects wait (fair-line.ts), and none has come a step further for longer than any step may last: a
 * restart in mid-create makes the outcome of that create unknown, which is worse than slowness. So a provider or an API
 * server that hangs must never be taken for stuck workers. It is not: every wait inside a step is bounded (a call by its
 * deadline, the token bucket by its rate), a call that meets its deadline fails, and a step that fails is a step that has
 * ended. What is left are waits that end never: a bug, or a disk that hangs.
 * One stuck worker of many is no reason either; `workqueue_longest_running_processor_seconds` shows it.
 */
import type { Timers } from '../base/timers.ts';

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
