/** An empty API server with namespaces that are really deleted, and kubectl for it. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';

export const ROOT = join(import.meta.dirname, '../../..');

/** kubectl runs in the project root, as an administrator. */
export interface Cluster {
  controlPlane: ControlPlane;
  /** Resolves with its output; rejects with an Error that contains its output. */
  kubectl(...args: string[]): Promise<string>;
  /** Like `kubectl`, but includes the API server's warnings. */
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

/** Waits until the API server serves the CRDs that `what` names for kubectl, such as `crd/NAME` or `-f`, FOLDER. */
export async function established(kubectl: (...args: string[]) => Promise<string>, ...what: string[]): Promise<void> {
  // `kubectl wait` fails at once on a CRD that is too new to have conditions.
  await vi.waitFor(() => kubectl('wait', '--for=condition=Established', ...what), { timeout: 30_000 });
}
