/** Tells at intervals what a slow step waits for, and for how long it has waited. */

export type ProgressListener = (line: string) => void;

const REPORT_MS = 10_000;

/** Runs `work`; `what` begins each report, such as `control plane: downloading Kubernetes v1.36.3`. */
export async function reporting<T>(progress: ProgressListener, what: string, work: () => Promise<T>): Promise<T> {
  const started = Date.now();
  const timer = setInterval(() => progress(`${what} (${elapsed(started)} so far)`), REPORT_MS);
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
