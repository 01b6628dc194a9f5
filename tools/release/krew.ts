/** The manifest with which Krew installs a release's plugin. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../image-build.ts';

/** Fills in deploy/krew/vps.yaml for this archive, and writes it to `out`. */
export async function writeKrewManifest(archive: string, version: string, out: string): Promise<void> {
  const template = await readFile(join(ROOT, 'deploy/krew/vps.yaml'), 'utf8');
  // The comment before the object is about the template.
  const object = template.slice(template.indexOf('apiVersion:'));
  const sha256 = createHash('sha256')
    .update(await readFile(archive))
    .digest('hex');
  await writeFile(out, object.replaceAll('VERSION', version).replaceAll('SHA256', sha256));
}
