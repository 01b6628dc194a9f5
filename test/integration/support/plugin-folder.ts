/** The bundled kubectl plugin in a folder with kubectl, for a PATH. */
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../../tools/bundle.ts';
import type { Running } from './broker.ts';

export async function makePluginFolder(kubectl: string): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-plugin-'));
  await bundle(join(folder, 'dist'));
  for (const name of ['kubectl-vps', 'kubectl_complete-vps'])
    await symlink(join(folder, 'dist/kubectl-vps.js'), join(folder, name));
  await symlink(kubectl, join(folder, 'kubectl'));
  return { facts: { folder }, stop: () => rm(folder, { recursive: true }) };
}
