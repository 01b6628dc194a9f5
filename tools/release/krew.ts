/** The manifest with which Krew installs a release's plugin. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { ROOT } from '../image-build.ts';
import { programOf, type Platform } from './platforms.ts';

const DOWNLOADS = 'https://github.com/vps-operator/vps-operator/releases/download';

export interface PluginArchive {
  platform: Platform;
  path: string;
}

/** Adds these archives to deploy/krew/vps.yaml, and writes it to `out`. */
export async function writeKrewManifest(archives: PluginArchive[], version: string, out: string): Promise<void> {
  const template = await readFile(join(ROOT, 'deploy/krew/vps.yaml'), 'utf8');
  // The comment before the object is about the template.
  const object = template.slice(template.indexOf('apiVersion:')).replaceAll('VERSION', version);
  const platforms = await Promise.all(archives.map((archive) => entry(archive, version)));
  await writeFile(out, object + stringify({ spec: { platforms } }, { lineWidth: 0 }).replace('spec:\n', ''));
}

async function entry({ platform, path }: PluginArchive, version: string): Promise<object> {
  const sha256 = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  return {
    selector: { matchLabels: { os: platform.os, arch: platform.arch } },
    uri: `${DOWNLOADS}/v${version}/${basename(path)}`,
    sha256,
    bin: programOf(platform),
  };
}
