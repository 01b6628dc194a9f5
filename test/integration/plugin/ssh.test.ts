/** `kubectl vps ssh` against a real sshd, which the provider reports as its SSH proxy. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createPlugin, usePlugin, type Result } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { hasIPv6Loopback, hasRootSshd, startSshd, type Sshd } from '../support/sshd.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

/** Creates a ready server with the sshd as its proxy; resolves with the identifier of the server. */
async function serverBehind(world: World, name: string, { port }: Sshd): Promise<string> {
  const { status } = await readyServer(world, name);
  const identifier = status?.identifier ?? '';
  world.simulator.fleet.updateServer(identifier, { ssh_proxy: { hostname: '127.0.0.1', port }, ipv6: ['::1'] });
  await world.visited(name);
  await world.waitFor(name, (object) => object.status?.sshProxy?.port === port);
  return identifier;
}

/** Returns a function that runs `kubectl vps ssh` with the key of the sshd and a separate known_hosts file. */
async function user(world: World, sshd: Sshd) {
  const plugin = await createPlugin(folder(), world.namespace);
  const options = [
    `UserKnownHostsFile=${join(sshd.folder, 'known_hosts')}`,
    'StrictHostKeyChecking=accept-new',
    'BatchMode=yes',
    'HashKnownHosts=no',
  ];
  const flags = options.flatMap((option) => ['--ssh-option', option]);
  return (name: string, ...words: string[]): Promise<Result> =>
    plugin.kubectl(['vps', 'ssh', name, '-i', sshd.identityFile, ...flags, ...words]);
}

describe.skipIf(!hasRootSshd)('kubectl vps ssh', () => {
  it('runs a command as root through the proxy, and exits with its code', async () => {
    const world = await createWorld();
    const sshd = await startSshd();
    await serverBehind(world, 'web', sshd);
    const ssh = await user(world, sshd);
    expect(await ssh('web', '--', 'echo', 'hi;', 'id', '-un')).toMatchObject({ code: 0, stdout: 'hi\nroot\n' });
    expect(await ssh('web', '--', 'exit', '7')).toMatchObject({ code: 7 });
    // Words that look like options of ssh belong to the command; the exit code depends on the remote shell.
    expect([2, 127]).toContain((await ssh('web', '--', '-oProxyCommand=false')).code);
  });

  it('rejects a new host key of the same server, but accepts another server at the same address', async () => {
    const world = await createWorld();
    const sshd = await startSshd();
    const first = await serverBehind(world, 'web', sshd);
    const second = await serverBehind(world, 'db', sshd);
    const ssh = await user(world, sshd);
    expect((await ssh('web', '--', 'true')).code).toBe(0);
    await sshd.replace();
    expect(await ssh('db', '--', 'true')).toMatchObject({ code: 0 });
    const alarm = await ssh('web', '--', 'true');
    expect([alarm.code, alarm.stderr]).toEqual([255, expect.stringContaining('HOST IDENTIFICATION HAS CHANGED')]);
    const known = await readFile(join(sshd.folder, 'known_hosts'), 'utf8');
    const names = known
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]);
    expect(new Set(names)).toEqual(new Set([`vps-${first}`, `vps-${second}`]));
  });

  it('says that the server was off when it was last read, and tries all the same', async () => {
    const world = await createWorld();
    const sshd = await startSshd();
    const identifier = await serverBehind(world, 'web', sshd);
    world.simulator.fleet.updateServer(identifier, { status: 'shut down' });
    await world.visited('web');
    await world.waitFor('web', ({ status }) => status?.serverStatus === 'shut down');
    const ssh = await user(world, sshd);
    const stderr = expect.stringContaining('web is off: to start it, run kubectl vps start web') as string;
    expect(await ssh('web', '--', 'true')).toMatchObject({ code: 0, stderr });
  });

  it.skipIf(!hasIPv6Loopback)('connects over IPv6 with --direct', async () => {
    const world = await createWorld();
    const sshd = await startSshd();
    await serverBehind(world, 'web', sshd);
    const ssh = await user(world, sshd);
    const words = ['--direct', '--ssh-option', `Port=${sshd.port}`, '--', 'echo', '$SSH_CONNECTION'];
    expect(await ssh('web', ...words)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^::1 /) as string });
  });
});

