/** `npm run demo`, as it runs where there is no terminal. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startNode } from './support/program.ts';

const DEMO = join(import.meta.dirname, '../../src/cli/demo.ts');

describe('the demo', () => {
  it('shows the whole life of a server in order and ends with 0', async () => {
    const demo = startNode([DEMO]);
    expect(await demo.ended).toBe(0);
    const text = demo.stdout.join('\n');
    const story = [
      'virtualserver.vps-operator.dev/web created',
      'Creating',
      'Installing OS',
      'Ready=True  Available',
      '$ ssh root@',
      '$ kubectl delete vps web',
      'vps/web is gone',
      'service: created vs1001, cancelled vs1001, still running none',
    ];
    const places = story.map((part) => text.indexOf(part));
    expect(places, text).toEqual(places.filter((place) => place >= 0).sort((a, b) => a - b));
    expect(places).toHaveLength(story.length);
    expect(text).not.toContain('\u001b');
    expect(demo.stderr).toEqual([]);
  });

  it('leaves all running with --keep until it gets a signal, and nothing behind', async () => {
    const demo = startNode([DEMO, '--keep']);
    await expect.poll(() => demo.stdout.join('\n')).toContain('Ctrl-C stops everything');
    const text = demo.stdout.join('\n');
    const kubeconfig = /export KUBECONFIG=(\S+)/.exec(text)?.[1] ?? '';
    const kubectl = `${/export PATH=([^:]+):\$PATH/.exec(text)?.[1] ?? ''}/kubectl`;
    const run = promisify(execFile);
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    expect((await run(kubectl, ['get', 'vps', 'web'], { env })).stdout).toContain('Available');
    // The operator is still there: the object goes only when it lets it go.
    await run(kubectl, ['delete', 'vps', 'web', '--timeout=20s'], { env });
    const server = /server: (\S+)/.exec(await readFile(kubeconfig, 'utf8'))?.[1] ?? '';

    demo.kill('SIGINT');
    expect(await demo.ended).toBe(0);
    await expect(fetch(`${server}/livez`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await expect(readFile(kubeconfig)).rejects.toMatchObject({ code: 'ENOENT' });
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
