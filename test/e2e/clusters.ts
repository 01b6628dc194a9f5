/** Which cluster the tests run on: a given one, or one that kind makes. */
import { runProgram } from '../../tools/run-program.ts';
import { createKindCluster, hasCommand } from './kind.ts';

export interface Cluster {
  /** Path of a kubeconfig with all rights. */
  kubeconfig: string;
  /** Brings an image of the local Docker engine to the nodes. */
  load(image: string): Promise<void>;
}

/** What is missing on this machine for a run, with what to do about it; undefined when nothing is. */
export function missing(env: NodeJS.ProcessEnv): string | undefined {
  if (!hasCommand('kubectl', 'version', '--client')) return 'the command kubectl is missing: install it';
  if (env['E2E_KUBECONFIG'] !== undefined) {
    if (env['E2E_LOAD_IMAGE'] !== undefined) return undefined;
    return 'E2E_KUBECONFIG needs E2E_LOAD_IMAGE, a command that loads the image whose name follows it into the cluster';
  }
  if (hasCommand('kind', 'version')) return undefined;
  return 'install kind (https://kind.sigs.k8s.io), or set E2E_KUBECONFIG and E2E_LOAD_IMAGE to use any cluster';
}

/** To be asked when nothing is missing. Throws when the cluster cannot be made. */
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
