/** The address family of connections, which matters because tokens are bound to the source address. */
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connector, connectOptions } from '../../../src/provider/connector.ts';
import type { Address } from '../../../src/provider/connector.ts';
import { errorOf, listen, order, refusingOrigin, sessionFor, startStub } from './stub-provider.ts';

const V4 = { address: '127.0.0.1', family: 4 };
const V6 = { address: '::1', family: 6 };

/** A connector whose names resolve to the addresses that the test currently sets. */
function connectorFor(addresses: () => Address[]) {
  let changes = 0;
  const connector = new Connector({
    timeoutMs: 5000,
    onFamilyChange: () => changes++,
    lookup: () => Promise.resolve(addresses()),
  });
  const open = async (port: number) => {
    const socket = await connector.open(connectOptions(`http://stub.test:${port}`));
    const family = socket.remoteFamily;
    socket.destroy();
    return family;
  };
  return { connector, open, changes: () => changes };
}

/** The port of a server that listens on both families. */
async function dualStackPort(): Promise<number> {
  const server = createTcpServer((socket) => socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(0, '::', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('the address family', () => {
  it("is the resolver's first choice initially, and then stays the same", async () => {
    const port = await dualStackPort();
    let addresses: Address[] = [V6, V4];
    const { open, changes } = connectorFor(() => addresses);
    expect(await open(port)).toBe('IPv6');
    addresses = [V4, V6];
    expect(await open(port)).toBe('IPv6');
    expect(changes()).toBe(0);
  });

  it('is the first family that connects', async () => {
    const port = await listen(createTcpServer((socket) => socket.resume()));
    const { open, changes } = connectorFor(() => [V6, V4]);
    expect(await open(port)).toBe('IPv4');
    expect(await open(await dualStackPort())).toBe('IPv4');
    expect(changes()).toBe(0);
  });

  it('changes once if a host has only addresses of the other family', async () => {
    const port = await dualStackPort();
    let addresses: Address[] = [V6, V4];
    const { open, changes } = connectorFor(() => addresses);
    await open(port);
    addresses = [V4];
    expect(await open(port)).toBe('IPv4');
    addresses = [V6, V4];
    expect(await open(port)).toBe('IPv4');
    expect(changes()).toBe(1);
  });

  it('changes when the current family becomes unreachable', async () => {
    const port = await dualStackPort();
    const onlyV4 = await listen(createTcpServer((socket) => socket.resume()));
    const { open, changes } = connectorFor(() => [V6, V4]);
    await open(port);
    expect(await open(onlyV4)).toBe('IPv4');
    expect(changes()).toBe(1);
  });

  it('does not change if both families are unreachable', async () => {
    const port = await dualStackPort();
    const { open, changes } = connectorFor(() => [V6, V4]);
    await open(port);
    const refusing = Number(new URL(await refusingOrigin()).port);
    expect(await errorOf(open(refusing))).toMatchObject({ code: 'ECONNREFUSED' });
    expect(await open(port)).toBe('IPv6');
    expect(changes()).toBe(0);
  });

  it('does not change after a TLS failure', async () => {
    const port = await dualStackPort();
    const { open, connector } = connectorFor(() => [V6, V4]);
    await open(port);
    const plain = await listen(createServer());
    const error = await errorOf(connector.open(connectOptions(`https://127.0.0.1:${plain}`)));
    expect(error).not.toHaveProperty('code', 'ECONNREFUSED');
    expect(await open(port)).toBe('IPv6');
  });

  it('fails if the name has no address', async () => {
    const { open } = connectorFor(() => []);
    expect(await errorOf(open(1))).toMatchObject({ code: 'ENOTFOUND' });
  });
});

describe('several addresses of one family', () => {
  /** A server on this address of the machine, at `port`; counts its connections. */
  async function startAt(address: string, port = 0) {
    const seen = { connections: 0, port: 0 };
    const server = createTcpServer((socket) => {
      seen.connections += 1;
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined).resume();
    });
    await new Promise<void>((resolve) => server.listen(port, address, resolve));
    onTestFinished(() => void server.close());
    seen.port = (server.address() as AddressInfo).port;
    return seen;
  }
  const v4 = (...addresses: string[]): Address[] => addresses.map((address) => ({ address, family: 4 }));

  it('are all tried before the other family', async () => {
    const { port } = await startAt('127.0.0.4');
    const other = await startAt('::1', port);
    const { open, changes } = connectorFor(() => [...v4('127.0.0.2', '127.0.0.3'), V6, ...v4('127.0.0.4')]);
    expect(await open(port)).toBe('IPv4');
    expect([other.connections, changes()]).toEqual([0, 0]);
  });

  it('are tried in turn until one connects, which is tried first the next time', async () => {
    const second = await startAt('127.0.0.3');
    const { open } = connectorFor(() => v4('127.0.0.2', '127.0.0.3'));
    expect(await open(second.port)).toBe('IPv4');
    const first = await startAt('127.0.0.2', second.port);
    expect(await open(second.port)).toBe('IPv4');
    expect([first.connections, second.connections]).toEqual([0, 2]);
  });

  it('give up a silent address before the connect timeout', async () => {
    const silent = await startAt('127.0.0.2');
    const next = createTcpServer((socket) => socket.on('error', () => undefined).end('no TLS'));
    await new Promise<void>((resolve) => next.listen(silent.port, '127.0.0.3', resolve));
    onTestFinished(() => void next.close());
    const lookup = () => Promise.resolve(v4('127.0.0.2', '127.0.0.3'));
    const connector = new Connector({ timeoutMs: 3_600_000, onFamilyChange: () => undefined, lookup });
    const error = await errorOf(connector.open(connectOptions(`https://stub.test:${silent.port}`)));
    expect(error).toMatchObject({ code: expect.stringContaining('ERR_SSL') as string });
    expect(silent.connections).toBe(1);
  }, 20_000);

  it('are tried after an address that resets the connection during the TLS handshake', async () => {
    const first = createTcpServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy()),
    );
    await new Promise<void>((resolve) => first.listen(0, '127.0.0.2', resolve));
    onTestFinished(() => void first.close());
    const { port } = first.address() as AddressInfo;
    const second = await startAt('127.0.0.3', port);
    const lookup = () => Promise.resolve(v4('127.0.0.2', '127.0.0.3'));
    const connector = new Connector({ timeoutMs: 200, onFamilyChange: () => undefined, lookup });
    await errorOf(connector.open(connectOptions(`https://stub.test:${port}`)));
    expect(second.connections).toBe(1);
  });

  it('are all tried for an order, which is sent once', async () => {
    const stub = await startStub();
    stub.on('POST /beta/vps/servers', { status: 202, body: { task: 7 } });
    const port = new URL(stub.baseUrl).port;
    const urls = { baseUrl: `http://base.test:${port}`, authUrl: `http://auth.test:${port}/auth` };
    const session = sessionFor(urls, { lookup: () => Promise.resolve(v4('127.0.0.2', '127.0.0.3', '127.0.0.1')) });
    expect(await order(session)).toEqual({ kind: 'created', task: 7 });
    expect(stub.count('POST', '/beta/vps/servers')).toBe(1);
  });
});

