import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../../src/logger.ts';
import { servePages, type PageServerOptions } from '../../../src/observability/page-server.ts';

async function serve(pages: PageServerOptions['pages'] = { '/page': () => ({ status: 200, body: 'ok\n' }) }) {
  const logged: Record<string, unknown>[] = [];
  const log = createLogger({
    level: 'info',
    destination: { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const server = await servePages({ address: { host: '127.0.0.1', port: 0 }, flag: 'some-flag', pages, log });
  onTestFinished(() => server.close());
  return { server, logged, url: `http://127.0.0.1:${server.port}` };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

describe('a server of pages', () => {
  it('answers GET and HEAD, with whatever query, and closes the connection', async () => {
    const { url } = await serve();
    const got = await fetch(`${url}/page?verbose`);
    expect([got.status, await got.text(), got.headers.get('connection')]).toEqual([200, 'ok\n', 'close']);
    const head = await fetch(`${url}/page`, { method: 'HEAD' });
    expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([200, '', '3']);
  });

  it('takes no other method and knows no other page', async () => {
    const { url } = await serve();
    const posted = await fetch(`${url}/page`, { method: 'POST', body: 'x' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/constructor`)).status).toBe(404);
  });

  it('answers 500 for a page that fails, and tells the log alone why', async () => {
    const wrong = (): never => {
      throw new Error('not for everybody');
    };
    const { url, logged } = await serve({ '/page': wrong, '/other': () => Promise.reject(new Error('nor this')) });
    for (const path of ['/page', '/other']) {
      const got = await fetch(url + path);
      expect([got.status, await got.text()]).toEqual([500, 'failed; the log says why\n']);
    }
    expect(logged.filter(({ msg }) => msg === 'page failed')).toMatchObject([
      { path: '/page', err: { message: 'not for everybody' } },
      { path: '/other', err: { message: 'nor this' } },
    ]);
  });

  // Sooner than the server would close a connection that is idle.
  it('closes at once, whoever is still connected, and frees its port', { timeout: 8_000 }, async () => {
    const { server } = await serve({ '/page': () => new Promise(() => undefined) });
    const idle = await open(server.port);
    const waiting = await open(server.port);
    waiting.write('GET /page HTTP/1.1\r\nhost: x\r\n\r\n');
    const ends = [idle, waiting].map((socket) => new Promise((resolve) => socket.on('close', resolve)));
    await server.close();
    await Promise.all(ends);
    await expect(open(server.port)).rejects.toThrow('ECONNREFUSED');
  });

  it('holds only so many connections', async () => {
    let asked = 0;
    const { server } = await serve({ '/page': () => new Promise(() => void (asked += 1)) });
    const closed = new Set<number>();
    for (let count = 1; count <= 33; count++) {
      const socket = await open(server.port);
      socket.on('close', () => closed.add(count)).resume();
      socket.write('GET /page HTTP/1.1\r\nhost: x\r\n\r\n');
    }
    await expect.poll(() => asked).toBe(32);
    await expect.poll(() => closed.size).toBeGreaterThan(0);
    expect([...closed]).toEqual([33]);
  });

  it('names the flag whose port is in use', async () => {
    const { server } = await serve();
    const address = { host: '127.0.0.1', port: server.port };
    const log = createLogger({ level: 'silent' });
    await expect(servePages({ address, flag: 'some-flag', pages: {}, log })).rejects.toThrow(
      `--some-flag 127.0.0.1:${server.port} cannot be listened on: the port is in use`,
    );
  });
});
