/** The guards of an installation, in the demo's cluster. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const GUARDS = join(import.meta.dirname, '../../deploy/guards.yaml');
const CRD = 'virtualservers.vps-operator.dev';
const WAIT_MS = 30_000;
const POLL_MS = 100;

/** Resolves when the API server refuses to delete the CRD: policies take effect through a watch. */
export async function installGuards(program: string, kubeconfig: string): Promise<void> {
  const kubectl = (...words: string[]) => promisify(execFile)(program, ['--kubeconfig', kubeconfig, ...words]);
  await kubectl('apply', '--server-side', '-f', GUARDS);
  const deadline = Date.now() + WAIT_MS;
  const isRefused = (): Promise<boolean> =>
    kubectl('delete', 'crd', CRD, '--dry-run=server').then(
      () => false,
      (error: unknown) => String((error as { stderr?: string }).stderr).includes('denied request'),
    );
  while (!(await isRefused())) {
    if (Date.now() > deadline) throw new Error(`the guards had no effect after ${WAIT_MS / 1000} s`);
    await sleep(POLL_MS);
  }
}
