/** Orders whose connection fails: not created if it fails before the request is sent, unknown after that. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CreateOutcome } from '../../../src/provider/types.ts';
import { realTimers } from '../../../src/base/timers.ts';
import {
  KEY,
  REQUEST,
  listen,
  providerFor,
  refusingOrigin,
  sessionFor,
  startRaw,
  startStub,
  order,
} from './stub-provider.ts';

async function createAt(origin: string, options: { timeoutMs?: number; createTimeoutMs?: number } = {}) {
  const { authUrl } = await startStub();
  const session = sessionFor({ baseUrl: origin, authUrl }, options);
  // The create timeout includes the login, which must not use it up on a busy machine.
  await session.ensureToken();
  return order(session);
}

/** Sends an order whose request `onRequest` handles; returns the outcome and the number of requests that arrived. */
async function createRaw(
  onRequest: (socket: Socket, origin: string) => void,
  createTimeoutMs = 120_000,
): Promise<{ outcome: CreateOutcome; requests: number }> {
  const raw = await startRaw((socket) => onRequest(socket, raw.origin));
  const outcome = await createAt(raw.origin, { createTimeoutMs });
  return { outcome, requests: raw.requests.length };
}

/** A self-signed certificate for `localhost`. */
function certificate(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'provider-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  execFileSync(
    'openssl',
    ['req', '-x509', '-nodes', '-days', '2', ...curve, ...subject, '-keyout', key, '-out', cert],
    {
      stdio: 'ignore',
    },
  );
  const pems = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return pems;
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

describe('an order without a connection', () => {
  it('is not created if the connection is refused', async () => {
    const outcome = await createAt(await refusingOrigin());
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_UNREACHABLE' } });
  });

  it('is not created if the name has no address', async () => {
    const { authUrl } = await startStub();
    const lookup = () => Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    const session = sessionFor({ baseUrl: 'http://stub.invalid', authUrl }, { lookup });
    const outcome = await order(session);
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_UNREACHABLE' } });
  });

  it('is not created if the certificate is not trusted', async () => {
    let requests = 0;
    const port = await listen(createHttpsServer(certificate(), () => requests++));
    const outcome = await createAt(`https://localhost:${port}`);
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_UNREACHABLE' } });
    expect(requests).toBe(0);
  });

  it('is not created if the server does not use TLS', async () => {
    const port = await listen(createTcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(await createAt(`https://127.0.0.1:${port}`)).toMatchObject({ kind: 'notCreated' });
  });

  it('is not created if the server resets the connection during the TLS handshake', async () => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await createAt(`https://127.0.0.1:${await listen(server)}`)).toMatchObject({ kind: 'notCreated' });
  });

  it('is not created if the TLS handshake never ends', async () => {
    const port = await listen(createTcpServer(() => undefined));
    const outcome = await createAt(`https://127.0.0.1:${port}`, { createTimeoutMs: 100 });
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_TIMEOUT' } });
  });

  it('is not created after the client is closed', async () => {
    const stub = await startStub();
    const provider = providerFor(stub);
    const session = provider.account({ keyId: 'key', secret: 'secret' }).session('');
    await provider.close();
    expect(await order(session)).toMatchObject({ kind: 'notCreated' });
    expect(stub.seen).toEqual([]);
  });
});

