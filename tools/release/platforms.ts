/** The platforms that have an executable of the kubectl plugin, under the names that Krew and Go use. */

export interface Platform {
  os: string;
  arch: string;
}

/** The license of Node, which each executable contains. */
export const NODE_LICENSE = 'LICENSE-node';

export const PLATFORMS: readonly Platform[] = ['linux', 'darwin', 'windows'].flatMap((os) =>
  ['amd64', 'arm64'].map((arch) => ({ os, arch })),
);

/** The executable's name in the folder with those of all platforms. */
export const executableOf = ({ os, arch }: Platform): string => `kubectl-vps-${os}-${arch}${suffixOf(os)}`;

/** The executable's name in its archive, and on the user's machine. */
export const programOf = ({ os }: Platform): string => `kubectl-vps${suffixOf(os)}`;

const suffixOf = (os: string): string => (os === 'windows' ? '.exe' : '');

/** `executableOf` for Node's `process.platform` and `process.arch`. Throws if that platform has no executable. */
export function executableName(platform: string, architecture: string): string {
  const os = platform === 'win32' ? 'windows' : platform;
  const arch = architecture === 'x64' ? 'amd64' : architecture;
  const found = PLATFORMS.find((one) => one.os === os && one.arch === arch);
  if (found !== undefined) return executableOf(found);
  throw new Error(`no executable for ${os} on ${arch}; there is one for ${PLATFORMS.map(executableOf).join(', ')}`);
}
