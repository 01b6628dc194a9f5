/** Tells at intervals what a slow step waits for, and for how long it has waited. */

export type ProgressListener = (line: string) => void;

const REPORT_MS = 10_000;

/**
 * Runs `work`; `what` begins each report, such as `control plane: downloading Kubernetes v1.36.3`. `done` tells how much of
 * the work is done, if that is known.
 */
export async function reporting<T>(
  progress: ProgressListener,
  what: string,
  work: () => Promise<T>,
  done: () => string | undefined = () => undefined,
): Promise<T> {
  const started = Date.now();
  const report = (): void => progress(`${what} (${[`${elapsed(started)} so far`, done()].filter(Boolean).join(', ')})`);
  const timer = setInterval(report, REPORT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

export function elapsed(since: number): string {
  const seconds = Math.round((Date.now() - since) / 1000);
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}
