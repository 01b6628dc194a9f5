/** Builds the site of this version with VitePress, whose packages are apart from the operator's. */
import { execFile } from 'node:child_process';
import { copyFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT, version } from '../image-build.ts';

export const SITE = join(ROOT, 'tools/site');
/** What the address of each page begins with, as GitHub Pages serves the repository; the version follows. */
export const BASE = '/vps-operator/';

const run = promisify(execFile);

async function install(): Promise<void> {
  const lock = join(SITE, 'package-lock.json');
  const installed = join(SITE, 'node_modules/.installed-lock.json');
  const wanted = await readFile(lock, 'utf8');
  if ((await readFile(installed, 'utf8').catch(() => '')) === wanted) return;
  console.error('installing VitePress (npm ci in tools/site); about half a minute');
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', args, { cwd: SITE, shell: process.platform === 'win32' });
  await copyFile(lock, installed);
}

/** Resolves with the folder in `out` that contains the site. Throws with the output of VitePress if the build fails. */
export async function buildSite(out: string, base = BASE): Promise<string> {
  await install();
  const number = await version();
  const folder = join(out, number);
  await rm(folder, { recursive: true, force: true });
  const vitepress = join(SITE, 'node_modules/vitepress/bin/vitepress.js');
  const args = [vitepress, 'build', SITE, '--base', `${base}${number}/`, '--outDir', folder];
  await run(process.execPath, args, { cwd: ROOT }).catch((error: unknown) => {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`VitePress could not build the site:\n${stdout}${stderr}`, { cause: error });
  });
  return folder;
}
