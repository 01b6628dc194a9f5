/**
 * A fixed number of places for which namespaces wait in a fair line. A namespace that holds places gets another one only
 * while it holds fewer than four times the free ones, and never the last free place. One namespace alone gets about four
 * fifths of the places, never all.
 */
import { FairLine, type Waiting } from './fair-line.ts';

const SHARE = 4;

export class FairPlaces<T> extends FairLine<T> {
  /** Number of places of each namespace that holds any. */
  readonly #held = new Map<string, number>();
  #free: number;

  /** With `places` Infinity, every item gets a place immediately. */
  constructor(places: number) {
    super();
    this.#free = places;
  }

  /** Gives the next item a place; `release` must return it. Undefined if no item may have a place now. */
  override take(): Waiting<T> | undefined {
    // Passes over at most as many namespaces as hold places.
    const waiting = super.take(({ namespace }) => this.#mayHaveAnother(namespace));
    if (waiting !== undefined) this.#count(waiting.namespace, 1);
    return waiting;
  }

  /** Frees one place of this namespace. */
  release(namespace: string): void {
    if (!this.#held.has(namespace)) throw new Error(`namespace "${namespace}" has no place`);
    this.#count(namespace, -1);
  }

  #mayHaveAnother(namespace: string): boolean {
    const held = this.#held.get(namespace);
    if (held === undefined) return this.#free > 0;
    return this.#free > 1 && held < SHARE * this.#free;
  }

  #count(namespace: string, by: 1 | -1): void {
    this.#free -= by;
    const held = (this.#held.get(namespace) ?? 0) + by;
    if (held === 0) this.#held.delete(namespace);
    else this.#held.set(namespace, held);
  }
}