describe('an order with an open connection', () => {
  async function opened(answer: (socket: Socket) => void) {
    const { authUrl } = await startStub();
    const sockets: Socket[] = [];
    const requests: string[] = [];
    const port = await listen(
      createTcpServer((socket) => {
        sockets.push(socket);
        socket.on('data', (chunk: Buffer) => {
          requests.push(chunk.toString());
          answer(socket);
        });
      }),
    );
    const session = sessionFor({ baseUrl: `http://127.0.0.1:${port}`, authUrl });
    const open = await session.openOrder();
    await expect.poll(() => sockets).toHaveLength(1);
    const [socket] = sockets;
    if (socket === undefined) throw new Error('no connection');
    return { open, socket, requests, connections: () => sockets.length };
  }
  const gate = { maySend: () => true, sending: () => Promise.resolve(), unsent: () => Promise.resolve() };
  const accept = (socket: Socket) => void socket.end('HTTP/1.1 202 Accepted\r\nContent-Length: 10\r\n\r\n{"task":4}');

  it('is sent over that connection, after the note that it is sent', async () => {
    const { open, requests, connections } = await opened(accept);
    const noted: number[] = [];
    const sending = () => Promise.resolve(void noted.push(requests.length));
    expect(await open.send(REQUEST, { ...gate, sending })).toEqual({ kind: 'created', task: 4 });
    expect(noted).toEqual([0]);
    expect([requests.length, connections()]).toEqual([1, 1]);
  });

  it('waits for nothing between the note and the request, above all not for --provider-qps', async () => {
    const stub = await startStub();
    stub.on('POST /beta/vps/servers', { status: 202, body: { task: 4 } });
    // The burst is enough for the login and the order, and no timer fills the bucket again.
    const session = sessionFor(stub, {
      qps: 2,
      timers: { ...realTimers, set: () => undefined },
      createTimeoutMs: 5000,
    });
    const open = await session.openOrder();
    expect(await open.send(REQUEST, gate)).toEqual({ kind: 'created', task: 4 });
  });

  it('blocks claims of other orders in its namespace until it is sent, but not in other namespaces', async () => {
    const stub = await startStub();
    const provider = providerFor(stub, { qps: 10 });
    const [mine, theirs] = ['mine', 'theirs'].map((name) =>
      provider.account({ keyId: name, secret: 's' }).session(name),
    );
    if (mine === undefined || theirs === undefined) throw new Error('no session');
    const first = await mine.openOrder();
    let isSecondOpen = false;
    const second = mine.openOrder().then((open) => {
      isSecondOpen = true;
      return open;
    });
    (await theirs.openOrder()).close();
    expect(isSecondOpen).toBe(false);
    stub.on('POST /beta/vps/servers', () => expect(stub.count('POST', '/beta/vps/servers')).toBe(1));
    // The second order does not wait for the answer to the first.
    void first.send(REQUEST, gate);
    (await second).close();
  });

  it('is not created, and not sent, if the note fails', async () => {
    const { open, requests } = await opened(accept);
    const sending = () => Promise.reject(new Error('the disk is full'));
    await expect(open.send(REQUEST, { ...gate, sending })).rejects.toThrow('the disk is full');
    open.close();
    expect(requests).toEqual([]);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.resetAndDestroy()],
    ['answers on', (socket) => void socket.write('HTTP/1.1 408 Request Timeout\r\n\r\n')],
  ])('is not created if the provider %s the connection before the request', async (_name, act) => {
    const { open, socket, requests, connections } = await opened(accept);
    act(socket);
    // After a later exchange between the same machines, what the provider sent has arrived.
    await startStub().then((stub) => sessionFor(stub).ensureToken());
    expect(await open.send(REQUEST, gate)).toMatchObject({
      kind: 'notCreated',
      error: { code: 'PROVIDER_UNREACHABLE' },
    });
    expect([requests.length, connections()]).toEqual([0, 1]);
  });

  it('is not created, and not sent, if the claim took longer than the connection may wait', async () => {
    const { authUrl, baseUrl, seen } = await startStub();
    let now = 0;
    const session = sessionFor({ baseUrl, authUrl }, { timers: { ...realTimers, monotonic: () => now } });
    const open = await session.openOrder();
    now = 10_000;
    expect(await open.send(REQUEST, gate)).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_WITHHELD' } });
    expect(seen.map(({ path }) => path)).toEqual(['/auth/login']);
  });

  it.each([
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['102 Processing, twice', 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'],
    ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n'],
  ])('is created if %s comes before the 202', async (_name, informational) => {
    const { open } = await opened((socket) => {
      socket.write(informational);
      accept(socket);
    });
    expect(await open.send(REQUEST, gate)).toEqual({ kind: 'created', task: 4 });
  });
});

