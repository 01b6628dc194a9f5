/** An API key that the provider refuses: when it may be tried again, and the words that say so. */
import { ProviderError } from './errors/provider-error.ts';

/** All injected, for tests and simulations. */
export interface Clock {
  /** Monotonic, in ms. */
  now: () => number;
  /** Wall clock, in ms since the epoch; only for times in messages. */
  date: () => number;
  /** At least 0 and less than 1. */
  random: () => number;
}

/** A refusal may be wrong, or end: an account that was suspended comes back. Few logins find that out. */
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 10 * 60_000;
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
  readonly #clock: Clock;
  /** Refusals in a row. */
  #count = 0;
  #last: Refusal | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The error in place of a login that may not be sent yet; undefined where one may. */
  pending(): ProviderError | undefined {
    if (this.#last === undefined || this.#clock.now() >= this.#last.nextTry) return undefined;
    return this.#error(this.#last);
  }

  /** The provider has just refused the key, in these words. */
  add(words: string): ProviderError {
    const { now, date, random } = this.#clock;
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#count, 10));
    const pause = Math.round(longest * (0.9 + 0.2 * random()));
    this.#count += 1;
    const said = words === '' ? '' : `: ${words.replace(/\.$/, '')}`;
    const at = now();
    this.#last = {
      message: `the provider refuses the API key${said}. ${nextTry(pause, date())}, or at once when the Secret changes`,
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
      retryAfterMs: Math.max(0, nextTry - this.#clock.now()),
    });
  }
}

function nextTry(pauseMs: number, date: number): string {
  const minutes = Math.max(1, Math.round(pauseMs / 60_000));
  const at = new Date(date + pauseMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return `Next try in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} (at ${at})`;
}
