/** Flux's source-controller and kustomize-controller, with their definitions. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../tools/control-plane/control-plane.ts';
import { goProgram, type GoProgram } from '../../tools/go-program.ts';
import { GITOPS_PROGRAMS } from '../../tools/go-programs.ts';
import { established } from '../integration/deploy/cluster.ts';
import { startInBackground } from './background.ts';
import { moduleFolder } from './module-folder.ts';
import { sharedCluster } from './tool-cluster.ts';

const { fluxSource, fluxKustomize } = GITOPS_PROGRAMS;

export interface Flux {
  /** The last lines of both controllers. */
  tail(): string;
  stop(): Promise<void>;
}

export async function startFlux({ kubeconfigPath, kubectl } = sharedCluster()): Promise<Flux> {
  const definitions = [await definitionsOf(fluxSource), await definitionsOf(fluxKustomize)];
  for (const folder of definitions) {
    await kubectl('apply', '--server-side', '-f', folder);
    await established(kubectl, '-f', folder);
  }
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-flux-'));
  const artifacts = join(folder, 'artifacts');
  await mkdir(artifacts);
  // The folder of temporary files is their own: kustomize-controller removes from it what an earlier process has left.
  const env = { KUBECONFIG: kubeconfigPath, RUNTIME_NAMESPACE: 'flux-system', HOME: folder, TMPDIR: folder };
  const common = ['--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0', '--events-addr=', '--log-level=error'];
  const storage = `127.0.0.1:${await freePort()}`;
  const sourceFlags = [`--storage-path=${artifacts}`, `--storage-addr=${storage}`, `--storage-adv-addr=${storage}`];
  // Only sooner than by default.
  const kustomizeFlags = ['--requeue-dependency=500ms'];
  const controllers = [
    startInBackground(await goProgram(fluxSource), [...common, ...sourceFlags], env),
    startInBackground(await goProgram(fluxKustomize), [...common, ...kustomizeFlags], env),
  ];
  return {
    tail: () => controllers.map((controller) => controller.tail()).join('\n'),
    async stop() {
      for (const controller of controllers) await controller.stop();
      for (const each of definitions) await kubectl('delete', '--wait=false', '-f', each);
      await rm(folder, { recursive: true });
    },
  };
}

async function definitionsOf(program: GoProgram): Promise<string> {
  return join(await moduleFolder(program, program.package), 'config/crd/bases');
}