describe.skipIf(!hasRootSshd)('kubectl vps scp', () => {
  it('copies files and folders to a server and back, and no text of a path becomes an option', async () => {
    const world = await createWorld();
    const sshd = await startSshd();
    await serverBehind(world, 'web', sshd);
    const plugin = await createPlugin(folder(), world.namespace);
    const there = await mkdtemp(join(tmpdir(), 'vps-operator-scp-'));
    onTestFinished(() => rm(there, { recursive: true }));
    await mkdir(join(there, 'from', 'deep'), { recursive: true });
    await writeFile(join(there, 'from', 'deep', 'a'), 'one');
    await writeFile(join(there, '-oProxyCommand=false'), 'two');
    const options = [
      `UserKnownHostsFile=${join(sshd.folder, 'known_hosts')}`,
      'StrictHostKeyChecking=accept-new',
      'BatchMode=yes',
    ];
    const flags = options.map((option) => `--ssh-option ${option}`).join(' ');
    const scp = (words: string): Promise<Result> =>
      plugin.shell(`cd ${there} && kubectl vps scp -i ${sshd.identityFile} ${flags} ${words}`);
    expect(await scp(`-r from web:${there}/to`)).toMatchObject({ code: 0 });
    expect(await readFile(join(there, 'to', 'deep', 'a'), 'utf8')).toBe('one');
    expect(await scp(`vps/web:${there}/to/deep/a back`)).toMatchObject({ code: 0 });
    expect(await readFile(join(there, 'back'), 'utf8')).toBe('one');
    expect(await scp(`-- -oProxyCommand=false web:${there}/two`)).toMatchObject({ code: 0 });
    expect(await readFile(join(there, 'two'), 'utf8')).toBe('two');
    expect((await scp(`web:${there}/none x`)).code).not.toBe(0);
    for (const words of ['a b', 'web:/a', 'web:/a db:/b'])
      expect(await scp(words)).toMatchObject({ code: 2, stderr: expect.stringContaining('on one server') as string });
  });
});

describe('kubectl vps console --open', () => {
  it('gives the address to the browser, without a shell, and prints it if there is none', async () => {
    const world = await createWorld();
    const identifier = (await readyServer(world, 'web')).status?.identifier ?? '';
    const plugin = await createPlugin(folder(), world.namespace);
    await plugin.shell(`echo 'printf "%s\\n" "$@" > opened; exit $CODE' | cat - > xdg-open; chmod +x xdg-open`);
    const open = (env: string, path = '$PWD:$PATH'): Promise<Result> =>
      plugin.shell(`rm -f opened; ${env} PATH=${path} kubectl vps console web --open`);
    const opened = async (): Promise<string> => (await plugin.shell('cat opened')).stdout;
    const isShown = async (hostname: string): Promise<void> => {
      world.simulator.fleet.updateServer(identifier, { admin_console: { hostname, username: identifier } });
      await world.visited('web');
      await world.waitFor('web', ({ status }) => status?.adminConsole?.hostname === hostname);
    };
    await isShown('admin.example.com/$(touch$IFS.x);a');
    const url = 'https://admin.example.com/$(touch$IFS.x);a';
    const stdout = `url   ${url}\nuser  ${identifier}\n`;
    expect(await open('CODE=0 DISPLAY=:0')).toEqual({ code: 0, stdout, stderr: '' });
    expect(await opened()).toBe(`${url}\n`);
    const says = 'open this address in a browser: ';
    expect(await open('CODE=3 DISPLAY=:0')).toEqual({ code: 0, stdout, stderr: `${says}xdg-open failed\n` });
    expect(await open('CODE=0')).toEqual({ code: 0, stdout, stderr: `${says}there is no screen here\n` });
    expect(await opened()).toBe('');
    // A folder without xdg-open, which the machine may have.
    await plugin.shell('mkdir bin && ln -s $(command -v node) $(command -v kubectl) $(command -v kubectl-vps) bin');
    expect((await open('DISPLAY=:0', '$PWD/bin')).stderr).toMatch(/^open this address in a browser: xdg-open /);
    await isShown('file:///etc/passwd');
    const refused = await open('CODE=0 DISPLAY=:0');
    expect([refused.code, refused.stderr]).toEqual([1, 'kubectl vps: "file:///etc/passwd" is no web address\n']);
    expect((await plugin.kubectl(['vps', 'console', 'web', '--open', '-o', 'json'])).code).toBe(2);
  });
});

describe('kubectl vps ssh and console, without a server', () => {
  it('report what is missing', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const plugin = await createPlugin(folder(), world.namespace);
    const ssh = await plugin.kubectl(['vps', 'ssh', 'web', '-n', world.namespace]);
    expect([ssh.code, ssh.stderr]).toEqual([
      1,
      `kubectl vps: web has no server yet\n  kubectl vps status web --namespace=${world.namespace}\n`,
    ]);
    expect((await plugin.kubectl(['vps', 'console', 'web'])).code).toBe(1);
    expect((await plugin.kubectl(['vps', 'console', 'vps/web'])).stderr).toContain('web has no admin console');
    expect((await plugin.kubectl(['vps', 'ssh', 'set/web'])).stderr).toContain('name one of its members');
    expect((await plugin.kubectl(['vps', 'ssh', 'none'])).code).toBe(3);
  });
});
