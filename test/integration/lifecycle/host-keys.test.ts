/** status.sshHostKeys: the keys of a real sshd, which stay until you accept another one. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { ACCEPT_HOST_KEY_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { createClient } from '../../../src/kube/client.ts';
import { SECRETS } from '../../../src/kube/kinds.ts';
import { withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer } from '../support/records.ts';
import { hasRootSshd, hasSshd, startSshd, type Sshd } from '../support/sshd.ts';
import { condition, createWorld, type World } from '../support/world.ts';

async function web(world: World): Promise<VirtualServer> {
  const object = await world.get('web');
  if (object === undefined) throw new Error('web is gone');
  return object;
}

const keysOf = ({ status }: VirtualServer): string[] => (status?.sshHostKeys ?? []).map((key) => key.fingerprint);

/** A checked server behind this sshd, with a connection Secret. */
async function pinnedServer(sshd: Pick<Sshd, 'port'>, known: (object: VirtualServer) => boolean): Promise<World> {
  const world = await createWorld({ flags: ['--resync-interval=1s', '--connection-secrets'] });
  const { status } = await readyServer(world, 'web', withSpec({ connectionSecretName: 'web-connection' }));
  const ssh_proxy = { hostname: '127.0.0.1', port: sshd.port };
  world.simulator.fleet.updateServer(status?.identifier ?? '', { ssh_proxy, ipv6: ['2001:db8::22'] });
  await world.patch('web', { spec: { sshCheck: 'Proxy' } });
  await world.waitFor('web', known);
  return world;
}

async function knownHostsOf(world: World): Promise<string> {
  const secret = await createClient(world.http, SECRETS).get(world.namespace, 'web-connection');
  return secret?.data.known_hosts ?? '';
}

/** `ssh` as you would run it with the file from the Secret; resolves with what it says. */
async function logIn(sshd: Sshd, knownHosts: string): Promise<string> {
  const file = join(sshd.folder, 'known_hosts');
  await writeFile(file, knownHosts);
  const options = [
    `UserKnownHostsFile=${file}`,
    'GlobalKnownHostsFile=/dev/null',
    'StrictHostKeyChecking=yes',
    'BatchMode=yes',
  ];
  const args = [...options.flatMap((option) => ['-o', option]), '-i', sshd.identityFile, '-p', String(sshd.port)];
  const run = promisify(execFile)('ssh', ['-F', '/dev/null', ...args, 'root@127.0.0.1', 'echo', 'in']);
  return run.then(
    ({ stdout }) => stdout.trim(),
    (error: unknown) => (error as { stderr: string }).stderr,
  );
}

it.skipIf(!hasRootSshd)(
  'a changed host key is reported once, and trusted only after your annotation names it',
  async () => {
    const sshd = await startSshd(['ed25519', 'ecdsa', 'rsa']);
    const first = await sshd.fingerprint();
    const world = await pinnedServer(sshd, (object) => keysOf(object).length > 0);
    expect(keysOf(await web(world))).toEqual([first]);
    await expect.poll(() => knownHostsOf(world), { timeout: 20_000 }).not.toBe('');
    const known = await knownHostsOf(world);
    expect(known).toContain(`[127.0.0.1]:${sshd.port} ssh-ed25519 AAAA`);
    // A key that no later check would verify.
    expect(known).not.toMatch(/ecdsa|rsa/);
    expect(known).toContain('2001:db8::22 ssh-ed25519 AAAA');
    expect(await logIn(sshd, known)).toBe('in');

    await sshd.replace();
    const second = await sshd.fingerprint();
    const changed = await world.waitForReason('web', 'HostKeyChanged', 'HostKeyChanged');
    expect(condition(changed, 'HostKeyChanged')).toMatchObject({ status: 'True', subject: second });
    expect(condition(changed, 'Ready')?.status).toBe('True');
    expect(keysOf(changed)).toEqual([first]);
    expect(await logIn(sshd, await knownHostsOf(world))).toContain('HOST IDENTIFICATION HAS CHANGED');

    // A word about another key means nothing.
    await world.patch('web', { metadata: { annotations: { [ACCEPT_HOST_KEY_ANNOTATION]: first } } });
    await world.visited('web');
    expect(keysOf(await web(world))).toEqual([first]);
    await world.patch('web', { metadata: { annotations: { [ACCEPT_HOST_KEY_ANNOTATION]: second } } });
    const accepted = await world.waitFor('web', (object) => keysOf(object).includes(second));
    expect(keysOf(accepted)).toEqual([second]);
    expect(condition(accepted, 'HostKeyChanged')).toBeUndefined();
    await expect.poll(() => knownHostsOf(world), { timeout: 20_000 }).not.toBe(known);
    expect(await logIn(sshd, await knownHostsOf(world))).toBe('in');
    const told = async (): Promise<string[]> =>
      (await world.events('web')).filter(({ reason }) => reason === 'HostKeyChanged').map(({ type }) => type);
    await expect.poll(told).toEqual(['Warning']);

    // The annotation is still there: it accepts neither the next key nor an earlier one.
    await sshd.replace();
    await world.waitForReason('web', 'HostKeyChanged', 'HostKeyChanged');
    expect(keysOf(await web(world))).toEqual([second]);
  },
);

it.skipIf(!hasSshd)('a server without the key type that it had has another key', async () => {
  const sshd = await startSshd(['ed25519']);
  const world = await pinnedServer(sshd, (object) => keysOf(object).length === 1);
  await sshd.stop();
  const other = await startSshd(['rsa']);
  const { status } = await web(world);
  const ssh_proxy = { hostname: '127.0.0.1', port: other.port };
  world.simulator.fleet.updateServer(status?.identifier ?? '', { ssh_proxy });
  const changed = await world.waitForReason('web', 'HostKeyChanged', 'HostKeyChanged');
  expect(condition(changed, 'HostKeyChanged')?.subject).toBe(await other.fingerprint('rsa'));
  expect(keysOf(changed)).toEqual([await sshd.fingerprint()]);
});

it('a host that never ends its banner, or its key exchange, gets no key', async () => {
  const host = createServer((socket) => {
    socket.on('error', () => undefined).write('SSH-2.0-forever\r\n');
    const timer = setInterval(() => socket.write(Buffer.alloc(1)), 100);
    socket.once('close', () => clearInterval(timer));
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  onTestFinished(() => void host.close());
  const reached = ({ status }: VirtualServer): boolean =>
    status?.conditions?.some(({ type, message }) => type === 'Reachable' && message.includes('could not read')) ===
    true;
  const world = await pinnedServer(host.address() as AddressInfo, reached);
  const object = await web(world);
  expect(condition(object, 'Ready')?.status).toBe('True');
  expect(keysOf(object)).toEqual([]);
  expect(await knownHostsOf(world)).toBe('');
});