describe('a change of the address family', () => {
  it('drops the tokens, and new connections use the new family', async () => {
    const stub = await startStub();
    stub.on('GET /beta/vps/products', { status: 200, body: [] });
    const login = createServer((request, response) => {
      // An answer before the end of the body would reset the connection, and might be lost with it.
      request.resume().on('end', () => response.end('{"access_token":"from-v6","expires_in":300}'));
    });
    await new Promise<void>((resolve) => login.listen(0, '::1', resolve));
    onTestFinished(() => {
      login.closeAllConnections();
      login.close();
    });
    const authPort = (login.address() as AddressInfo).port;
    const told: string[] = [];
    const session = sessionFor(
      { baseUrl: `http://base.test:${new URL(stub.baseUrl).port}`, authUrl: `http://auth.test:${authPort}` },
      { lookup: () => Promise.resolve([V6, V4]), onRequest: ({ operation }) => told.push(operation) },
    );
    // The login goes over IPv6; the base URL answers over IPv4 only, so the token is invalid after its first call.
    await session.products();
    expect(told).toEqual(['login', 'products']);
    await session.ensureToken();
    expect(told).toEqual(['login', 'products', 'login']);
  });
});

describe('the options of a connection', () => {
  it.each([
    ['https://api.example.org', { protocol: 'https:', host: 'api.example.org', hostname: 'api.example.org', port: '' }],
    ['http://[::1]:8080', { protocol: 'http:', host: '[::1]:8080', hostname: '::1', port: '8080' }],
  ])('of %s', (origin, options) => {
    expect(connectOptions(origin)).toEqual(options);
  });
});