describe('a login', () => {
  it('succeeds if 100 Continue comes before its answer', async () => {
    const raw = await startRaw((socket) => {
      const body = '{"access_token":"t","expires_in":300}';
      socket.end(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    const account = providerFor({ baseUrl: raw.origin, authUrl: raw.origin }).account(KEY);
    await account.session('').ensureToken();
    expect(account.isAccepted()).toBe(true);
  });
});

describe('an order over TLS', () => {
  it('is accepted if the certificate has the right name and a trusted issuer', async () => {
    const pems = certificate();
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, pems.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
    const port = await listen(
      createHttpsServer(pems, (_request, response) => response.writeHead(202).end('{"task":4}')),
    );
    expect(await createAt(`https://localhost:${port}`)).toEqual({ kind: 'created', task: 4 });
    expect(await createAt(`https://127.0.0.1:${port}`)).toMatchObject({ kind: 'notCreated' });
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'resumes the last session of %s with that host, over a new connection, also after a garbage collection',
    async (version) => {
      const pems = certificate();
      const server = createHttpsServer({ ...pems, minVersion: version, maxVersion: version }, (_request, response) =>
        response.writeHead(202).end('{"task":4}'),
      );
      const resumed: boolean[] = [];
      server.on('secureConnection', (socket) => resumed.push(socket.isSessionReused()));
      const requests = new Map<Socket, number>();
      server.on('request', ({ socket }) => requests.set(socket, (requests.get(socket) ?? 0) + 1));
      const baseUrl = `https://localhost:${await listen(server)}`;
      const { authUrl } = await startStub();
      const session = sessionFor({ baseUrl, authUrl }, { network: { certificates: [pems.cert] } });
      for (let orders = 0; orders < 3; orders += 1) {
        expect(await order(session)).toEqual({ kind: 'created', task: 4 });
        collectGarbage();
      }
      expect(resumed).toEqual([false, true, true]);
      expect([...requests.values()]).toEqual([1, 1, 1]);
      // A host that cannot cope with a session would fail each time.
      server.once('connection', (socket: Socket) => socket.resetAndDestroy());
      expect(await order(session)).toMatchObject({ kind: 'notCreated' });
      expect(await order(session)).toEqual({ kind: 'created', task: 4 });
      expect(resumed).toEqual([false, true, true, false]);
    },
  );
});

describe('an order whose response is lost', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['resets the connection', (socket) => socket.resetAndDestroy()],
    ['closes the connection', (socket) => socket.destroy()],
    ['half-closes the connection', (socket) => socket.end()],
    ['sends half a status line', (socket) => socket.end('HTTP/1.1 2')],
    ['sends half the headers', (socket) => socket.end('HTTP/1.1 202 Accepted\r\nLocation: /beta/q')],
    ['does not speak HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')],
    ['sends only 100 Continue', (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\n')],
    [
      'switches protocols',
      (socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    ],
    ['sends endless headers', (socket) => socket.write(`HTTP/1.1 202 Accepted\r\nX: ${'x'.repeat(100_000)}`)],
  ])('is unknown and not sent again if the server %s', async (_name, onRequest) => {
    const { outcome, requests } = await createRaw(onRequest);
    expect(outcome.kind).toBe('unknown');
    expect(requests).toBe(1);
  });

  it('is unknown if the server never answers', async () => {
    const { outcome, requests } = await createRaw(() => undefined, 500);
    expect(outcome).toMatchObject({ kind: 'unknown', error: { code: 'PROVIDER_TIMEOUT' } });
    expect(requests).toBe(1);
  });

  it('is unknown if the client is closed while waiting', async () => {
    const { authUrl } = await startStub();
    const arrived = Promise.withResolvers<undefined>();
    const raw = await startRaw(() => arrived.resolve(undefined));
    const provider = providerFor({ baseUrl: raw.origin, authUrl });
    const outcome = order(provider.account({ keyId: 'key', secret: 'secret' }).session(''));
    await arrived.promise;
    await provider.close();
    expect(await outcome).toMatchObject({ kind: 'unknown', error: { code: 'PROVIDER_UNREACHABLE' } });
  });
});

describe('an order that is accepted with a broken body', () => {
  const head = (origin: string, more: string) =>
    `HTTP/1.1 202 Accepted\r\nLocation: ${origin}/beta/queue/vps/9\r\n${more}\r\n\r\n`;

  it.each<[string, (socket: Socket, origin: string) => void]>([
    ['is cut off', (socket, origin) => socket.end(`${head(origin, 'Content-Length: 50')}{"ta`)],
    ['is reset', (socket, origin) => socket.write(head(origin, 'Content-Length: 50'), () => socket.resetAndDestroy())],
    ['never ends', (socket, origin) => socket.write(`${head(origin, 'Content-Length: 50')}{"task"`)],
    ['is badly chunked', (socket, origin) => socket.end(`${head(origin, 'Transfer-Encoding: chunked')}zz\r\n`)],
    [
      'is larger than any answer',
      (socket, origin) => socket.end(head(origin, 'Content-Length: 52428800') + ' '.repeat(50 * 1024 * 1024)),
    ],
  ])('is created with the task from the Location if the body %s', async (name, onRequest) => {
    // Sending 50 MiB takes more than a second on a busy machine.
    const { outcome, requests } = await createRaw(onRequest, name === 'never ends' ? 1000 : 60_000);
    expect(outcome).toEqual({ kind: 'created', task: 9 });
    expect(requests).toBe(1);
  });

  it.each<[string, string, (socket: Socket) => void]>([
    [
      'is cut off',
      'PROVIDER_UNREACHABLE',
      (socket) => socket.end('HTTP/1.1 202 OK\r\nContent-Length: 50\r\n\r\n{"task":1'),
    ],
    ['trickles in', 'PROVIDER_TIMEOUT', (socket) => drip(socket, 'HTTP/1.1 202 OK\r\nContent-Length: 5000\r\n\r\n')],
    [
      'is larger than any answer',
      'PROVIDER_PROTOCOL',
      (socket) => socket.end(`HTTP/1.1 202 OK\r\nConnection: close\r\n\r\n${' '.repeat(50 * 1024 * 1024)}`),
    ],
  ])('is unknown without a Location if the body %s', async (_name, code, onRequest) => {
    const { outcome } = await createRaw(onRequest, code === 'PROVIDER_TIMEOUT' ? 1000 : 60_000);
    expect(outcome).toMatchObject({ kind: 'unknown', error: { code } });
  });

  it('is not created, without another login, if the body of a 401 exceeds the deadline', async () => {
    const stub = await startStub();
    const raw = await startRaw((socket) => socket.write('HTTP/1.1 401 No\r\nContent-Length: 50\r\n\r\n{'));
    const session = sessionFor({ baseUrl: raw.origin, authUrl: stub.authUrl }, { createTimeoutMs: 500 });
    await session.ensureToken();
    expect(await order(session)).toMatchObject({ kind: 'notCreated' });
    expect(stub.seen).toHaveLength(1);
    expect(raw.requests).toHaveLength(1);
  });

  it('is refused by its status even if the body of the refusal is cut off', async () => {
    const { outcome } = await createRaw((socket) => socket.end('HTTP/1.1 422 No\r\nContent-Length: 50\r\n\r\n{"me'));
    expect(outcome).toMatchObject({ kind: 'refused', status: 422 });
  });
});

/** Sends a byte every few milliseconds while the connection is open. */
function drip(socket: Socket, head: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(' '), 5);
  socket.on('close', () => clearInterval(timer));
}
