/** Applies a file of examples/ with the user's own repository and other changes that users make. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../integration/deploy/cluster.ts';

const EXAMPLE_URL = 'https://git.example.org/platform/servers.git';

export async function applyExample(
  kubectl: (...args: string[]) => Promise<string>,
  name: string,
  repositoryUrl: string,
  change = (text: string): string => text,
): Promise<void> {
  const text = await readFile(join(ROOT, 'examples', `${name}.yaml`), 'utf8');
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-applied-example-'));
  await writeFile(join(folder, 'example.yaml'), change(text.replaceAll(EXAMPLE_URL, repositoryUrl)));
  await kubectl('apply', '-f', folder);
  await rm(folder, { recursive: true });
}
