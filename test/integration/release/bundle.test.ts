import type { Metafile } from 'esbuild';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, BUNDLES, METAFILE, PLUGIN } from '../../../tools/bundle.ts';
import { ROOT } from '../../../tools/image-build.ts';

describe('the bundles, in a folder without node_modules', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vps-operator-bundle-'));
    await bundle(folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('contain the dependencies of package.json and no other packages, so an audit covers all of them', async () => {
    const { inputs } = JSON.parse(await readFile(join(folder, METAFILE), 'utf8')) as Metafile;
    const imported = Object.entries(inputs)
      .filter(([path]) => path.startsWith('src/'))
      .flatMap(([, { imports }]) => imports)
      .flatMap(({ path }) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
    const text = await readFile(join(ROOT, 'package.json'), 'utf8');
    const { dependencies } = JSON.parse(text) as { dependencies: Record<string, string> };
    expect([...new Set(imported)].sort()).toEqual(Object.keys(dependencies).sort());
  });

  it.each(BUNDLES)('name the required Node version on an older one: %s', async (name) => {
    // An older Node exports fewer names, and an import of a missing one fails before any code runs.
    const old = `import { registerHooks } from 'node:module';
      Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.0' } });
      registerHooks({
        load: (url, context, next) =>
          url === 'node:util' ? { format: 'module', source: '', shortCircuit: true } : next(url, context),
      });`;
    const words = ['--import', `data:text/javascript,${encodeURIComponent(old)}`, join(folder, name), '--version'];
    const wayOut = name === PLUGIN ? 'To build a plugin that contains Node, .*: npm run release -- executable\n' : '';
    const says = new RegExp(`^Node 22\\.19 or newer is needed; this is v\\S+\n${wayOut}$`);
    await expect(promisify(execFile)(process.execPath, words)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(says) as string,
    });
  });

  it.each(BUNDLES)('have only ASCII, of which V8 keeps one byte for each character: %s', async (name) => {
    expect(await readFile(join(folder, name), 'utf8')).not.toMatch(/[^\0-\x7f]/);
  });

  it('have a simulator that serves requests', async () => {
    const simulator = spawn(process.execPath, [join(folder, 'simulator.js')], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(simulator, 'exit');
    const [line] = (await once(simulator.stdout, 'data')) as [Buffer];
    const { baseUrl } = JSON.parse(line.toString()) as { baseUrl: string };
    expect((await fetch(baseUrl)).status).toBeGreaterThanOrEqual(400);
    simulator.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});
