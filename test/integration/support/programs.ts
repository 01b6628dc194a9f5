/** The bundled operator, and the bundled kubectl plugin in a folder with kubectl, for a PATH. */
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../../tools/bundle.ts';
import type { Running } from './broker.ts';

export interface Programs {
  /** Has `kubectl` and the names of the plugin. */
  folder: string;
  operator: string;
  /** For NODE_COMPILE_CACHE. */
  compiled: string;
}

export async function makePrograms(kubectl: string): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-programs-'));
  await bundle(join(folder, 'dist'));
  for (const name of ['kubectl-vps', 'kubectl_complete-vps'])
    await symlink(join(folder, 'dist/kubectl-vps.js'), join(folder, name));
  await symlink(kubectl, join(folder, 'kubectl'));
  const facts: Programs = {
    folder,
    operator: join(folder, 'dist/operator.js'),
    compiled: join(folder, 'compiled'),
  };
  return { facts, stop: () => rm(folder, { recursive: true }) };
}
