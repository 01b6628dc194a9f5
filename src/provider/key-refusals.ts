/** Whether the provider refuses an API key, when it may be tried again, and the error until then. */
import { backoffDelay } from '../base/backoff.ts';
import type { Timers } from '../base/timers.ts';
import { ProviderError } from './error.ts';

/** A refusal may be wrong or temporary, such as a suspended account. A few logins are enough to find out. */
const BACKOFF = { baseMs: 60_000, maxMs: 10 * 60_000, jitter: [0.9, 1.1] } as const;
/** Minimum time between two logins with a refused key, however many callers request one. */
const SHORTEST_PAUSE_MS = 5_000;

interface Refusal {
  /** Built once, so that it stays the same until the next login. */
  message: string;
  /** On the monotonic clock, like `nextTry`. */
  at: number;
  nextTry: number;
}

export class Refusals {
  readonly #timers: Timers;
  /** Consecutive refusals. */
  #count = 0;
  #last: Refusal | undefined;
  #isTokenRefused = false;
  #recoveries = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** The last login was refused, or the last call with a token that was just issued. */
  get isRefused(): boolean {
    return this.#last !== undefined || this.#isTokenRefused;
  }

  /** How often a login succeeded after one that was refused. */
  get recoveries(): number {
    return this.#recoveries;
  }

  /** The error to throw while no login may be sent; undefined if one may. */
  pending(): ProviderError | undefined {
    if (this.#last === undefined || this.#timers.monotonic() >= this.#last.nextTry) return undefined;
    return this.#error(this.#last);
  }

  /** Records a refused login with the provider's text. */
  loginRefused(words: string): ProviderError {
    const timers = this.#timers;
    const pause = Math.round(backoffDelay(this.#count, BACKOFF, timers.random()));
    this.#count += 1;
    const said = words === '' ? '' : `: ${words.replace(/\.$/, '')}`;
    const at = timers.monotonic();
    this.#last = {
      message: `the provider refuses the API key${said}. ${nextTry(pause, timers.now())}, or within a minute after the Secret changes`,
      at,
      nextTry: at + pause,
    };
    return this.#error(this.#last);
  }

  loginAccepted(): void {
    if (this.#last !== undefined) this.#recoveries += 1;
    this.#last = undefined;
    this.#count = 0;
  }

  /** Shortens the wait, for example because a change suggests that the key works now. */
  retrySoon(): void {
    if (this.#last === undefined) return;
    this.#last.nextTry = Math.min(this.#last.nextTry, this.#last.at + SHORTEST_PAUSE_MS);
  }

  /** Records that a call got a 401 with a token that had just been issued. */
  tokenRefused(): void {
    this.#isTokenRefused = true;
  }

  tokenAccepted(): void {
    this.#isTokenRefused = false;
  }

  #error({ message, nextTry }: Refusal): ProviderError {
    return new ProviderError('PROVIDER_INVALID_CREDENTIALS', message, {
      retryAfterMs: Math.max(0, nextTry - this.#timers.monotonic()),
    });
  }
}

function nextTry(pauseMs: number, date: number): string {
  const minutes = Math.max(1, Math.round(pauseMs / 60_000));
  const at = new Date(date + pauseMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return `Next try in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} (at ${at})`;
}
