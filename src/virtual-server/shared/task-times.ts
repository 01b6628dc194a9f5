/** How long tasks took before, by product. Only in memory: a new process learns it again. */
import { Recent } from '../../base/recent.ts';
import { usualMs } from '../decision/next-poll.ts';

/** The number of products, and of tasks of a product, that are remembered. */
const PRODUCTS = 256;
const TASKS = 16;

export class TaskTimes {
  /** Newest last. */
  readonly #times = new Recent<string, readonly number[]>(PRODUCTS);
  readonly #sorted = new Recent<string, readonly number[]>(PRODUCTS);

  add(product: string, ms: number): void {
    const times = [...(this.#times.get(product) ?? []), ms].slice(-TASKS);
    this.#times.set(product, times);
    this.#sorted.set(
      product,
      times.toSorted((a, b) => a - b),
    );
  }

  /** In ascending order (ms). */
  of(product: string): readonly number[] {
    return this.#sorted.get(product) ?? [];
  }

  /** The median (ms); undefined if no task of this product has ended here. */
  usual(product: string): number | undefined {
    return usualMs(this.of(product));
  }
}
