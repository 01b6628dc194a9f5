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
    // A process that was frozen may be past the end of what it has begun; Node warns of negative times.
    this.#timer = setTimeout(() => this.end(late()), Math.max(0, ms));
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

/* Waits for a promise no longer than a deadline or a signal allows. */

/** The result of `work`; rejects with the reason of `end` when it comes, but does not stop `work`. */
export async function until<T>(end: AbortSignal | Pick<Deadline, 'reason' | 'listen'>, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stopListening = onEnd(end, reject);
    work.then(resolve, reject).finally(stopListening);
  });
}

/** Calls `listener` at the end, at once if that has come; returns how to stop listening. */
function onEnd(end: AbortSignal | Pick<Deadline, 'reason' | 'listen'>, listener: (reason: Error) => void): () => void {
  if (end.reason !== undefined) listener(end.reason as Error);
  if (!(end instanceof AbortSignal)) return end.listen(listener);
  const abort = (): void => listener(end.reason as Error);
  end.addEventListener('abort', abort, { once: true });
  return () => end.removeEventListener('abort', abort);
}
