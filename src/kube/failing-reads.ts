/**
 * Notices reads by name that the API server answers with an error time and again, such as a Secret that it cannot decrypt. The
 * object that needs the read then reports it, as it reports a missing right. A shorter failure is only retried.
 */
import { timestamp } from '../base/duration.ts';
import { Recent } from '../base/recent.ts';
import type { Timers } from '../base/timers.ts';
import { KubeError, isRefusal, refusalOf } from './error.ts';

/** For how long a read has to fail before an object reports it (ms). */
const PATIENCE_MS = 10_000;
const REMEMBERED = 1024;

/** A read that fails again and again. The message has the words of the API server, never what the object holds. */
export class KeepsFailing extends KubeError {}

/** What an object can report: the operator lacks the right, or the read keeps failing. */
export const isUnreadable = (error: unknown): error is KubeError =>
  error instanceof KubeError && (error.code === 'Forbidden' || error instanceof KeepsFailing);

/** What to do about it, as a sentence. `grant`: what helps if the right is missing. */
export const remedyOf = (error: KubeError, grant: string): string =>
  error.code === 'Forbidden' ? grant : 'Repair the API server or what it stores; the operator retries automatically';

/** A moment on both clocks. */
interface Since {
  wall: number;
  monotonic: number;
}

export class FailingReads {
  readonly #timers: Pick<Timers, 'now' | 'monotonic'>;
  readonly #since = new Recent<string, Since | undefined>(REMEMBERED);

  constructor(timers: Pick<Timers, 'now' | 'monotonic'>) {
    this.#timers = timers;
  }

  /** `name`: of what is read. */
  async read<T>(name: string, read: () => Promise<T>): Promise<T> {
    try {
      const found = await read();
      if (this.#since.get(name) !== undefined) this.#since.set(name, undefined);
      return found;
    } catch (error) {
      // Without an answer, the status could not be written either.
      throw isRefusal(error) && error.code !== 'Forbidden' ? this.#failing(name, error) : error;
    }
  }

  #failing(name: string, error: KubeError): KubeError {
    const now = { wall: this.#timers.now(), monotonic: this.#timers.monotonic() };
    const since = this.#since.get(name) ?? now;
    this.#since.set(name, since);
    if (now.monotonic - since.monotonic < PATIENCE_MS) return error;
    const { code, status, reason, retryAfterMs } = error;
    const text = `${refusalOf(error).said} The API server answers ${status} since ${timestamp(since.wall)}.`;
    return new KeepsFailing(code, text, { status, reason, retryAfterMs });
  }
}
