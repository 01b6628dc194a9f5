/** The manifests of examples/operator, with this checkout in place of the remote version. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './judge.ts';

const REMOTE = /https:\/\/github\.com\/vps-operator\/vps-operator\/\/(\S+)\?ref=v[0-9.]+/;

/** Resolves with the output of `kubectl kustomize`. */
export async function operatorExample(kubectl: (...args: string[]) => Promise<string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-example-'));
  try {
    await cp(join(ROOT, 'deploy'), join(folder, 'deploy'), { recursive: true });
    const text = await readFile(join(ROOT, 'examples/operator/kustomization.yaml'), 'utf8');
    await writeFile(join(folder, 'kustomization.yaml'), text.replace(REMOTE, '$1'));
    return await kubectl('kustomize', folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
