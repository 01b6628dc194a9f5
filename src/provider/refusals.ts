/** An API key that the provider refuses: when it may be tried again, and the words that say so. */
import { backoffDelay } from '../base/backoff.ts';
import type { Timers } from '../base/timers.ts';
import { ProviderError } from './errors/provider-error.ts';

/** A refusal may be wrong, or end: an account that was suspended comes back. Few logins find that out. */
const BACKOFF = { baseMs: 60_000, maxMs: 10 * 60_000, jitter: [0.9, 1.1] } as const;
/** However many ask for it at once, a refused key is sent no more often. */
const SHORTEST_PAUSE_MS = 5_000;

interface Refusal {
  /** Made once, so that it stays the same until the next try. */
  message: string;
  /** On the monotonic clock, as `nextTry`. */
  at: number;
  nextTry: number;
}

export class Refusals {
  readonly #timers: Timers;
  /** Refusals in a row. */
  #count = 0;
  #last: Refusal | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** The error in place of a login that may not be sent yet; undefined where one may. */
  pending(): ProviderError | undefined {
    if (this.#last === undefined || this.#timers.monotonic() >= this.#last.nextTry) return undefined;
    return this.#error(this.#last);
  }

  /** The provider has just refused the key, in these words. */
  add(words: string): ProviderError {
    const timers = this.#timers;
    const pause = Math.round(backoffDelay(this.#count, BACKOFF, timers.random()));
    this.#count += 1;
    const said = words === '' ? '' : `: ${words.replace(/\.$/, '')}`;
    const at = timers.monotonic();
    this.#last = {
      message: `the provider refuses the API key${said}. ${nextTry(pause, timers.now())}, or at once when the Secret changes`,
      at,
      nextTry: at + pause,
    };
    return this.#error(this.#last);
  }

  /** A change gives reason to think that the key works now. */
  retrySoon(): void {
    if (this.#last === undefined) return;
    this.#last.nextTry = Math.min(this.#last.nextTry, this.#last.at + SHORTEST_PAUSE_MS);
  }

  /** The key works. True where it was refused before. */
  end(): boolean {
    const refused = this.#last !== undefined;
    this.#last = undefined;
    this.#count = 0;
    return refused;
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
