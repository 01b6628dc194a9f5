import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import type { Metafile } from 'esbuild';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, BUNDLES, METAFILE } from '../../tools/bundle.ts';
import { imageName, ROOT, version } from '../../tools/image-build.ts';
import { embeddedNode } from '../../tools/release/executable.ts';
import { CHECKSUMS, writeRelease } from '../../tools/release/files.ts';
import { executableOf, NODE_LICENSE, PLATFORMS, type Platform } from '../../tools/release/platforms.ts';

const run = promisify(execFile);
/** Version of Node in the image, another one than in the executables. */
const IMAGE_NODE = '24.20.0';
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
    caveats: string;
    platforms: {
      selector: { matchLabels: Platform };
      uri: string;
      sha256: string;
      bin: string;
    }[];
  };
}

const archiveOf = ({ os, arch }: Platform): string => `kubectl-vps-${number}-${os}-${arch}.tar.gz`;
/** In place of a program: this test is about archives, and release-executable.test.ts runs the real program. */
const textOf = ({ os, arch }: Platform): string => `the plugin for ${os} on ${arch}\n`;

let folder: string;
let executables: string;
let site: string;
let out: string;
let number: string;
let names: string[];
let outputs: Metafile['outputs'];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-release-test-'));
  out = join(folder, 'release');
  number = await version();
  executables = join(folder, 'executables');
  await mkdir(executables);
  for (const platform of PLATFORMS) await writeFile(join(executables, executableOf(platform)), textOf(platform));
  await writeFile(join(executables, NODE_LICENSE), 'the license of Node\n');
  // In place of the site, which test/third-party/site.test.ts builds.
  site = join(folder, 'site');
  await mkdir(join(site, number), { recursive: true });
  await writeFile(join(site, number, 'index.html'), 'the documentation\n');
  names = await writeRelease(out, { node: IMAGE_NODE, digest: DIGEST, executables, site });
  const built = join(folder, 'built');
  await bundle(built);
  ({ outputs } = JSON.parse(await readFile(join(built, METAFILE), 'utf8')) as Metafile);
}, 300_000);
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
    const archives = [
      `vps-operator-${number}.tar.gz`,
      `vps-operator-docs-${number}.tar.gz`,
      ...PLATFORMS.map(archiveOf),
    ];
    expect(names.sort()).toEqual([...bills, ...archives, 'guards.yaml', 'install.yaml', 'vps.yaml', CHECKSUMS].sort());
    const { stdout } = await run('sha256sum', ['--check', '--strict', CHECKSUMS], { cwd: out });
    expect(stdout.trim().split('\n')).toHaveLength(names.length - 1);
  });

  it('has a manifest with which Krew finds the plugin in the archive of each platform', async () => {
    const { apiVersion, kind, metadata, spec } = parse(await readFile(join(out, 'vps.yaml'), 'utf8')) as KrewPlugin;
    expect([apiVersion, kind]).toEqual(['krew.googlecontainertools.github.com/v1alpha2', 'Plugin']);
    // The name becomes kubectl-vps; the version is semantic with a leading v.
    expect([metadata.name, spec.version]).toEqual(['vps', `v${number}`]);
    expect(spec.version).toMatch(/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/);
    expect(spec.shortDescription).not.toBe('');
    expect(spec.caveats).toContain('kubectl_complete-vps');
    expect(spec.platforms.map(({ selector }) => selector.matchLabels)).toEqual(PLATFORMS);
    const sums = await readFile(join(out, CHECKSUMS), 'utf8');
    for (const { selector, uri, sha256, bin } of spec.platforms) {
      const platform = selector.matchLabels;
      const archive = join(out, archiveOf(platform));
      expect(uri.endsWith(`/v${number}/${archiveOf(platform)}`)).toBe(true);
      expect(sums).toContain(`${sha256}  ${archiveOf(platform)}\n`);
      const { stdout: listed } = await run('tar', ['-tvzf', archive]);
      const files = listed.trim().split('\n');
      expect(files.map((line) => `${line.slice(0, 10)} ${line.split(' ').at(-1)}`)).toEqual([
        `-rwxr-xr-x ${bin}`,
        '-rw-r--r-- LICENSE',
        '-rw-r--r-- LICENSE-node',
      ]);
      expect(bin).toBe(platform.os === 'windows' ? 'kubectl-vps.exe' : 'kubectl-vps');
      const { stdout: program } = await run('tar', ['-xzOf', archive, bin]);
      expect(program).toBe(textOf(platform));
    }
  });

  it('is refused if a platform lacks its plugin', async () => {
    const incomplete = join(folder, 'incomplete');
    await cp(executables, incomplete, { recursive: true });
    await rm(join(incomplete, 'kubectl-vps-windows-arm64.exe'));
    const release = writeRelease(join(folder, 'lacking'), { node: IMAGE_NODE, executables: incomplete });
    await expect(release).rejects.toThrow('lacks kubectl-vps-windows-arm64.exe');
  });

  it('has the documentation of its version, as npm run site writes it', async () => {
    const archive = join(out, `vps-operator-docs-${number}.tar.gz`);
    const { stdout } = await run('tar', ['-xzOf', archive, `${number}/index.html`]);
    expect(stdout).toBe('the documentation\n');
    const wrong = writeRelease(join(folder, 'undocumented'), { node: IMAGE_NODE, site: join(site, number) });
    await expect(wrong).rejects.toThrow(`${number}/index.html is missing: run npm run site`);
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
    const wrong = writeRelease(join(folder, 'wrong'), { node: IMAGE_NODE, digest: 'latest' });
    await expect(wrong).rejects.toThrow('sha256:');
  });
});

describe('the bill of materials', () => {
  it.each(['operator', 'kubectl-vps', 'simulator'])('of %s names exactly its packages and Node', async (name) => {
    const { components } = await bill(name);
    const listed = components.map(
      (one) => `${one.group === undefined ? '' : `${one.group}/`}${one.name}@${one.version}`,
    );
    const node = name === 'kubectl-vps' ? await embeddedNode() : IMAGE_NODE;
    expect(listed.sort()).toEqual([...(await packagesIn(name)), `node@${node}`].sort());
    expect(components.filter(({ licenses }) => licenses === undefined)).toEqual([]);
  });

  it('is valid according to the CycloneDX schema', async () => {
    const text = await readFile(join(out, `operator-${number}.cdx.json`), 'utf8');
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
  });
});
