/** Creates a temporary cluster in Docker for one test run, with kind (https://kind.sigs.k8s.io). */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../../tools/run-program.ts';
import type { Cluster } from './clusters.ts';

const NAME = 'vps-operator-e2e';

export function hasCommand(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Removes the cluster when this process ends, however it ends, unless `keep` is set. Throws if kind fails. */
export async function createKindCluster(keep: boolean): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'vps-operator-kind-'));
  const kubeconfig = join(folder, 'kubeconfig');
  if (!keep) {
    process.once('exit', () => {
      spawnSync('kind', ['delete', 'cluster', '--name', NAME, '--kubeconfig', kubeconfig], { stdio: 'inherit' });
      rmSync(folder, { recursive: true });
    });
  }
  const image = process.env['E2E_NODE_IMAGE'];
  const version = image === undefined ? [] : ['--image', image];
  await kind('create', 'cluster', '--name', NAME, '--kubeconfig', kubeconfig, '--wait', '180s', ...version);
  return { kubeconfig, load: (image) => kind('load', 'docker-image', image, '--name', NAME) };
}

async function kind(...args: string[]): Promise<void> {
  const code = await runProgram('kind', args);
  if (code !== 0) throw new Error(`kind ${args.join(' ')} failed with code ${code}`);
}
