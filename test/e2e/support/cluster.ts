/** Access to the test cluster: kubectl, as users run it, and the API server for frequent reads. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';

const POLL_MS = 200;

/** A variable that the runner sets. Throws if the tests were started without it. */
export function setting(name: 'E2E_KUBECONFIG' | 'E2E_IMAGE' | 'E2E_SIMULATOR_IMAGE'): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run npm run test:e2e`);
  return value;
}

export function connect(): KubeHttp {
  return createKubeHttp({ cluster: loadCluster(setting('E2E_KUBECONFIG')) });
}

/** Runs a program; resolves with its output, rejects with its exit code and error output. */
export function run(command: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${command} ${args.join(' ')}: ${stderr || error.message}`, { cause: error }));
    });
    child.stdin?.end(input);
  });
}

export function kubectl(...args: string[]): Promise<string> {
  return run('kubectl', ['--kubeconfig', setting('E2E_KUBECONFIG'), ...args]);
}

/** Runs `kubectl apply --server-side` with the text. */
export function apply(yaml: string): Promise<string> {
  const args = ['--kubeconfig', setting('E2E_KUBECONFIG'), 'apply', '--server-side', '--force-conflicts', '-f', '-'];
  return run('kubectl', args, yaml);
}

/**
 * Resolves with the first result that is neither undefined nor false; rejects after `timeoutMs` with the last error.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  timeoutMs = 120_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const answer = await look();
      if (answer !== undefined && answer !== false) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await sleep(POLL_MS);
  }
  throw new Error(`timed out after ${timeoutMs / 1000} s waiting for ${what}`, { cause: last });
}
