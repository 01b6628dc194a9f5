/** Ends work after a time. An AbortController with a timer can do the same, for several times the CPU. */

type Listener = (reason: Error) => void;

export class Deadline {
  readonly #listeners = new Set<Listener>();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = (): void => this.end(this.#outer?.reason as Error);
  #reason: Error | undefined;
  #controller: AbortController | undefined;

  /** Ends after `ms` with the error of `late`, or when `outer` fires, with its reason. Call `clear` after the work. */
  constructor(ms: number, late: () => Error, outer?: AbortSignal) {
    this.#timer = setTimeout(() => this.end(late()), ms);
    this.#outer = outer;
    if (outer?.aborted === true) this.#abort();
    else outer?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Why the work has to end; undefined before that. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** The same as a signal, for what takes only that. */
  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.#reason === undefined) this.#listeners.add((reason) => controller.abort(reason));
    else controller.abort(this.#reason);
    return controller.signal;
  }

  /** Calls `listener` when the work has to end, unless the returned function was called before. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the work now; only the first end counts. */
  end(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    for (const listener of [...this.#listeners]) listener(reason);
  }

  /** Call it after the work: from then on, neither the time nor `outer` ends it. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#abort);
  }
}
