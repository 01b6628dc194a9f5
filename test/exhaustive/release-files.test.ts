import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import type { Metafile } from 'esbuild';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, BUNDLES, METAFILE } from '../../tools/bundle.ts';
import { imageName, ROOT, version } from '../../tools/image-build.ts';
import { CHECKSUMS, writeRelease } from '../../tools/release/files.ts';

const run = promisify(execFile);
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

interface Bill {
  components: { group?: string; name: string; version: string; type: string; licenses?: unknown[] }[];
}

/** The fields of https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest that the manifest has. */
interface KrewPlugin {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: {
    version: string;
    shortDescription: string;
    platforms: {
      selector: { matchExpressions: { key: string; operator: string; values: string[] }[] };
      uri: string;
      sha256: string;
      files: { from: string; to: string }[];
      bin: string;
    }[];
  };
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

/** `name@version` of every package with bytes in the bundle, according to esbuild and node_modules. */
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
    const archives = ['vps-operator', 'kubectl-vps'].map((name) => `${name}-${number}.tar.gz`);
    expect(names.sort()).toEqual([...bills, ...archives, 'guards.yaml', 'install.yaml', 'vps.yaml', CHECKSUMS].sort());
    const { stdout } = await run('sha256sum', ['--check', '--strict', CHECKSUMS], { cwd: out });
    expect(stdout.trim().split('\n')).toHaveLength(names.length - 1);
  });

  it('has a manifest with which Krew finds the plugin in its archive, on every platform', async () => {
    const { apiVersion, kind, metadata, spec } = parse(await readFile(join(out, 'vps.yaml'), 'utf8')) as KrewPlugin;
    expect([apiVersion, kind]).toEqual(['krew.googlecontainertools.github.com/v1alpha2', 'Plugin']);
    // The name becomes kubectl-vps; the version is semantic with a leading v.
    expect([metadata.name, spec.version]).toEqual(['vps', `v${number}`]);
    expect(spec.version).toMatch(/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/);
    expect(spec.shortDescription).not.toBe('');
    const [platform, ...others] = spec.platforms;
    expect(others).toEqual([]);
    const archive = `kubectl-vps-${number}.tar.gz`;
    expect(platform?.uri.endsWith(`/v${number}/${archive}`)).toBe(true);
    expect(await readFile(join(out, CHECKSUMS), 'utf8')).toContain(`${platform?.sha256}  ${archive}\n`);
    const selected = Object.fromEntries(
      platform?.selector.matchExpressions.map(({ key, values }) => [key, values]) ?? [],
    );
    expect(selected).toEqual({ os: ['linux', 'darwin'], arch: ['amd64', 'arm64'] });

    const installed = join(folder, 'krew');
    await mkdir(installed);
    await run('tar', ['-xzf', join(out, archive), '-C', installed]);
    for (const { from, to } of platform?.files ?? [])
      expect([to, await readFile(join(installed, from))]).toHaveLength(2);
    expect(platform?.files.map(({ from }) => from)).toContain(platform?.bin);
    // Krew links the program under the name that kubectl looks for.
    await symlink(join(installed, platform?.bin ?? ''), join(folder, 'kubectl-vps'));
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    expect((await run(join(folder, 'kubectl-vps'), ['--version'], { env })).stdout).toBe(`${number}\n`);
  });

  it('has an archive of working programs', async () => {
    const unpacked = join(folder, 'unpacked');
    await mkdir(unpacked);
    await run('tar', ['-xzf', join(out, `vps-operator-${number}.tar.gz`), '-C', unpacked]);
    const { stdout } = await run(process.execPath, [join(unpacked, 'operator.js'), '--version']);
    expect(stdout.trim()).toBe(number);
  });

  it('installs the image by its digest', async () => {
    const text = await readFile(join(out, 'install.yaml'), 'utf8');
    expect(text.match(/^ +image: .*$/gm)).toEqual([expect.stringContaining(`image: ${await imageName()}@${DIGEST}`)]);
  });

  it('rejects an invalid digest', async () => {
    const wrong = writeRelease(join(folder, 'wrong'), { node: '24.21.0', digest: 'latest' });
    await expect(wrong).rejects.toThrow('sha256:');
  });
});

describe('the bill of materials', () => {
  it.each(['operator', 'kubectl-vps', 'simulator'])('of %s names exactly its packages and Node', async (name) => {
    const { components } = await bill(name);
    const listed = components.map(
      (one) => `${one.group === undefined ? '' : `${one.group}/`}${one.name}@${one.version}`,
    );
    expect(listed.sort()).toEqual([...(await packagesIn(name)), 'node@24.21.0'].sort());
    expect(components.filter(({ licenses }) => licenses === undefined)).toEqual([]);
  });

  it('is valid according to the CycloneDX schema', async () => {
    const text = await readFile(join(out, `operator-${number}.cdx.json`), 'utf8');
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
  });
});
