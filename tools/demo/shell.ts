/** A folder in which the commands of the demo run as a person would type them: manifests, kubectl, its plugin. */
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quoted } from '../../src/base/shell.ts';

const PLUGIN = join(import.meta.dirname, '../../src/cli/vps/main.ts');

interface ShellOptions {
  folder: string;
  /** Texts by the names of their files. */
  files: Record<string, string>;
  kubeconfig: string;
  /** Path of the program. */
  kubectl: string;
}

/** Resolves with the lines that bring a shell of this machine there. */
export async function prepareShell({ folder, files, kubeconfig, kubectl }: ShellOptions): Promise<string[]> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await symlink(kubectl, join(bin, 'kubectl'));
  const plugin = join(bin, 'kubectl-vps');
  // From the source: a fresh clone holds no bundle.
  await writeFile(plugin, `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(PLUGIN)} "$@"\n`);
  await chmod(plugin, 0o755);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return [
    `cd ${quoted(folder)}`,
    `export KUBECONFIG=${quoted(kubeconfig)}`,
    // What kubectl remembers of a cluster that is soon gone must not stay in the home folder.
    `export KUBECACHEDIR=${quoted(join(folder, 'cache'))}`,
    `export PATH=${quoted(bin)}:$PATH`,
  ];
}
