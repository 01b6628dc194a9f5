/** The files of a release: bundles, plugin, manifests, bills of materials and checksums. See docs/how-to/release.md. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { bundle, BUNDLES, METAFILE, PLUGIN } from '../bundle.ts';
import { imageName, ROOT, version as projectVersion } from '../image-build.ts';
import { embeddedNode } from './executable.ts';
import { writeKrewManifest, type PluginArchive } from './krew.ts';
import { executableOf, NODE_LICENSE, PLATFORMS, programOf } from './platforms.ts';
import { writeBillOfMaterials } from './sbom.ts';

export const CHECKSUMS = 'SHA256SUMS';
const run = promisify(execFile);

export interface ReleaseOptions {
  /** `sha256:...` of the image in its registry, which install.yaml then uses. */
  digest?: string | undefined;
  /** Version of Node in the image. */
  node: string;
  /** Folder with the plugin's executable of each platform; without it, the release has neither them nor Krew's manifest. */
  executables?: string | undefined;
  /** Folder that `npm run site` has written; without it, the release has no archive of the documentation. */
  site?: string | undefined;
}

/** Empties `out` and writes the release to it; resolves with the file names. Throws an error that says what failed. */
export async function writeRelease(
  out: string,
  { digest, node, executables, site }: ReleaseOptions,
): Promise<string[]> {
  const manifest = await pinned(digest);
  if (executables !== undefined) await checkExecutables(executables);
  if (site !== undefined) await checkSite(site);
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const staging = await mkdtemp(join(tmpdir(), 'vps-operator-release-'));
  try {
    const version = await bundle(staging);
    await copyFile(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
    await pack(staging, join(out, `vps-operator-${version}.tar.gz`), [...BUNDLES, 'package.json', 'LICENSE']);
    if (executables !== undefined) {
      const archives = await packExecutables(executables, staging, out, version);
      await writeKrewManifest(archives, version, join(out, 'vps.yaml'));
    }
    if (site !== undefined) await pack(site, join(out, `vps-operator-docs-${version}.tar.gz`), [version]);
    for (const name of BUNDLES) {
      const bill = join(out, `${name.replace(/\.js$/, '')}-${version}.cdx.json`);
      const runtime = name === PLUGIN ? await embeddedNode() : node;
      await writeBillOfMaterials(join(staging, METAFILE), name, runtime, bill);
    }
    await writeFile(join(out, 'install.yaml'), manifest);
    await copyFile(join(ROOT, 'deploy/guards.yaml'), join(out, 'guards.yaml'));
  } finally {
    await rm(staging, { recursive: true });
  }
  return writeChecksums(out);
}

async function checkExecutables(folder: string): Promise<void> {
  const found = new Set(await readdir(folder));
  const missing = [...PLATFORMS.map(executableOf), NODE_LICENSE].filter((name) => !found.has(name));
  if (missing.length > 0) throw new Error(`${folder} lacks ${missing.join(', ')}`);
}

async function checkSite(folder: string): Promise<void> {
  const page = join(folder, await projectVersion(), 'index.html');
  if (!existsSync(page)) throw new Error(`${page} is missing: run npm run site`);
}

/** One archive for each platform; Windows has had tar since version 10, so it gets the same format. */
async function packExecutables(from: string, staging: string, out: string, version: string): Promise<PluginArchive[]> {
  const archives: PluginArchive[] = [];
  await copyFile(join(from, NODE_LICENSE), join(staging, NODE_LICENSE));
  for (const platform of PLATFORMS) {
    const program = programOf(platform);
    await copyFile(join(from, executableOf(platform)), join(staging, program));
    // The artifacts of a workflow lose the mode.
    await chmod(join(staging, program), 0o755);
    const { os, arch } = platform;
    const path = join(out, `kubectl-vps-${version}-${os}-${arch}.tar.gz`);
    await pack(staging, path, [program, 'LICENSE', NODE_LICENSE]);
    archives.push({ platform, path });
  }
  return archives;
}

/** Packs reproducibly: the same files always give the same archive. Needs GNU tar, which any Linux has. */
async function pack(folder: string, archive: string, files: readonly string[]): Promise<void> {
  const reproducible = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go=rX'];
  await run('tar', [...reproducible, '--use-compress-program=gzip -n', '-cf', archive, '-C', folder, ...files]);
}

/** Pins the image by its digest, so that it stays the same even if the tag moves. */
async function pinned(digest: string | undefined): Promise<string> {
  const text = await readFile(join(ROOT, 'deploy/install.yaml'), 'utf8');
  if (digest === undefined) return text;
  if (!/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new Error(`${digest} is not a digest; use sha256: followed by 64 hex digits`);
  const name = await imageName();
  if (!text.includes(`image: ${name}\n`)) throw new Error(`deploy/install.yaml does not use the image ${name}`);
  return text.replaceAll(`image: ${name}\n`, `image: ${name}@${digest}\n`);
}

/** In the format of `sha256sum --check`. */
async function writeChecksums(out: string): Promise<string[]> {
  const names = (await readdir(out)).sort();
  const lines: string[] = [];
  for (const name of names) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(out, name)), hash);
    lines.push(`${hash.digest('hex')}  ${name}\n`);
  }
  await writeFile(join(out, CHECKSUMS), lines.join(''));
  return [...names, CHECKSUMS];
}
