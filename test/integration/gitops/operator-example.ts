/** The folder of examples/operator, with this checkout in place of the remote version. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../deploy/cluster.ts';

const REMOTE = /https:\/\/github\.com\/vps-operator\/vps-operator\/\/(\S+)\?ref=v[0-9.]+/;
const LITERALS = /^( +)- VPS_BASE_URL=.*\n +- VPS_AUTH_URL=.*\n/m;

/**
 * A Git repository with the example in its folder `operator`, by path; with the settings of the example or with these, and with
 * this text at the end of its kustomization.
 */
export async function operatorRepository(
  settings?: Record<string, string>,
  added = '',
): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const folder of ['deploy/crds', 'deploy/manifests']) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile())) {
      const path = join(entry.parentPath, entry.name);
      files[path.slice(ROOT.length + 1)] = await readFile(path, 'utf8');
    }
  }
  const text = await readFile(join(ROOT, 'examples/operator/kustomization.yaml'), 'utf8');
  if (!LITERALS.test(text)) throw new Error('examples/operator has no literals with the URLs of the provider');
  const literals = Object.entries(settings ?? {}).map(([name, value]) => `$1- ${name}=${value}\n`);
  const replaced = text.replace(REMOTE, '../$1').replace(LITERALS, settings === undefined ? '$&' : literals.join(''));
  files['operator/kustomization.yaml'] = replaced + added;
  return files;
}

/** Resolves with the output of `kubectl kustomize`. */
export async function operatorExample(
  kubectl: (...args: string[]) => Promise<string>,
  settings?: Record<string, string>,
  added?: string,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-example-'));
  try {
    for (const [path, text] of Object.entries(await operatorRepository(settings, added))) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return await kubectl('kustomize', join(folder, 'operator'));
  } finally {
    await rm(folder, { recursive: true });
  }
}
