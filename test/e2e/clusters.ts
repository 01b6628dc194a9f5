/** Selects the cluster for the tests: an existing one, or one that kind creates. */
import { runProgram } from '../../tools/run-program.ts';
import { createKindCluster, hasCommand } from './kind.ts';

export interface Cluster {
  /** Path of a kubeconfig with all rights. */
  kubeconfig: string;
  /** Loads an image from the local Docker engine onto the nodes. */
  load(image: string): Promise<void>;
}

/** What this machine lacks for a run, and how to provide it; undefined if nothing is missing. */
export function missing(env: NodeJS.ProcessEnv): string | undefined {
  if (!hasCommand('kubectl', 'version', '--client')) return 'kubectl is not installed: install it';
  if (env['E2E_KUBECONFIG'] !== undefined) {
    if (env['E2E_LOAD_IMAGE'] !== undefined) return undefined;
    return 'E2E_KUBECONFIG needs E2E_LOAD_IMAGE, a command that loads the image whose name follows it into the cluster';
  }
  if (hasCommand('kind', 'version')) return undefined;
  return 'install kind (https://kind.sigs.k8s.io), or set E2E_KUBECONFIG and E2E_LOAD_IMAGE to use any cluster';
}

/** Call only if `missing` returns undefined. Throws if the cluster cannot be created. */
export function openCluster(env: NodeJS.ProcessEnv, keep: boolean): Promise<Cluster> {
  const { E2E_KUBECONFIG: kubeconfig, E2E_LOAD_IMAGE: command } = env;
  return kubeconfig !== undefined && command !== undefined
    ? Promise.resolve({ kubeconfig, load: (image) => loadBy(command, image) })
    : createKindCluster(keep);
}

async function loadBy(command: string, image: string): Promise<void> {
  const code = await runProgram('sh', ['-c', `${command} "$1"`, 'sh', image]);
  if (code !== 0) throw new Error(`${command} ${image} failed with code ${code}`);
}
