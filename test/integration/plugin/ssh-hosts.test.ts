/** Real ssh and scp with the host keys that the operator has found: `kubectl vps ssh`, `ssh-config` and `inventory`. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ACCEPT_HOST_KEY_ANNOTATION } from '../../../src/api/names.ts';
import type { Inventory } from '../../../src/plugin/decisions/ssh-hosts.ts';
import { createPlugin, usePlugin, type Result } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { hasRootSshd, startSshd, type Sshd } from '../support/sshd.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

/** A server whose host keys the operator knows, and a user with a plugin and an empty home. */
async function pinned(): Promise<{ world: World; sshd: Sshd; plugin: Awaited<ReturnType<typeof createPlugin>> }> {
  const sshd = await startSshd(['ed25519', 'ecdsa']);
  const world = await createWorld({ flags: ['--resync-interval=1s'] });
  const { status } = await readyServer(world, 'web');
  const ssh_proxy = { hostname: '127.0.0.1', port: sshd.port };
  world.simulator.fleet.updateServer(status?.identifier ?? '', { ssh_proxy });
  await world.patch('web', { spec: { sshCheck: 'Proxy' } });
  await world.waitFor('web', ({ status: now }) => now?.sshHostKeys?.length === 1);
  return { world, sshd, plugin: await createPlugin(folder(), world.namespace) };
}

const refused: unknown = expect.objectContaining({
  code: 255,
  stderr: expect.stringContaining('HOST IDENTIFICATION HAS CHANGED') as string,
});

it.skipIf(!hasRootSshd)('ssh and scp accept the known keys only, and a changed key once you accepted it', async () => {
  const { world, sshd, plugin } = await pinned();
  const flags = ['-i', sshd.identityFile, '--ssh-option', 'BatchMode=yes'];
  const ssh = (...more: string[]): Promise<Result> =>
    plugin.kubectl(['vps', 'ssh', 'web', ...flags, ...more, '--', 'echo', 'in']);
  expect(await ssh()).toMatchObject({ code: 0, stdout: 'in\n', stderr: '' });
  await writeFile(join(sshd.folder, 'notes'), 'one');
  const scp = (): Promise<Result> =>
    plugin.kubectl(['vps', 'scp', ...flags, join(sshd.folder, 'notes'), `web:${join(sshd.folder, 'copy')}`]);
  expect(await scp()).toMatchObject({ code: 0 });
  await sshd.replace();
  expect(await ssh()).toEqual(refused);
  expect(await ssh('--ssh-option', 'StrictHostKeyChecking=no')).toEqual(refused);
  expect((await scp()).code).not.toBe(0);
  const command = join(sshd.folder, 'known-hosts');
  await writeFile(command, `#!/bin/sh\necho "* $(cut -d' ' -f1,2 ${sshd.folder}/host-key-ed25519.pub)"\n`, {
    mode: 0o755,
  });
  expect(await ssh('--ssh-option', `KnownHostsCommand=${command}`)).toEqual(refused);
  await world.waitForReason('web', 'HostKeyChanged', 'HostKeyChanged');
  expect((await ssh()).stderr).toContain('the host key of web has changed: see kubectl vps status web');
  const key = await sshd.fingerprint();
  await world.patch('web', { metadata: { annotations: { [ACCEPT_HOST_KEY_ANNOTATION]: key } } });
  await world.waitFor('web', ({ status }) => status?.sshHostKeys?.[0]?.fingerprint === key);
  expect(await ssh()).toMatchObject({ code: 0, stdout: 'in\n', stderr: '' });
  expect((await plugin.shell('ls -A . | grep -c known_hosts; ls -A .ssh 2>/dev/null')).stdout).toBe('0\n');
});

it.skipIf(!hasRootSshd)(
  'plain ssh and scp with the written configuration connect, and refuse a changed key',
  async () => {
    const { world, sshd, plugin } = await pinned();
    expect((await plugin.shell('kubectl vps ssh-config web | grep -c ^Host')).stdout).toBe('1\n');
    expect((await plugin.shell('ls -A .ssh 2>/dev/null')).stdout).toBe('');
    const written = await plugin.kubectl(['vps', 'ssh-config', '--write']);
    expect(written).toMatchObject({ code: 0, stdout: '' });
    expect(written.stderr).toContain('Include ~/.ssh/vps-operator/config');
    const { stdout: home } = await plugin.shell('printf %s "$HOME"');
    expect((await stat(join(home, '.ssh/vps-operator/known_hosts'))).mode & 0o777).toBe(0o600);
    const options = `-F ~/.ssh/vps-operator/config -o BatchMode=yes -i ${sshd.identityFile}`;
    const host = `web.${world.namespace}`;
    expect(await plugin.shell(`ssh ${options} ${host} echo in`)).toMatchObject({ code: 0, stdout: 'in\n' });
    await plugin.shell(`echo one > one; scp ${options} one ${host}:${sshd.folder}/two`);
    expect(await readFile(join(sshd.folder, 'two'), 'utf8')).toBe('one\n');
    await sshd.replace();
    expect(await plugin.shell(`ssh ${options} ${host} echo in`)).toEqual(refused);
    const own = await plugin.shell('kubectl vps ssh-config --known-hosts kh > config; cat kh; cat config');
    expect(own.stdout).toMatch(/^vps-\S+ ssh-ed25519 AAAA\S+\n# Written/);
    await plugin.shell('echo "other ssh-rsa AAAA" > real; ln -s real link; kubectl vps ssh-config --known-hosts link');
    expect((await plugin.shell('readlink link; cat real')).stdout).toMatch(/^real\nother ssh-rsa AAAA\nvps-/);
    // A folder cannot be replaced, and no draft stays behind.
    expect(await plugin.shell('mkdir full; kubectl vps ssh-config --known-hosts full')).toMatchObject({ code: 2 });
    expect((await plugin.shell('ls | grep -E "^(full|real|link|kh)[.]"')).stdout).toBe('');
    expect(await plugin.shell('kubectl vps ssh-config none')).toMatchObject({ code: 3 });
    expect(await plugin.shell('kubectl vps ssh-config web -A')).toMatchObject({ code: 2 });
  },
);

it.skipIf(!hasRootSshd)('the arguments in the inventory connect, and refuse a changed key', async () => {
  const { world, sshd, plugin } = await pinned();
  const listed = await plugin.kubectl(['vps', 'inventory', '--list']);
  expect(listed.stderr).toBe('');
  const inventory = JSON.parse(listed.stdout) as Inventory;
  const host = `web.${world.namespace}`;
  expect(inventory).toMatchObject({ [`namespace_${world.namespace.replaceAll('-', '_')}`]: { hosts: [host] } });
  const variables = inventory._meta.hostvars[host];
  const one = await plugin.kubectl(['vps', 'inventory', '--host', host]);
  expect(JSON.parse(one.stdout)).toEqual(variables);
  expect((await plugin.kubectl(['vps', 'inventory', '--host', 'none.default'])).stdout.trim()).toBe('{}');
  const { ansible_ssh_common_args, ansible_host, ansible_port, ansible_user } = variables as Record<string, string>;
  const ssh = `ssh -F /dev/null -o BatchMode=yes -i ${sshd.identityFile} ${ansible_ssh_common_args} -p ${ansible_port} ${ansible_user}@${ansible_host}`;
  expect(await plugin.shell(`${ssh} echo in`)).toMatchObject({ code: 0, stdout: 'in\n' });
  await sshd.replace();
  expect(await plugin.shell(`${ssh} echo in`)).toEqual(refused);
});
