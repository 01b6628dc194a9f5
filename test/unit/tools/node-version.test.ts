/** The Node versions in package.json match those everywhere else. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../../tools/image-build.ts';

const read = (name: string): Promise<string> => readFile(join(ROOT, name), 'utf8');

const manifest = JSON.parse(await read('package.json')) as {
  engines: { node: string };
  devEngines: { runtime: { version: string } };
  devDependencies: { node: string };
};
/** The Node that the source is written for. */
const source = manifest.devDependencies.node;

describe('the Node of package.json', () => {
  it('matches .nvmrc', async () => {
    expect((await read('.nvmrc')).trim()).toBe(source);
  });

  it('builds and runs the image', async () => {
    const major = source.split('.')[0];
    const text = await read('Dockerfile');
    expect([...new Set(text.match(/(?<=node:)\d[\d.]*(?=-slim)/g))]).toEqual([source]);
    expect([...new Set(text.match(/(?<=nodejs)\d+(?=-debian)/g))]).toEqual([major]);
  });

  it('matches the documents', async () => {
    const documents = (await readdir(join(ROOT, 'docs'), { recursive: true }))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`);
    const asked = new Map<string, string[]>();
    for (const name of ['README.md', 'CONTRIBUTING.md', ...documents])
      for (const [, version = ''] of (await read(name)).matchAll(/Node (\d+(?:\.\d+)?) or newer/g))
        asked.set(version, [...(asked.get(version) ?? []), name]);
    const oldest = manifest.engines.node.replace('>=', '');
    const start = manifest.devEngines.runtime.version.replace('>=', '');
    // `oldest` runs a bundle; `start` starts a command in a clone, which then uses the project's own Node.
    expect(Object.fromEntries([...asked].map(([version, names]) => [version, names.sort()]))).toEqual({
      [oldest]: [
        'README.md',
        'docs/how-to/install.md',
        'docs/how-to/release.md',
        'docs/reference/kubectl-plugin.md',
        'docs/reference/simulator.md',
      ],
      [start]: ['CONTRIBUTING.md', 'README.md', 'docs/getting-started.md'],
    });
  });
});
