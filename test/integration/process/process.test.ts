/** The operator's bundle as a user runs it: one file, plain Node, no node_modules. */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { bundle } from '../../../tools/bundle.ts';
import { startNode, type Program } from '../support/program.ts';
import { hasSshd, startSshd } from '../support/sshd.ts';
import { createWorld, type World } from '../support/world.ts';

let folder: string;
let version: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-bundle-'));
  version = await bundle(join(folder, 'built'));
  await mkdir(join(folder, 'operator'));
  await copyFile(join(folder, 'built/operator.js'), join(folder, 'operator/operator.js'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs in a folder that contains only the bundle, with an empty environment. */
function start(...args: string[]): Program {
  return startNode(['operator.js', ...args], { cwd: join(folder, 'operator'), env: {} });
}

const startFor = ({ simulator: { baseUrl, authUrl }, namespace }: World): Program =>
  start(
    ...[`--base-url=${baseUrl}`, `--auth-url=${authUrl}`, `--kubeconfig=${inject('operatorKubeconfigPath')}`],
    ...[
      `--watch-namespace=${namespace}`,
      '--poll-interval=100ms',
      '--ssh-check-private-addresses',
      `--journal-dir=${join(folder, namespace)}`,
    ],
  );

const URLS = ['--base-url=http://127.0.0.1:9', '--auth-url=http://127.0.0.1:9'];

describe('the operator bundle', () => {
  it('orders and cancels a server, and exits with 0 on SIGTERM', async () => {
    const world = await createWorld({ operator: false });
    const program = startFor(world);
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'Available', 'Ready');
    await world.delete('web');
    await world.waitGone('web');
    program.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(program.stderr).toEqual([]);
    const messages = program.stdout.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages).toContain('operator runs');
    expect(messages.at(-1)).toBe('operator stopped');
  });

  it.skipIf(!hasSshd)('learns the host key of a real SSH server, and keeps running', async () => {
    const sshd = await startSshd(['rsa', 'ecdsa', 'ed25519']);
    const world = await createWorld({ operator: false });
    const program = startFor(world);
    await world.create(virtualServer('web'));
    const { status } = await world.waitForReason('web', 'Available', 'Ready');
    const ssh_proxy = { hostname: '127.0.0.1', port: sshd.port };
    world.simulator.fleet.updateServer(status?.identifier ?? '', { ssh_proxy });
    await world.patch('web', { spec: { sshCheck: 'Proxy' } });
    const { status: checked } = await world.waitFor('web', (object) => object.status?.sshHostKeys !== undefined);
    expect(checked?.sshHostKeys).toMatchObject([{ type: 'ssh-ed25519', fingerprint: await sshd.fingerprint() }]);
    program.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.stderr).toEqual([]);
  });

  it('prints its version and its flags', async () => {
    const [versioned, helped] = [start('--version'), start('--help')];
    expect(await versioned.ended).toBe(0);
    expect(versioned.stdout).toEqual([version]);
    expect(await helped.ended).toBe(0);
    expect(helped.stdout.join('\n')).toContain('--base-url URL');
  });

  it.for([
    { what: 'nothing', args: [], says: '--base-url' },
    { what: 'an unknown flag', args: [...URLS, '--pol-interval=5s'], says: 'did you mean --poll-interval?' },
  ])('reports the error in one line and exits with 2 for $what', async ({ args, says }) => {
    const program = start(...args);
    expect(await program.ended).toBe(2);
    expect(program.stdout).toEqual([]);
    expect(program.stderr).toHaveLength(1);
    expect(program.stderr[0]).toContain(says);
  });

  it.for([
    {
      args: ['--kubeconfig=/nowhere/config'],
      says: '--kubeconfig /nowhere/config cannot be loaded: no such file or directory',
    },
    { args: ['--journal-dir=/dev/null'], says: '--journal-dir /dev/null cannot be used: EEXIST' },
    {
      args: ['--metrics-bind-address=192.0.2.1:80'],
      says: '--metrics-bind-address 192.0.2.1:80: cannot listen on this address',
    },
  ])('exits with 1 and names the flag whose value does not work on this machine: $args', async ({ args, says }) => {
    const program = start(...URLS, `--kubeconfig=${inject('kubeconfigPath')}`, ...args);
    expect(await program.ended).toBe(1);
    expect(JSON.parse(program.stdout.at(-1) ?? '')).toMatchObject({
      level: 'fatal',
      err: { message: expect.stringContaining(says) as string },
    });
  });

  it('logs an error that nothing has caught, and exits with 1', async () => {
    const late =
      "--import=data:text/javascript,setTimeout(() => Promise.reject(new Error('nobody waits for this')), 1000)";
    const kubeconfig = `--kubeconfig=${inject('kubeconfigPath')}`;
    const program = startNode([late, 'operator.js', ...URLS, kubeconfig], { cwd: join(folder, 'operator'), env: {} });
    expect(await program.ended).toBe(1);
    expect(program.stderr).toEqual([]);
    expect(JSON.parse(program.stdout.at(-1) ?? '')).toMatchObject({
      level: 'fatal',
      err: { message: 'nobody waits for this' },
    });
  });

  it('waits for an unreachable API server, logs that, and still exits with 0 on SIGTERM', async () => {
    const kubeconfig = join(folder, 'unreachable.kubeconfig');
    const text = await readFile(inject('kubeconfigPath'), 'utf8');
    await writeFile(kubeconfig, text.replace(/server: .*/, 'server: https://127.0.0.1:9'));
    const program = start(...URLS, `--kubeconfig=${kubeconfig}`);
    await expect.poll(() => program.stdout.join('\n')).toContain('cannot watch the API server; retrying');
    program.kill('SIGTERM');
    expect(await program.ended).toBe(0);
  });
});
