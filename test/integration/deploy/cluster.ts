/** An API server that nothing is installed on yet, with namespaces that really go away, and kubectl for it. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';

export const ROOT = join(import.meta.dirname, '../../..');

/** In the root of the project, as an administrator. */
export interface Cluster {
  controlPlane: ControlPlane;
  /** Resolves with what it says; rejects with an Error that holds what it says. */
  kubectl(...args: string[]): Promise<string>;
  /** As `kubectl`, with the warnings of the API server. */
  kubectlWithWarnings(...args: string[]): Promise<{ stdout: string; stderr: string }>;
  stop(): Promise<void>;
}

export async function startEmptyCluster(): Promise<Cluster> {
  const noCrds = await mkdtemp(join(tmpdir(), 'vps-operator-no-crds-'));
  const controlPlane = await startControlPlane({ crds: noCrds, controllerManager: true });
  const run = promisify(execFile);
  const kubectlWithWarnings = (...args: string[]) =>
    run(controlPlane.kubectl, ['--kubeconfig', controlPlane.kubeconfigPath, ...args], { cwd: ROOT });
  return {
    controlPlane,
    kubectlWithWarnings,
    kubectl: async (...args) => (await kubectlWithWarnings(...args)).stdout,
    async stop() {
      await controlPlane.stop();
      await rm(noCrds, { recursive: true });
    },
  };
}

/** Until the API server serves the CRDs that `what` names for kubectl, such as `crd/NAME` or `-f`, FOLDER. */
export async function established(kubectl: (...args: string[]) => Promise<string>, ...what: string[]): Promise<void> {
  // `kubectl wait` fails at once on a CRD that is so new that it has no conditions.
  await vi.waitFor(() => kubectl('wait', '--for=condition=Established', ...what), { timeout: 30_000 });
}
