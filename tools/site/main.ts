/**
 * `npm run site`: builds the documentation as a static site in dist/site. With `--serve`, serves it on this machine. With
 * `--archives FOLDER`, puts the sites of released versions side by side instead (.github/workflows/release.yaml).
 */
import { execFile } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ROOT } from '../image-build.ts';
import { BASE, buildSite } from './build.ts';
import { serveSite } from './serve.ts';
import { writeRoot } from './versions.ts';

const OUT = join(ROOT, 'dist/site');

async function extract(archives: string): Promise<void> {
  await rm(OUT, { recursive: true, force: true });
  await mkdir(OUT, { recursive: true });
  for (const name of await readdir(archives))
    await promisify(execFile)('tar', ['-xzf', join(archives, name), '-C', OUT]);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { archives: { type: 'string' }, serve: { type: 'boolean' }, port: { type: 'string', default: '8100' } },
  });
  const { archives, serve, port } = values;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new Error(`--port must be a number from 0 to 65535, not "${port}"`);
  if (archives === undefined) await buildSite(OUT);
  else await extract(resolve(archives));
  console.log(`${relative(ROOT, OUT)}: version ${await writeRoot(OUT)} is shown first`);
  if (serve) console.log(`${(await serveSite(OUT, BASE, Number(port))).url} (Ctrl-C stops it)`);
}

try {
  await main();
} catch (error) {
  console.error(`npm run site: ${(error as Error).message}`);
  process.exitCode = 1;
}
