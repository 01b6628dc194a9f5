/** How SSH servers and other servers answer the probe: real sockets on this machine. */
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type LookupFunction, type Server, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSshProbe, type SshProbe } from '../../../src/virtual-server/ssh-check.ts';
import { err, ok } from '../../../src/base/result.ts';

interface Host {
  port: number;
  /** All bytes that clients have sent. */
  received: () => string;
  /** Connections that are open at this end. */
  open: () => number;
  /** Resolves when every connection is closed again. */
  idle: () => Promise<void>;
}

async function host(answer: (socket: Socket) => void): Promise<Host> {
  const sockets = new Set<Socket>();
  let received = '';
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    // The probe closes the connection while data is still being sent.
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    answer(socket);
  });
  const port = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const idle = async (): Promise<void> => {
    await Promise.all([...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
  };
  return { port, received: () => received, open: () => sockets.size, idle };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const says = (...pieces: string[]): Promise<Host> =>
  host((socket) => {
    for (const piece of pieces) socket.write(piece);
  });

/** Long enough for everything that answers, short for everything that does not. */
const probe = createSshProbe({ privateAddresses: true, timeoutMs: 1000 });
const patient = createSshProbe({ privateAddresses: true });
const ask = ({ port }: { port: number }, by = patient) => by({ host: '127.0.0.1', port }, 'default', []);

describe('a host with several addresses', () => {
  /** Resolves each name to addresses of this machine, of which only 127.0.0.1 has servers. */
  const named = (...found: string[]) =>
    createSshProbe({
      privateAddresses: true,
      lookup: (_name, _options, callback) =>
        callback(
          null,
          found.map((address) => ({ address, family: 4 })),
        ),
    });
  const askNamed = ({ port }: Host, by: SshProbe) => by({ host: 'ssh.test', port }, 'default', []);

  it('is reached at the first one that connects', async () => {
    const server = await says('SSH-2.0-OpenSSH_10.0p2\r\n');
    const answer = await askNamed(server, named('127.0.0.2', '127.0.0.3', '127.0.0.1'));
    expect(answer).toMatchObject(ok({ banner: 'SSH-2.0-OpenSSH_10.0p2' }));
  });

  it('is not reached if none connects', async () => {
    const server = await says('SSH-2.0-OpenSSH_10.0p2\r\n');
    const answer = await askNamed(server, named('127.0.0.2', '127.0.0.3'));
    expect(answer).toEqual({ ok: false, error: 'connection refused' });
  });
});

describe('the probe without --ssh-check-private-addresses', () => {
  const careful = createSshProbe({ privateAddresses: false, timeoutMs: 1000 });

  it.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    'localhost',
    '0.0.0.0',
    '::1',
    '::ffff:127.0.0.1',
    '::',
    '169.254.169.254',
    'fd00:ec2::254',
    '10.0.0.1',
    'fe80::1',
    '::ffff:a9fe:a9fe',
  ])('does not connect to %s', async (target) => {
    const server = await host((socket) => socket.end('SSH-2.0-x\r\n'));
    const answer = await careful({ host: target, port: server.port }, 'default', []);
    expect(answer).toEqual({
      ok: false,
      error: expect.stringMatching(
        /^the operator does not connect to \S+, because this address is .*; --ssh-check-private-addresses allows it$/,
      ) as string,
    });
    expect(server.received()).toBe('');
  });

  it.each([
    ['2001:db8::1', '127.0.0.1'],
    ['127.0.0.1', '2001:db8::1'],
  ])('tries only the public addresses of a name: %s, %s', async (...addresses) => {
    const server = await host((socket) => socket.end('SSH-2.0-x\r\n'));
    const lookup: LookupFunction = (_name, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    const probe = createSshProbe({ privateAddresses: false, timeoutMs: 300, lookup });
    expect(await probe({ host: 'ssh.example.org', port: server.port }, 'default', [])).toMatchObject({
      ok: false,
      error: expect.not.stringContaining('does not connect') as string,
    });
    expect(server.received()).toBe('');
  });
});

describe('the probe', () => {
  it('recognizes an SSH server by its version line, even if the key exchange then fails', async () => {
    const server = await host((socket) => socket.end('SSH-2.0-OpenSSH_10.0p2 Debian-7\r\n'));
    const noKey = 'it closes the connection during the key exchange';
    expect(await ask(server)).toEqual(ok({ banner: 'SSH-2.0-OpenSSH_10.0p2 Debian-7', noKey }));
    await server.idle();
    expect(server.received()).toMatch(/^(SSH-2.0-vps-operator\r\n|$)/);
    expect(server.open()).toBe(0);
  });

  it('recognizes a version line that arrives in pieces, or after other lines', async () => {
    const banner = ok({ banner: 'SSH-2.0-x' });
    expect(await ask(await says('SS', 'H-2.0', '-x\r\n'), probe)).toMatchObject(banner);
    const lines = ['Authorised users only\r\nSSH is below\r\n', 'SSH-2.0-x\n'];
    expect(await ask(await says(...lines), probe)).toMatchObject(banner);
    expect(await ask(await says(`SSH-2.0-${'x'.repeat(245)}\r\n`), probe)).toMatchObject({ ok: true });
  });

  it.each([
    ['a line of another protocol', '220 mail.example.com ESMTP\r\n', 'no SSH version line within 1 s, but "220 mail'],
    ['a version line inside another line', 'HTTP/1.1 400 SSH-2.0-x\r\n', 'but "HTTP/1.1 400 SSH-2.0-x"'],
    ['half a version line', 'SSH-2.0-x', 'no SSH version line within 1 s'],
    ['a version line of 256 characters', `SSH-2.0-${'x'.repeat(246)}\r\n`, 'an SSH version line without an end'],
    ['a banner of 1 MB', 'x'.repeat(2 ** 20), 'a line without an end: "xxx'],
    ['an SSH banner of 1 MB', `SSH-2.0-${'x'.repeat(2 ** 20)}`, 'an SSH version line without an end: "SSH-2.0-xxx'],
    ['lines without an end', 'news\r\n'.repeat(2 ** 17), 'no SSH version line in 4096 bytes, but "news"'],
    ['control characters', '\x1b[31mred\x00\xff\r\n', '"?[31mred???"'],
    ['nothing', '', 'accepts the connection and sends nothing within 1 s'],
  ])('rejects %s, and reports what arrived', async (_what, text, why) => {
    const server = await says(text);
    const probed = await ask(server, probe);
    expect(probed).toMatchObject({ ok: false, error: expect.stringContaining(why) as string });
    expect(JSON.stringify(probed).length).toBeLessThan(200);
    await server.idle();
    expect(server.received()).toBe('');
  });

  it('reports when the connection is closed, reset or refused', async () => {
    const closed = await host((socket) => socket.end());
    expect(await ask(closed)).toEqual({ ok: false, error: 'it accepts the connection, sends nothing and closes it' });
    const rude = await host((socket) => socket.end('go away\r\n'));
    expect(await ask(rude)).toEqual({ ok: false, error: 'it accepts the connection, sends "go away" and closes it' });
    const reset = await host((socket) => socket.resetAndDestroy());
    expect(await ask(reset)).toEqual({ ok: false, error: 'the connection was reset' });
    const gone = createServer();
    const port = await listen(gone);
    await new Promise((resolve) => gone.close(resolve));
    expect(await ask({ port })).toEqual({ ok: false, error: 'connection refused' });
  });

  it('rejects an HTTP server', async () => {
    const server = createHttpServer();
    const port = await listen(server);
    onTestFinished(() => void server.close());
    expect(await ask({ port }, probe)).toMatchObject({ ok: false });
  });

  it('reports when a name is not known', async () => {
    const answer = await patient({ host: 'no-such-host.invalid', port: 22 }, 'default', []);
    expect(answer).toEqual(err(expect.stringMatching(/^DNS lookup failed: |no connection/)));
  });

  it('ends in time when bytes arrive one at a time', async () => {
    const slow = await host((socket) => {
      const timer = setInterval(() => socket.write('\n'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    expect(await ask(slow, probe)).toMatchObject({ ok: false });
    await slow.idle();
  });

  it('checks only a limited number of hosts of one namespace at a time, and all of them in the end', async () => {
    const unanswered: Socket[] = [];
    const server = await host((socket) => unanswered.push(socket));
    const few = createSshProbe({ privateAddresses: true, atOnce: 4 });
    const all = Promise.all(Array.from({ length: 20 }, () => ask(server, few)));
    for (let answered = 0; answered < 20; answered += 1) {
      await vi.waitFor(() => expect(unanswered.length).toBe(Math.min(3, 20 - answered)), { timeout: 5_000 });
      unanswered.shift()?.end('SSH-2.0-x\r\n');
    }
    expect((await all).every(({ ok }) => ok)).toBe(true);
  });

  it('checks the hosts of other namespaces while those of one namespace stay silent', async () => {
    const silent = await host(() => undefined);
    const answering = await host((socket) => socket.end('SSH-2.0-x\r\n'));
    const probe = createSshProbe({ privateAddresses: true, timeoutMs: 600_000 });
    for (let object = 0; object < 96; object++) void probe({ host: '127.0.0.1', port: silent.port }, 'busy', []);
    await vi.waitFor(() => expect(silent.open()).toBeGreaterThan(0), { timeout: 5_000 });
    expect(await probe({ host: '127.0.0.1', port: answering.port }, 'other', [])).toMatchObject({ ok: true });
    expect(silent.open()).toBeLessThan(16);
  });
});
