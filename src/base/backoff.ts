/** Growing pauses between attempts, with jitter so that replicas do not come back in step. */

export interface BackoffOptions {
  minMs: number;
  maxMs: number;
  /** In [0, 1); default Math.random. */
  random?: () => number;
}

interface Backoff {
  /** The next pause in milliseconds: twice the last one, at most `capMs` and `maxMs`, of which 50 to 100 % are taken. */
  next(capMs?: number): number;
  reset(): void;
}

export function createBackoff({ minMs, maxMs, random = Math.random }: BackoffOptions): Backoff {
  let attempts = 0;
  return {
    next(capMs = maxMs) {
      // 2 ** 30 keeps the product finite however long an outage lasts.
      const full = Math.min(minMs * 2 ** Math.min(attempts, 30), capMs, maxMs);
      attempts += 1;
      return full * (0.5 + random() / 2);
    },
    reset: () => {
      attempts = 0;
    },
  };
}

/** Resolves after `ms`, or as soon as the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
