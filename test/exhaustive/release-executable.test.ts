/** The plugin's executable for this platform: without Node on the PATH, against a real API server. */
import { execFile } from 'node:child_process';
import { copyFile, link, mkdir, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { EXIT } from '../../src/plugin/terminal/failure.ts';
import { ROOT, version } from '../../tools/image-build.ts';
import { writeExecutable } from '../../tools/release/executable.ts';
import { executableName, NODE_LICENSE } from '../../tools/release/platforms.ts';
import { virtualServer } from '../fixtures/virtual-server.ts';
import { createWorld } from '../integration/support/world.ts';

const run = promisify(execFile);
/** Only an upper bound: it took 5 s of CPU time. */
const BUILD_MS = 300_000;
const EXECUTABLE = executableName(process.platform, process.arch);
const TOLERANCE = 0.15;
const megabytes = async (path: string): Promise<number> => (await stat(path)).size / 1e6;

describe('the executable of the plugin', () => {
  let folder: string;
  /** Only kubectl and the plugin, as Krew installs it: the file in one folder, links to it in another. */
  let path: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vps-operator-executable-test-'));
    const executable = await writeExecutable(join(folder, 'store'));
    path = join(folder, 'bin');
    await mkdir(path);
    for (const name of ['kubectl-vps', 'kubectl_complete-vps']) await symlink(executable, join(path, name));
    const kubectl = inject('kubectl');
    await link(kubectl, join(path, 'kubectl')).catch(() => copyFile(kubectl, join(path, 'kubectl')));
  }, BUILD_MS);
  afterAll(() => rm(folder, { recursive: true }));

  const kubectl = (...words: string[]): Promise<{ stdout: string; stderr: string }> =>
    run(join(path, 'kubectl'), words, { env: { PATH: path, HOME: folder, KUBECONFIG: inject('kubeconfigPath') } });

  it('runs without Node, and prints only its version', async () => {
    expect(await kubectl('vps', '--version')).toEqual({ stdout: `${await version()}\n`, stderr: '' });
  });

  it('shows, awaits and completes the servers of a cluster', async () => {
    const world = await createWorld();
    await world.create(virtualServer('web'));
    const inNamespace = ['--namespace', world.namespace];
    expect((await kubectl('vps', 'wait', 'web', ...inNamespace)).stdout).toBe('web is ready\n');
    const status = JSON.parse((await kubectl('vps', 'status', 'web', '-o', 'json', ...inNamespace)).stdout) as object;
    expect(status).toMatchObject({ kind: 'VirtualServer', metadata: { name: 'web', namespace: world.namespace } });
    expect((await kubectl('__complete', 'vps', 'status', ...inNamespace, '')).stdout).toBe('web\tAvailable\n:4\n');
  });

  it('exits with the code of its failure', async () => {
    const missing = kubectl('vps', 'status', 'nope', '--namespace', 'default');
    await expect(missing).rejects.toMatchObject({
      code: EXIT.notFound,
      stderr: expect.stringContaining('nope') as string,
    });
  });

  // The executable for Linux on amd64; others differ by some MB.
  it.each(['docs/reference/kubectl-plugin.md', 'docs/how-to/release.md'])(
    'has the size that %s names',
    async (page) => {
      const store = join(folder, 'store');
      const archive = join(folder, 'archive');
      await run('tar', ['-czf', archive, '-C', store, '.']);
      const unpacked = await megabytes(join(store, EXECUTABLE));
      const packed = await megabytes(archive);
      const text = (await readFile(join(ROOT, page), 'utf8')).replaceAll(/\s+/g, ' ');
      const [, file, download] = /plugin is (\d+) MB, its archive (\d+) MB/.exec(text) ?? [];
      expect(Math.abs(Number(file) - unpacked) / unpacked).toBeLessThan(TOLERANCE);
      expect(Math.abs(Number(download) - packed) / packed).toBeLessThan(TOLERANCE);
    },
  );

  it('comes with the license of the Node that it contains', async () => {
    expect(await readFile(join(folder, 'store', NODE_LICENSE), 'utf8')).toContain('Node.js contributors');
  });
});
