/** `npm run demo`, in a pipe and on a terminal. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { blocksOf, patternOf, steady } from '../support/document.ts';
import { noTerminal, startTerminal } from '../support/plugin.ts';
import { startNode } from '../support/program.ts';

const ROOT = join(import.meta.dirname, '../../..');
const DEMO = join(ROOT, 'tools/demo/main.ts');
/** A demo takes about 15 s, and several times as long on a machine that is busy: this only bounds a wait in vain. */
const LONG_MS = 90_000;

vi.setConfig({ testTimeout: 2 * LONG_MS });

/** The environment of a demo whose temporary files are all below one folder, and that folder. */
async function ownFolder(): Promise<{ env: NodeJS.ProcessEnv; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-demo-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { env: { ...process.env, TMPDIR: folder }, folder };
}

describe('the demo', () => {
  it('shows the whole life of a server in order, as README.md has it, and ends with 0', async () => {
    const demo = startNode([DEMO]);
    expect(await demo.ended).toBe(0);
    const text = demo.stdout.join('\n');
    const story = [
      '$ kubectl wait --for=condition=Ready vpscat/catalog',
      '$ kubectl vps catalog',
      'ubuntu-24.04.qcow2/minimal   Ubuntu 24.04 LTS, minimal',
      '$ kubectl apply -f server.yaml',
      'web  [',
      'web is ready',
      '$ kubectl vps status web',
      'Ready: Available',
      '$ kubectl vps cost',
      'default     1         4.50',
      '$ kubectl delete vps web',
      'service: created vs1001, cancelled vs1001, still running none',
    ];
    const places = story.map((part) => text.indexOf(part));
    expect(places, text).toEqual(places.filter((place) => place >= 0).sort((a, b) => a - b));
    expect(places).toHaveLength(story.length);
    const [block = { language: '', text: '' }] = blocksOf(await readFile(join(ROOT, 'README.md'), 'utf8'), 'See it');
    expect(steady(`$ npm run demo\n${text}\n`)).toMatch(patternOf(block.text));
    expect(text).not.toContain('\u001b');
    expect(demo.stderr).toEqual([]);
  });

  it('leaves all running with --keep, for the commands that it names, until it gets a signal, and nothing behind', async () => {
    const { env, folder } = await ownFolder();
    const demo = startNode([DEMO, '--keep'], { env });
    await expect.poll(() => demo.stdout.join('\n'), { timeout: LONG_MS }).toContain('Ctrl-C stops everything');
    const commands = demo.stdout.slice(demo.stdout.findIndex((line) => line.startsWith('Everything is left')));
    const script = commands.filter((line) => line.startsWith('  ')).join('\n');
    // The operator is still there: the object goes only when it lets it go, and comes again.
    const { stdout } = await promisify(execFile)('/bin/sh', ['-ec', script], { timeout: LONG_MS });
    expect(stdout).toMatch(/^web +True +Available [^]*"web" deleted [^]*\/web created\n[^]*web is ready\n$/m);
    const kubeconfig = /export KUBECONFIG=(\S+)/.exec(script)?.[1] ?? '';
    const server = /server: (\S+)/.exec(await readFile(kubeconfig, 'utf8'))?.[1] ?? '';

    demo.kill('SIGINT');
    expect(await demo.ended).toBe(0);
    await expect(fetch(`${server}/livez`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(['simulated service', '$ kubectl vps wait web'])(
    'leaves nothing behind when it is ended at: %s',
    async (at) => {
      const { env, folder } = await ownFolder();
      const demo = startNode([DEMO], { env });
      await expect.poll(() => demo.stdout.some((line) => line.startsWith(at)), { timeout: LONG_MS }).toBe(true);
      demo.kill('SIGTERM');
      // Its output ends when the last program that could write to it is gone.
      expect(await demo.ended).toBe(143);
      await expect.poll(() => readdir(folder)).toEqual([]);
      expect(demo.stderr).toEqual([]);
    },
  );

  it.skipIf(noTerminal !== undefined)('draws in place on a terminal, and ends at Ctrl-C', async () => {
    const { env, folder } = await ownFolder();
    const session = startTerminal(`${process.execPath} ${DEMO}`, { cwd: ROOT, env });
    // eslint-disable-next-line no-control-regex
    await session.shows(/\r\u001b\[Kweb {2}\[/);
    session.type('\u0003');
    expect(await session.ended).toBe(130);
    expect(session.text()).toMatch(/\r\nstopping\r\n$/);
    await expect.poll(() => readdir(folder)).toEqual([]);
  });

  it('says in one line what is wrong with its flags and ends with 2', async () => {
    const demo = startNode([DEMO, '--kep']);
    expect(await demo.ended).toBe(2);
    expect(demo.stderr).toEqual([expect.stringContaining("'--kep'")]);
  });

  it('says why it cannot start and ends with 1', async () => {
    const demo = startNode([DEMO], { env: { ...process.env, KUBEBUILDER_ASSETS: '/nowhere' } });
    expect(await demo.ended).toBe(1);
    expect(demo.stderr).toEqual([expect.stringContaining('KUBEBUILDER_ASSETS is /nowhere')]);
  });
});
