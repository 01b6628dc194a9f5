import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, BUNDLES, METAFILE } from '../../tools/bundle.ts';
import { imageName, ROOT, version } from '../../tools/image-build.ts';
import { CHECKSUMS, writeRelease } from '../../tools/release-files.ts';

const run = promisify(execFile);
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

interface Bill {
  components: { group?: string; name: string; version: string; type: string; licenses?: unknown[] }[];
}

let folder: string;
let out: string;
let number: string;
let names: string[];
let outputs: Metafile['outputs'];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-release-test-'));
  out = join(folder, 'release');
  number = await version();
  names = await writeRelease(out, { node: '24.21.0', digest: DIGEST });
  const built = join(folder, 'built');
  await bundle(built);
  ({ outputs } = JSON.parse(await readFile(join(built, METAFILE), 'utf8')) as Metafile);
}, 180_000);
afterAll(() => rm(folder, { recursive: true }));

const bill = async (name: string): Promise<Bill> =>
  JSON.parse(await readFile(join(out, `${name}-${number}.cdx.json`), 'utf8')) as Bill;

/** `name@version` of every package that has left bytes in the bundle, by esbuild's account and node_modules. */
async function packagesIn(name: string): Promise<string[]> {
  const [, output] = Object.entries(outputs).find(([path]) => path.endsWith(`/${name}.js`)) ?? [];
  const folders = Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([path]) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const found = [...new Set(folders)].map(async (path) => {
    const text = await readFile(join(ROOT, path, 'package.json'), 'utf8');
    const { name: full, version: its } = JSON.parse(text) as { name: string; version: string };
    return `${full}@${its}`;
  });
  return (await Promise.all(found)).sort();
}

describe('a release', () => {
  it('has these files, and their checksums', async () => {
    const bills = BUNDLES.map((name) => name.replace('.js', `-${number}.cdx.json`));
    expect(names.sort()).toEqual([...bills, 'install.yaml', `vps-operator-${number}.tar.gz`, CHECKSUMS].sort());
    const { stdout } = await run('sha256sum', ['--check', '--strict', CHECKSUMS], { cwd: out });
    expect(stdout.trim().split('\n')).toHaveLength(names.length - 1);
  });

  it('has an archive of programs that run', async () => {
    const unpacked = join(folder, 'unpacked');
    await mkdir(unpacked);
    await run('tar', ['-xzf', join(out, `vps-operator-${number}.tar.gz`), '-C', unpacked]);
    const { stdout } = await run(process.execPath, [join(unpacked, 'operator.js'), '--version']);
    expect(stdout.trim()).toBe(number);
  });

  it('comes out the same when it is written again', async () => {
    const again = join(folder, 'again');
    await writeRelease(again, { node: '24.21.0', digest: DIGEST });
    expect(await readFile(join(again, CHECKSUMS), 'utf8')).toBe(await readFile(join(out, CHECKSUMS), 'utf8'));
  });

  it('installs the image by its digest', async () => {
    const text = await readFile(join(out, 'install.yaml'), 'utf8');
    expect(text.match(/^ +image: .*$/gm)).toEqual([expect.stringContaining(`image: ${await imageName()}@${DIGEST}`)]);
  });

  it('refuses what is no digest', async () => {
    const wrong = writeRelease(join(folder, 'wrong'), { node: '24.21.0', digest: 'latest' });
    await expect(wrong).rejects.toThrow('sha256:');
  });
});

describe('the bill of materials', () => {
  it.each(['operator', 'kubectl-vps', 'simulator'])(
    'of %s names the packages in it and Node, no others',
    async (name) => {
      const { components } = await bill(name);
      const listed = components.map(
        (one) => `${one.group === undefined ? '' : `${one.group}/`}${one.name}@${one.version}`,
      );
      expect(listed.sort()).toEqual([...(await packagesIn(name)), 'node@24.21.0'].sort());
      expect(components.filter(({ licenses }) => licenses === undefined)).toEqual([]);
    },
  );

  it('is what the schema of CycloneDX asks for', async () => {
    const text = await readFile(join(out, `operator-${number}.cdx.json`), 'utf8');
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
  });
});

describe('the Dockerfile', () => {
  it('is built on the Node that package.json names', async () => {
    const file = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
    const text = await readFile(join(ROOT, 'package.json'), 'utf8');
    const { node } = (JSON.parse(text) as { devDependencies: { node: string } }).devDependencies;
    expect(file).toContain(`BUILD_IMAGE=node:${node}-slim`);
    expect(file).toContain(`/nodejs${node.split('.')[0]}-`);
  });
});
