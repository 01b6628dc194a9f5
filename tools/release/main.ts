/**
 * `npm run release`: writes the files of a release to dist/release (docs/how-to/release.md).
 *
 *   --without-image     no image file, for machines without Docker
 *   --digest sha256:... digest of the pushed image, for install.yaml
 *
 * Arguments after a second `--` go to `docker build`.
 */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { buildImage, ROOT } from '../image-build.ts';
import { writeRelease } from './files.ts';

const OUT = join(ROOT, 'dist/release');

/** The Node of the built image; without an image, that of package.json, which the image uses. */
async function nodeVersion(image: string | undefined): Promise<string> {
  if (image === undefined) {
    const text = await readFile(join(ROOT, 'package.json'), 'utf8');
    return (JSON.parse(text) as { devDependencies: { node: string } }).devDependencies.node;
  }
  const args = ['run', '--rm', '--entrypoint=/nodejs/bin/node', image, '--version'];
  return (await promisify(execFile)('docker', args)).stdout.trim().replace(/^v/, '');
}

async function release(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { 'without-image': { type: 'boolean' }, digest: { type: 'string' } },
    allowPositionals: true,
  });
  const image = values['without-image'] === true ? undefined : await buildImage(positionals);
  const names = await writeRelease(OUT, { image, digest: values.digest, node: await nodeVersion(image) });
  for (const name of names) {
    const { size } = await stat(join(OUT, name));
    console.log(`dist/release/${name}  ${(size / 1024 / 1024).toFixed(2)} MiB`);
  }
}

try {
  await release();
} catch (error) {
  console.error(`npm run release: ${(error as Error).message}`);
  process.exitCode = 1;
}
