/** Connections to the API server that die while they are idle. */
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createKubeHttp, type KubeRequestInfo } from '../../../src/kube/http.ts';
import { clusterAt } from '../../fixtures/cluster.ts';
import { atSocketError } from '../../fixtures/socket-error.ts';

/** Answers the first request of each connection, and ends the connection at the next one. */
async function startGateway(end: (socket: Socket) => void) {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const connection = sockets.size;
    let answered = 0;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      requests.push(`${chunk.toString().split(' ')[0] ?? ''} on ${connection}`);
      answered += 1;
      if (answered > 1) end(socket);
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const told: KubeRequestInfo[] = [];
  const http = createKubeHttp({
    cluster: clusterAt(server),
    onRequest: (info) => told.push(info),
  });
  onTestFinished(async () => {
    await http.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { http, requests, told };
}

describe.each([
  ['is closed', (socket: Socket) => void socket.end()],
  ['is reset', (socket: Socket) => void socket.resetAndDestroy()],
])('a connection that %s while it is idle', (_, end) => {
  /** undici uses a connection again only after a cycle of the event loop. */
  const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('does not make a read fail, which is reported once', async () => {
    const { http, requests, told } = await startGateway(end);
    await http.call({ path: '/' });
    await idle();
    expect(await http.call({ path: '/' })).toEqual({});
    expect(requests).toEqual(['GET on 1', 'GET on 1', 'GET on 2']);
    expect(told).toEqual([
      { method: 'GET', status: 200 },
      { method: 'GET', status: 200 },
    ]);
  });

  it('is not replaced if the client is closed at that moment', async () => {
    const { http, requests } = await startGateway(end);
    const closed = atSocketError(() => http.close());
    await http.call({ path: '/' });
    await idle();
    await expect(http.call({ path: '/' })).rejects.toMatchObject({ code: 'Unreachable' });
    await closed;
    expect(requests).toEqual(['GET on 1', 'GET on 1']);
  });

  it('does not make a watch fail', async () => {
    const { http, requests } = await startGateway(end);
    const { signal } = new AbortController();
    for (let watch = 1; watch <= 2; watch += 1) {
      let text = '';
      for await (const chunk of await http.stream({ path: '/', signal })) text += chunk.toString();
      expect(text).toBe('{}');
      await idle();
    }
    expect(requests).toEqual(['GET on 1', 'GET on 1', 'GET on 2']);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)('makes a %s fail, which is not sent again', async (method) => {
    const { http, requests } = await startGateway(end);
    await http.call({ path: '/' });
    await idle();
    await expect(http.call({ method, path: '/' })).rejects.toMatchObject({ code: 'Unreachable' });
    expect(requests).toEqual(['GET on 1', `${method} on 1`]);
  });
});
