/**
 * Shares a read among all who ask while it cannot begin yet: each gets the answer of a read that began after it asked,
 * and at most one runs at a time.
 */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    next ??= running.then(() => {
      next = undefined;
      const answer = read();
      running = answer.catch(() => undefined);
      return answer;
    });
    return next;
  };
}
