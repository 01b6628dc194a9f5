import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../../src/base/logger.ts';
import { servePages, type PageServerOptions } from '../../../src/observability/page-server.ts';
import { probe, slowPeers, type SlowPeersOptions } from '../../fixtures/slow-peers.ts';

async function serve(pages: PageServerOptions['pages'] = { '/page': () => ({ status: 200, body: 'ok\n' }) }) {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } });
  const logged = (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const server = await servePages({ address: { host: '127.0.0.1', port: 0 }, flag: 'some-flag', pages, log });
  onTestFinished(() => server.close());
  return { server, lines, logged, url: `http://127.0.0.1:${server.port}` };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

describe('a server of pages', () => {
  it('answers GET and HEAD with any query, and closes the connection', async () => {
    const { url } = await serve();
    const got = await fetch(`${url}/page?verbose`);
    expect([got.status, await got.text(), got.headers.get('connection')]).toEqual([200, 'ok\n', 'close']);
    const head = await fetch(`${url}/page`, { method: 'HEAD' });
    expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([200, '', '3']);
  });

  it('rejects other methods and unknown pages', async () => {
    const { url } = await serve();
    const posted = await fetch(`${url}/page`, { method: 'POST', body: 'x' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/constructor`)).status).toBe(404);
  });

  it('answers 500 for a failed page, and logs the reason without sending it', async () => {
    const wrong = (): never => {
      throw new Error('not for everybody');
    };
    const { url, logged } = await serve({ '/page': wrong, '/other': () => Promise.reject(new Error('nor this')) });
    for (const path of ['/page', '/other']) {
      const got = await fetch(url + path);
      expect([got.status, await got.text()]).toEqual([500, 'failed; see the log\n']);
    }
    expect(logged().filter(({ msg }) => msg === 'page failed')).toMatchObject([
      { path: '/page', err: { message: 'not for everybody' } },
      { path: '/other', err: { message: 'nor this' } },
    ]);
  });

  // Sooner than the server would close an idle connection.
  it('closes immediately despite open connections, and frees its port', { timeout: 8_000 }, async () => {
    const { server } = await serve({ '/page': () => new Promise(() => undefined) });
    const idle = await open(server.port);
    const waiting = await open(server.port);
    waiting.write('GET /page HTTP/1.1\r\nhost: x\r\n\r\n');
    const ends = [idle, waiting].map((socket) => new Promise((resolve) => socket.on('close', resolve)));
    await server.close();
    await Promise.all(ends);
    await expect(open(server.port)).rejects.toThrow('ECONNREFUSED');
  });

  it('names the flag whose port is in use', async () => {
    const { server } = await serve();
    const address = { host: '127.0.0.1', port: server.port };
    const log = createLogger({ level: 'silent' });
    await expect(servePages({ address, flag: 'some-flag', pages: {}, log })).rejects.toThrow(
      `--some-flag 127.0.0.1:${server.port}: cannot listen on this address: the port is in use`,
    );
  });
});

const LIVEZ = { '/livez': () => ({ status: 200, body: 'ok\n' }) };

/** Probes like the kubelet, while the peers keep their connections open. */
async function probesBeside(peers: SlowPeersOptions, probesFrom: string): Promise<(number | string)[]> {
  const { server } = await serve(LIVEZ);
  const target = { host: '127.0.0.1', port: server.port };
  const attack = slowPeers(target, peers);
  onTestFinished(() => attack.stop());
  await expect.poll(() => attack.made()).toBeGreaterThanOrEqual(peers.count);
  const answers = [];
  // Long enough to reach every limit and deadline, and for the peers to reconnect.
  for (const before = attack.made(); attack.made() < before + 2 * peers.count;) {
    answers.push(await probe(target, '/livez', probesFrom, attack));
    expect(attack.open()).toBeGreaterThan(0);
  }
  return answers;
}

describe('a probe', () => {
  it.each([
    ['140 slow connections from another address', 140, () => '127.0.0.2', true, '127.0.0.3'],
    ['140 slow connections from its own address', 140, () => '127.0.0.2', true, '127.0.0.2'],
    ['140 silent connections from another address', 140, () => '127.0.0.2', false, '127.0.0.3'],
    [
      '500 idle connections from 250 addresses',
      500,
      (peer: number) => `127.0.1.${1 + (peer % 250)}`,
      false,
      '127.0.0.3',
    ],
    [
      '500 slow connections from 500 addresses',
      500,
      (peer: number) => `127.1.${peer >> 7}.${1 + (peer & 127)}`,
      true,
      '127.0.0.3',
    ],
  ])('is answered despite %s', async (_, count, from, talk, probesFrom) => {
    const answers = await probesBeside({ count, from, talk }, probesFrom);
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.filter((status) => status !== 200)).toEqual([]);
  });
});

/** Everything that the server sends until it closes the connection. */
async function answerTo(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString()));
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

describe('a request', () => {
  // Sooner than the kubelet gives up.
  it('is cut off if it arrives one byte at a time', { timeout: 5_000 }, async () => {
    const { server } = await serve();
    const socket = await open(server.port);
    const dripping = setInterval(() => socket.write('x'), 100);
    onTestFinished(() => clearInterval(dripping));
    socket.write('GET /page HTTP/1.1\r\nx-slow: ');
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('gets 431 and is closed if it has 1 MB of headers', async () => {
    const { server } = await serve();
    const socket = await open(server.port);
    const answered = answerTo(socket);
    socket.write(`GET /page HTTP/1.1\r\nhost: x\r\n`);
    const line = `x-large: ${'x'.repeat(1_000)}\r\n`;
    // Send only as fast as the server reads: data sent after its end would cost the client the response.
    for (let sent = 0; sent < 2 ** 20 && !socket.destroyed; sent += line.length)
      await new Promise((resolve) => socket.write(line, resolve));
    expect(await answered).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('is the only one on its connection, however many are sent at once', async () => {
    let asked = 0;
    const { server } = await serve({
      '/page': () => {
        asked += 1;
        return { status: 200, body: 'ok\n' };
      },
    });
    const socket = await open(server.port);
    const answered = answerTo(socket);
    socket.write('GET /page HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(500));
    expect((await answered).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    expect(asked).toBe(1);
  });

  it('leaves none of its contents in the log', async () => {
    const { server, lines } = await serve({ '/page': () => Promise.reject(new Error('fails')) });
    const before = lines.length;
    const forged = '{"level":"fatal","msg":"forged"}';
    for (const request of [
      `GET /page?${encodeURIComponent(`\n${forged}\n`)} HTTP/1.1\r\nhost: x\r\nx-forged: ${forged}\r\n\r\n`,
      `GET /page?\n${forged}\n HTTP/1.1\r\nhost: x\r\n\r\n`,
      `GET /page HTTP/1.1\r\nhost: x\r\nx-forged: a\n${forged}\r\n\r\n`,
    ]) {
      const socket = await open(server.port);
      const answered = answerTo(socket);
      socket.write(request);
      expect(await answered).not.toContain('forged');
    }
    const written = lines.slice(before);
    expect(written.length).toBeGreaterThan(0);
    for (const line of written) {
      expect(line.trimEnd().split(/[\r\n\u2028]/)).toHaveLength(1);
      expect(line).not.toContain('forged');
      expect(JSON.parse(line)).toMatchObject({ msg: 'page failed', path: '/page' });
    }
  });
});
