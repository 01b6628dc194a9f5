/** A folder in which the demo's commands run as users type them: manifests, kubectl, its plugin. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { quoted } from '../../src/base/text.ts';

interface ShellOptions {
  folder: string;
  /** Contents by file name. */
  files: Record<string, string>;
  kubeconfig: string;
  /** Path of the program. */
  kubectl: string;
  /** Path of the plugin's bundle. */
  plugin: string;
}

/** Resolves with shell commands that enter this environment. */
export async function prepareShell({ folder, files, kubeconfig, kubectl, plugin }: ShellOptions): Promise<string[]> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await symlink(kubectl, join(bin, 'kubectl'));
  for (const name of ['kubectl-vps', 'kubectl_complete-vps']) {
    // The plugin sees by the name of its script what kubectl asks.
    const script = join(dirname(plugin), name);
    await symlink(plugin, script);
    const command = `exec ${quoted(process.execPath)} ${quoted(script)} "$@"`;
    await writeFile(join(bin, name), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return [
    `cd ${quoted(folder)}`,
    `export KUBECONFIG=${quoted(kubeconfig)}`,
    // Keeps kubectl's cache of a temporary cluster out of the home folder.
    `export KUBECACHEDIR=${quoted(join(folder, 'cache'))}`,
    `export PATH=${quoted(bin)}:$PATH`,
  ];
}
