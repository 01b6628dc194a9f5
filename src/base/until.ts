/** Waits for a promise no longer than a deadline or a signal allows. */
import type { Deadline } from './deadline.ts';

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
