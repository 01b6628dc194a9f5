/** `npm run demo` when it is kept running, stopped early, or run on a terminal. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import { noTerminal, startTerminal } from '../integration/support/plugin.ts';
import { startNode } from '../integration/support/program.ts';

const ROOT = join(import.meta.dirname, '../..');
const DEMO = join(ROOT, 'tools/demo/main.ts');
/** A demo takes about 15 s, and took 147 s at a load of ten per core; this is only an upper bound. */
const LONG_MS = 240_000;

vi.setConfig({ testTimeout: 2 * LONG_MS });

/** An environment that puts a demo's temporary files below one folder, and that folder. */
async function ownFolder(): Promise<{ env: NodeJS.ProcessEnv; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-demo-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { env: { ...process.env, TMPDIR: folder }, folder };
}

/** What needs controllers, an elected operator, or its log. `run` is a shell in the demo's folder. */
async function behavesLikeACluster(run: (...lines: string[]) => Promise<string>): Promise<void> {
  expect(await run('kubectl vps doctor')).toMatch(/^✓ operator .* is alive, version /m);
  expect(await run('kubectl vps logs web')).toMatch(/ default\/web is Available /);
  expect(await run('kubectl logs -n vps-operator-system vps-operator --tail=1')).toMatch(/^\{.*\}\n$/);

  const follower = Number(await run('kubectl vps logs set/pair --follow > followed 2>&1 & echo $!'));
  onTestFinished(() => void process.kill(follower));
  const { apiVersion, spec } = parse(await run('cat server.yaml')) as { apiVersion: string; spec: object };
  const metadata = { name: 'pair' };
  const set = { apiVersion, kind: 'VirtualServerSet', metadata, spec: { replicas: 2, template: { spec } } };
  await run(`echo '${JSON.stringify(set)}' | kubectl apply -f -`, 'kubectl vps wait set/pair');
  await expect
    .poll(() => run('cat followed'), { timeout: LONG_MS })
    .toMatch(/ set default\/pair: set acted on a member/);

  const ofSet = '-l vps-operator.dev/set=pair';
  expect(await run(`kubectl get vps ${ofSet} -o name | wc -l`)).toMatch(/^ *2\n/);
  await run(`kubectl delete vpsset pair --cascade=foreground`);
  expect(await run(`kubectl get vps ${ofSet} -o name`)).toBe('');

  const counted = 'count/virtualservers.vps-operator.dev';
  await run(`kubectl create quota one --hard=${counted}=1`);
  await expect.poll(() => run('kubectl get quota one -o json'), { timeout: LONG_MS }).toContain('"used"');
  const refused = run('sed s/web/second/ server.yaml | kubectl apply -f -');
  await expect(refused).rejects.toThrow('exceeded quota: one');
}

describe('the demo', () => {
  it('keeps everything running with --keep, prints working commands, and cleans up on a signal', async () => {
    const { env, folder } = await ownFolder();
    const demo = startNode([DEMO, '--keep', '--api', 'public'], { env });
    await expect.poll(() => demo.stdout.join('\n'), { timeout: LONG_MS }).toContain('\nCtrl-C stops everything.');
    const commands = demo.stdout.slice(demo.stdout.findIndex((line) => line.startsWith('Everything is left')));
    const script = commands.filter((line) => line.startsWith('  ')).join('\n');
    // The operator still runs: the commands delete the object, which it has to release, and create it again.
    const sh = (...lines: string[]) => promisify(execFile)('/bin/sh', ['-ec', lines.join('\n')], { timeout: LONG_MS });
    const { stdout } = await sh(script);
    expect(stdout).toMatch(/^Plan: 1 to order; [^]*web-server is ready\n/m);
    expect(stdout).toMatch(/^web +Ready [^]*"web" deleted [^]*\/web created\n[^]*web is ready\n$/m);
    const shell = script.slice(0, script.indexOf('  kubectl'));
    await expect(sh(shell, 'kubectl delete crd virtualservers.vps-operator.dev')).rejects.toThrow('denied request');
    expect((await sh(shell, `kubectl __complete vps status ''`)).stdout).toMatch(/^web\tAvailable\n/);
    await behavesLikeACluster((...lines) => sh(shell, ...lines).then((result) => result.stdout));

    const kubeconfig = /export KUBECONFIG=(\S+)/.exec(script)?.[1] ?? '';
    const server = /server: (\S+)/.exec(await readFile(kubeconfig, 'utf8'))?.[1] ?? '';

    demo.kill('SIGINT');
    expect(await demo.ended).toBe(0);
    await expect(fetch(`${server}/livez`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    expect(await readdir(folder)).toEqual([]);
  });

  it('shows with --lost-order how an order without an answer is resolved, and that one server was created', async () => {
    const { env } = await ownFolder();
    const demo = startNode([DEMO, '--lost-order'], { env });
    expect(await demo.ended).toBe(0);
    const text = demo.stdout.join('\n').replaceAll('\n# ', ' ');
    const story = [
      '$ kubectl apply -f server.yaml',
      '$ kubectl vps wait web',
      'CreateOutcomeUnknown',
      '(exit code 4)',
      '$ kubectl vps status web',
      // It resolves the order within seconds.
      'This demo does not wait a minute',
      "provider's control panel: your servers\n  vs1001  running",
      '$ kubectl vps resolve web --adopt vs1001 --yes',
      'web is ready',
      'Server     vs1001',
      'provider: created vs1001, cancelled vs1001, still running none',
    ];
    const places = story.map((part, index) => text.indexOf(part, text.indexOf(story[index - 1] ?? '')));
    expect(places, text).toEqual(places.filter((place) => place >= 0).sort((a, b) => a - b));
    expect(places).toHaveLength(story.length);
    expect(demo.stderr).toEqual([]);
  });

  it.each(['simulated provider', '$ kubectl vps wait web'])(
    'leaves nothing behind when it is stopped at: %s',
    async (at) => {
      const { env, folder } = await ownFolder();
      const demo = startNode([DEMO], { env });
      await expect.poll(() => demo.stdout.some((line) => line.startsWith(at)), { timeout: LONG_MS }).toBe(true);
      demo.kill('SIGTERM');
      // The output ends when the last program that could write to it has exited.
      expect(await demo.ended).toBe(143);
      await expect.poll(() => readdir(folder)).toEqual([]);
      expect(demo.stderr).toEqual([]);
    },
  );

  it.skipIf(noTerminal !== undefined)('redraws in place on a terminal, and stops on Ctrl-C', async () => {
    const { env, folder } = await ownFolder();
    const session = startTerminal(`${process.execPath} ${DEMO}`, { cwd: ROOT, env, limitMs: LONG_MS });
    // eslint-disable-next-line no-control-regex
    await session.shows(/\r\u001b\[K\u001b\[\?7l. web {2}\[/);
    session.type('\u0003');
    expect(await session.ended).toBe(130);
    // The plugin shows the cursor again.
    const text = session.text();
    expect(text.lastIndexOf('\u001b[?25h')).toBeGreaterThan(text.lastIndexOf('\u001b[?25l'));
    expect(text.replaceAll('\u001b[?25h', '')).toMatch(/\r\nstopping\r\n$/);
    await expect.poll(() => readdir(folder)).toEqual([]);
  });
});
