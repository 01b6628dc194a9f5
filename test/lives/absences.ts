/** When a fault of the provider may look like the absence of a server or a task. */

const MINUTE = 60_000;
/** A fault that looks like an absence ends before the operator's grace period does. */
export const LONGEST_ABSENCE_MS = 3 * MINUTE;
/** The next one starts as much later. */
const BETWEEN_MS = 6 * MINUTE;

export class Absences {
  /** No absence is false in this world. */
  readonly areTrue: boolean;
  /** ms since the epoch. */
  #againAt: number;

  constructor(areTrue: boolean) {
    this.areTrue = areTrue;
    this.#againAt = areTrue ? Infinity : -Infinity;
  }

  mayBegin(now: number): boolean {
    return now >= this.#againAt;
  }

  lasts(untilMs: number): void {
    this.#againAt = Math.max(this.#againAt, untilMs + BETWEEN_MS);
  }
}
