/** Connections that die while they are idle, as gateways cause it. */
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { RequestInfo } from '../../../src/provider/transport.ts';
import { errorOf, listen, order, sessionFor } from './stub-provider.ts';

const IDENTIFIER = 'ab-1';
const ANSWERS: Record<string, string> = {
  'POST /auth/login': '{"access_token":"token","expires_in":300}',
  'GET /beta/vps/products': '[{"code":"VPSX4"}]',
  [`DELETE /beta/vps/servers/${IDENTIFIER}`]: '{"message":"ok"}',
};

/** Answers the first `lasts` requests of each connection, unless `isDead`, and ends the connection at the next one. */
async function startGateway(
  end: (socket: Socket, connection: number) => void,
  isDead: (connection: number) => boolean = () => false,
  lasts: (connection: number) => number = () => 1,
) {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    const connection = (connections += 1);
    let answered = 0;
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.includes('\r\n\r\n')) return;
      const [line = ''] = text.split(' HTTP/1.1');
      text = '';
      requests.push(`${line} on ${connection}`);
      const body = ANSWERS[line] ?? '';
      if (answered >= lasts(connection) || isDead(connection)) end(socket, connection);
      else socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      answered += 1;
    });
  });
  const origin = `http://127.0.0.1:${await listen(server)}`;
  return { urls: { baseUrl: origin, authUrl: `${origin}/auth` }, requests };
}

const ENDS: [string, (socket: Socket) => void][] = [
  ['is closed', (socket) => socket.end()],
  ['is reset', (socket) => socket.resetAndDestroy()],
];

describe.each(ENDS)('a connection that %s while it is idle', (_, end) => {
  it('does not make a GET fail, which is reported once', async () => {
    const { urls, requests } = await startGateway(end);
    const told: RequestInfo[] = [];
    const session = sessionFor(urls, { onRequest: (info) => told.push(info) });
    await session.products();
    expect(await session.products()).toMatchObject([{ code: 'VPSX4' }]);
    expect(requests).toEqual([
      'POST /auth/login on 1',
      'GET /beta/vps/products on 2',
      'GET /beta/vps/products on 2',
      'GET /beta/vps/products on 3',
    ]);
    expect(told.map(({ operation, status }) => [operation, status])).toEqual([
      ['login', 200],
      ['products', 200],
      ['products', 200],
    ]);
  });

  it('does not make a GET fail if another idle one has died too', async () => {
    const held = Promise.withResolvers<Socket>();
    const { urls, requests } = await startGateway(
      (socket, connection) => (connection === 3 ? held.resolve(socket) : end(socket)),
      () => false,
      (connection) => (connection === 2 ? 2 : 1),
    );
    const told: RequestInfo[] = [];
    const session = sessionFor(urls, { onRequest: (info) => told.push(info) });
    await Promise.all([session.products(), session.products()]);
    const second = Promise.all([session.products(), session.products()]);
    // By then, the first connection is idle again, and would be the next one.
    const socket = await held.promise;
    await vi.waitFor(() => expect(told).toHaveLength(4));
    end(socket);
    expect(await second).toHaveLength(2);
    expect(requests.slice(-1)).toEqual(['GET /beta/vps/products on 4']);
  });

  it('makes a DELETE fail, which is not sent again', async () => {
    const { urls, requests } = await startGateway(end);
    const session = sessionFor(urls);
    await session.products();
    const error = await errorOf(session.deleteServer(IDENTIFIER, () => true));
    expect(error).toMatchObject({ code: 'PROVIDER_UNREACHABLE' });
    expect(requests.filter((request) => request.startsWith('DELETE'))).toHaveLength(1);
  });

  it('makes a GET fail if the new one ends as well', async () => {
    const { urls, requests } = await startGateway(end, (connection) => connection > 2);
    const session = sessionFor(urls);
    await session.products();
    expect(await errorOf(session.products())).toMatchObject({ code: 'PROVIDER_UNREACHABLE' });
    expect(requests.filter((request) => request.startsWith('GET'))).toHaveLength(3);
  });
});

describe.each(ENDS)('a new connection that %s before an answer', (_, end) => {
  it('makes a GET fail at once', async () => {
    const { urls, requests } = await startGateway(end, (connection) => connection > 1);
    expect(await errorOf(sessionFor(urls).products())).toMatchObject({ code: 'PROVIDER_UNREACHABLE' });
    expect(requests.filter((request) => request.startsWith('GET'))).toHaveLength(1);
  });

  it('leaves the outcome of an order unknown, which is not sent again', async () => {
    const { urls, requests } = await startGateway(end, (connection) => connection > 1);
    expect(await order(sessionFor(urls))).toMatchObject({ kind: 'unknown' });
    expect(requests.filter((request) => request.startsWith('POST /beta'))).toHaveLength(1);
  });
});
