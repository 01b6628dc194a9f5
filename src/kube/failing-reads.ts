/**
 * Notices reads by name that the API server answers with an error time and again, such as a Secret that it cannot decrypt. The
 * object that needs the read then reports it, as it reports a missing right. A shorter failure is only retried.
 */
import { timestamp } from '../base/duration.ts';
import { elapsedMs, momentOf, type Clocks, type Moment } from '../base/timers.ts';
import { KubeError, isRefusal, refusalOf } from './error.ts';

/** For how long a read has to fail before an object reports it (ms). */
const PATIENCE_MS = 10_000;
/** After such a pause, a failure counts as the first one: nothing has needed the read since (ms). Longer than the pauses between two retries. */
const FORGOTTEN_MS = 15 * 60_000;

/** A read that fails again and again. The message has the words of the API server, never what the object holds. */
export class KeepsFailing extends KubeError {}

/** What an object can report: the operator lacks the right, or the read keeps failing. */
export const isUnreadable = (error: unknown): error is KubeError =>
  error instanceof KubeError && (error.code === 'Forbidden' || error instanceof KeepsFailing);

/** What to do about it, as a sentence. `grant`: what helps if the right is missing. */
export const remedyOf = (error: KubeError, grant: string): string =>
  error.code === 'Forbidden' ? grant : 'Repair the API server or what it stores; the operator retries automatically';

/** The first and the last failure of a row without a success. */
interface Row {
  since: Moment;
  last: Moment;
}

export class FailingReads {
  readonly #clocks: Clocks;
  /** By name; the one whose last failure is the oldest comes first. */
  readonly #rows = new Map<string, Row>();

  constructor(clocks: Clocks) {
    this.#clocks = clocks;
  }

  /** `name`: of what is read. */
  async read<T>(name: string, read: () => Promise<T>): Promise<T> {
    try {
      const found = await read();
      this.#rows.delete(name);
      return found;
    } catch (error) {
      // Without an answer, the status could not be written either. An API server that is overloaded has nothing to repair.
      const isLasting = isRefusal(error) && error.code !== 'Forbidden' && error.code !== 'TooManyRequests';
      throw isLasting ? this.#failing(name, error) : error;
    }
  }

  #failing(name: string, error: KubeError): KubeError {
    this.#forget();
    const last = momentOf(this.#clocks);
    const { since } = this.#rows.get(name) ?? { since: last };
    this.#rows.delete(name);
    this.#rows.set(name, { since, last });
    if (last.monotonic - since.monotonic < PATIENCE_MS) return error;
    const { code, status, reason, retryAfterMs } = error;
    const text = `${refusalOf(error).said} The API server answers ${status} since ${timestamp(since.wall)}.`;
    return new KeepsFailing(code, text, { status, reason, retryAfterMs });
  }

  /** What is left are the names that failed lately, so there are no more than the objects need. */
  #forget(): void {
    for (const [name, { last }] of this.#rows) {
      if (elapsedMs(this.#clocks, last) < FORGOTTEN_MS) return;
      this.#rows.delete(name);
    }
  }
}
