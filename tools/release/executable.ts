/**
 * The kubectl plugin as a single executable: the Node of this process with the plugin's bundle inside.
 *
 * Node makes an executable only for the platform on which it runs, and macOS needs its own tool for the signature. So the
 * release builds each executable on its own platform, where it can also run it.
 */
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bundlePluginScript } from '../bundle.ts';
import { ROOT } from '../image-build.ts';
import { executableName, NODE_LICENSE } from './platforms.ts';

const POSTJECT = join(ROOT, 'node_modules/postject/dist/cli.js');
/** What Node looks for: https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html */
const BLOB = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const run = promisify(execFile);

/** Writes the executable for this platform, and the license of Node, to the folder `out`; resolves with its path. */
export async function writeExecutable(out: string): Promise<string> {
  await checkNode();
  const path = join(out, executableName(process.platform, process.arch));
  const staging = await mkdtemp(join(tmpdir(), 'vps-operator-executable-'));
  try {
    const main = join(staging, 'kubectl-vps.cjs');
    await bundlePluginScript(main);
    const blob = join(staging, 'blob');
    const config = join(staging, 'sea.json');
    await writeFile(
      config,
      JSON.stringify({ main, output: blob, disableExperimentalSEAWarning: true, useCodeCache: true }),
    );
    await run(process.execPath, ['--experimental-sea-config', config]);
    await mkdir(out, { recursive: true });
    await writeFile(join(out, NODE_LICENSE), await nodeLicense());
    await copyFile(process.execPath, path);
    await chmod(path, 0o755);
    await insert(path, blob);
  } finally {
    await rm(staging, { recursive: true });
  }
  return path;
}

/** macOS runs no program whose signature does not match, so Node's signature is replaced by one without an identity. */
async function insert(path: string, blob: string): Promise<void> {
  const isMac = process.platform === 'darwin';
  if (isMac) await run('codesign', ['--remove-signature', path]);
  const segment = isMac ? ['--macho-segment-name', 'NODE_SEA'] : [];
  await run(process.execPath, [POSTJECT, path, BLOB, blob, '--sentinel-fuse', FUSE, ...segment]);
  if (isMac) await run('codesign', ['--sign', '-', path]);
}

/** The executable contains the Node that runs this, so it has to be the one in the bill of materials. */
async function checkNode(): Promise<void> {
  const wanted = await embeddedNode();
  const { node } = process.versions;
  if (node !== wanted) throw new Error(`the executable is built with Node ${wanted}; this is Node ${node}`);
}

/** The version of Node in the executables. */
export async function embeddedNode(): Promise<string> {
  return (await readFile(join(ROOT, '.nvmrc'), 'utf8')).trim();
}

/** The license is next to Node: in its archive for Windows or for other systems, or in the npm package. */
async function nodeLicense(): Promise<string> {
  const folder = dirname(process.execPath);
  for (const place of ['.', '..', `../node_modules/node-${process.platform}-${process.arch}`]) {
    const text = await readFile(join(folder, place, 'LICENSE'), 'utf8').catch(() => '');
    if (text.includes('Node.js is licensed')) return text;
  }
  throw new Error(`the LICENSE of Node is not next to ${process.execPath}: use the archive of nodejs.org`);
}
