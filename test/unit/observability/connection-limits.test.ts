import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limitConnections, type ConnectionLimits } from '../../../src/observability/connection-limits.ts';

const LIMITS: ConnectionLimits = { perAddress: 2, total: 4, lifetimeMs: 60_000 };

async function listen(server: Server, limits: Partial<ConnectionLimits> = {}): Promise<number> {
  const accepted = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    accepted.add(socket.on('error', () => undefined));
    socket.once('close', () => accepted.delete(socket));
  });
  limitConnections(server, { ...LIMITS, ...limits });
  onTestFinished(() => {
    server.close();
    for (const socket of accepted) socket.destroy();
  });
  // Listens on all addresses, like the operator; IPv4 peers then have IPv6 addresses.
  server.listen(0);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Opens connections from these addresses in order; `closed` collects the indexes of those that were closed. */
function peers(server: Server, port: number) {
  const closed: number[] = [];
  const sockets: Socket[] = [];
  const open = async (...addresses: string[]): Promise<void> => {
    for (const localAddress of addresses) {
      const number = sockets.length;
      const accepted = once(server, 'connection');
      const socket = connect({ host: '127.0.0.1', port, localAddress });
      onTestFinished(() => void socket.destroy());
      sockets.push(socket.on('error', () => undefined).resume());
      socket.once('close', () => closed.push(number));
      await accepted;
    }
  };
  return { open, closed, sockets };
}

const [A, B, C, D, E] = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6'] as const;

describe('a server at its limits', () => {
  it('closes only the oldest connection of an address for a new one', async () => {
    const server = createServer();
    const { open, closed } = peers(server, await listen(server));
    await open(B, A, A, A, A);
    await expect.poll(() => closed).toEqual([1, 2]);
  });

  it('closes the oldest connection of the busiest address for a new one from another address', async () => {
    const server = createServer();
    const { open, closed } = peers(server, await listen(server));
    await open(B, C, A, A, D);
    await expect.poll(() => closed).toEqual([2]);
    // Now each address has one connection.
    await open(E);
    await expect.poll(() => closed).toEqual([2, 0]);
  });

  it('does not count closed connections', async () => {
    const server = createServer();
    const { open, closed, sockets } = peers(server, await listen(server));
    await open(A, A);
    const gone = new Promise((resolve) => server.once('connection', (socket: Socket) => socket.once('close', resolve)));
    await open(B);
    sockets[2]?.destroy();
    await gone;
    await open(B, B);
    expect(await connections(server)).toBe(4);
    expect(closed).toEqual([2]);
  });
});

describe('a connection', () => {
  it('ends after its lifetime, even if the peer does not read the response', async () => {
    const server = createHttpServer((_, response) => response.end(Buffer.alloc(2 ** 26)));
    const { open, sockets } = peers(server, await listen(server, { lifetimeMs: 300 }));
    const connected = once(server, 'connection') as Promise<[Socket]>;
    await open(A);
    const [accepted] = await connected;
    const ended = once(accepted, 'close');
    sockets[0]?.pause().write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(server, 'request');
    await ended;
    expect(accepted.bytesWritten).toBeGreaterThan(0);
  });
});

function connections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
}
