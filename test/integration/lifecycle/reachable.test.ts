/** spec.sshCheck: Ready requires that an SSH server answers. The SSH host is the simulator's proxy address. */
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ADOPT_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer } from '../support/records.ts';
import { hasSshd, startSshd } from '../support/sshd.ts';
import { condition, createWorld, type World } from '../support/world.ts';

const BANNER = 'SSH-2.0-OpenSSH_10.0';

/** Listens on 127.0.0.1 until the test ends. */
async function listen(server: Server, port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const saying = (text: string): Server => createServer((socket) => socket.write(text));

/** Moves the server's SSH proxy to this port. */
async function moveProxy(world: World, name: string, port: number): Promise<void> {
  const identifier = (await world.get(name))?.status?.identifier ?? '';
  world.simulator.fleet.updateServer(identifier, { ssh_proxy: { hostname: '127.0.0.1', port } });
}

/** A server that is Ready without any check, and whose proxy is this port. */
async function serverBehind(world: World, port: number): Promise<void> {
  await readyServer(world, 'web');
  await moveProxy(world, 'web', port);
  await world.patch('web', { spec: { sshCheck: 'Proxy' } });
}

describe('sshCheck', () => {
  it.skipIf(!hasSshd)(
    'follows a real sshd: Ready with it, not Ready without it, and Ready again without help',
    async () => {
      const sshd = await startSshd();
      const world = await createWorld({ flags: ['--resync-interval=1s'] });
      await serverBehind(world, sshd.port);
      const ready = await world.waitForReason('web', 'Reachable', 'Reachable');
      expect(condition(ready, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
      expect(condition(ready, 'Reachable')?.message).toMatch(
        new RegExp(`^An SSH server answers at 127\\.0\\.0\\.1:${sshd.port}: SSH-2\\.0-OpenSSH`),
      );
      await sshd.stop();
      const gone = await world.waitForReason('web', 'Unreachable', 'Ready');
      expect(condition(gone, 'Reachable')).toMatchObject({ status: 'False', reason: 'Unreachable' });
      expect(condition(gone, 'Ready')?.message).toContain(`127.0.0.1:${sshd.port}: connection refused`);
      expect(condition(gone, 'Stalled')).toBeUndefined();
      await sshd.start();
      await world.waitForReason('web', 'Available', 'Ready');
      const told = async (): Promise<string[]> => (await world.events('web')).map(({ reason }) => reason);
      await expect.poll(told).toContain('Unreachable');
      expect(world.simulator.ledger.creates()).toHaveLength(1);
      expect(world.simulator.ledger.cancels()).toEqual([]);
    },
  );

  it('holds back a newly ordered server until it answers', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: 600_000 } });
    await world.create(virtualServer('web', withSpec({ sshCheck: 'Proxy' })));
    const creating = await world.waitFor('web', ({ status }) => status?.identifier !== undefined);
    await moveProxy(world, 'web', 1);
    world.simulator.fleet.completeTask(creating.status?.record?.task ?? 0);
    await world.waitForReason('web', 'Booting', 'Ready');
    expect((await world.get('web'))?.status?.ssh).toBe('root@127.0.0.1 -p 1');
    await moveProxy(world, 'web', await listen(saying(`${BANNER}\r\n`)));
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    expect(condition(ready, 'Reachable')?.message).toContain(BANNER);
    const warnings = (await world.events('web')).filter(({ type }) => type === 'Warning');
    expect(warnings).toEqual([]);
  });

  it('also applies to an adopted server', async () => {
    const world = await createWorld();
    const port = await listen(saying('220 ftp.example.com\r\n'));
    world.simulator.fleet.addServer('default', { identifier: 'old1', ssh_proxy: { hostname: '127.0.0.1', port } });
    const manifest = virtualServer('web', withSpec({ sshCheck: 'Proxy' }));
    await world.create({
      ...manifest,
      metadata: { ...manifest.metadata, annotations: { [ADOPT_ANNOTATION]: 'old1' } },
    });
    const found = await world.waitForReason('web', 'Unreachable', 'Ready');
    expect(condition(found, 'Reachable')?.message).toContain('but "220 ftp.example.com"');
    expect(found.status?.identifier).toBe('old1');
    expect(world.simulator.ledger.creates()).toEqual([]);
  });

  it.each<[string, () => Server, RegExp]>([
    ['a host that accepts and stays silent', () => createServer(), /accepts the connection and sends nothing/],
    [
      'a banner of 1 MB',
      () => saying('x'.repeat(2 ** 20)),
      /a line without an end: "x{60}\.\.\."\. The operator keeps checking/,
    ],
    ['an SSH banner of 1 MB', () => saying(`SSH-2.0-${'x'.repeat(2 ** 20)}`), /an SSH version line without an end/],
    ['an HTTP server', () => createHttpServer(), /sends nothing|sends no SSH/],
    ['a host that hangs up', () => createServer((socket) => socket.end()), /sends nothing and closes it/],
  ])('reports that %s is no SSH server, and continues with everything else', async (_what, server, message) => {
    const world = await createWorld();
    await serverBehind(world, await listen(server()));
    const found = await world.waitForReason('web', 'Unreachable', 'Ready');
    expect(condition(found, 'Reachable')?.message).toMatch(message);
    // A deletion does not wait for the host.
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('is followed when it is edited', async () => {
    const world = await createWorld();
    await serverBehind(world, await listen(saying(`${BANNER}\r\n`)));
    await world.waitForReason('web', 'Reachable', 'Reachable');
    // No SSH server answers there: the address is reserved for documentation, or this machine has no IPv6.
    await world.patch('web', { spec: { sshCheck: 'Direct' } });
    const direct = await world.waitForReason('web', 'Unreachable', 'Ready');
    expect(condition(direct, 'Reachable')?.message).toMatch(/\[2001:db8:[0-9a-f:]+\]:22: /);
    await world.patch('web', { spec: { sshCheck: 'None' } });
    const none = await world.waitForReason('web', 'Available', 'Ready');
    expect(condition(none, 'Reachable')).toBeUndefined();
    await expect(world.patch('web', { spec: { sshCheck: 'Sometimes' as 'None' } })).rejects.toThrow('spec.sshCheck');
  });

  it('connects only to valid names and addresses', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    const identifier = (await world.get('web'))?.status?.identifier ?? '';
    const hostname = '-oProxyCommand=touch /tmp/x';
    world.simulator.fleet.updateServer(identifier, { ssh_proxy: { hostname, port: 22 } });
    await world.patch('web', { spec: { sshCheck: 'Proxy' } });
    const pending = await world.waitForReason('web', 'AddressPending', 'Ready');
    expect(condition(pending, 'Ready')?.message).toContain('no SSH proxy');
  });
});
