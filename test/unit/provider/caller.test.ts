/** The calls that are safe to repeat: the requests, and the result of each response. */
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { realTimers } from '../../../src/base/timers.ts';
import type { RequestInfo } from '../../../src/provider/transport.ts';
import { KEY, errorOf, listen, providerFor, sessionFor, startRaw, startStub, order } from './stub-provider.ts';
import type { Reply } from './stub-provider.ts';

const TASK = '/beta/queue/vps/5';
const SERVER = '/beta/vps/servers/abc';

async function poll(reply: Reply) {
  const stub = await startStub();
  stub.on(`GET ${TASK}`, reply);
  return { stub, state: sessionFor(stub).pollTask(5) };
}

async function read(body: unknown, identifier = 'abc') {
  const stub = await startStub();
  stub.on(`GET /beta/vps/servers/${identifier}`, { status: 200, body });
  return sessionFor(stub).readServer(identifier, 'low');
}

describe('a task poll', () => {
  it('is pending with the status text of the provider', async () => {
    const { state, stub } = await poll({ status: 200, body: { identifier: 'abc', status: 'Installing, 40%' } });
    expect(await state).toEqual({ state: 'pending', identifier: 'abc', status: 'Installing, 40%' });
    expect(stub.seen.at(-1)?.headers.authorization).toBe('Bearer token-1');
  });

  it('removes credentials and control characters from the status text', async () => {
    const status = `Installing\u001b[2J for ${KEY.secret}, Bearer token-1\n40%`;
    const { state } = await poll({ status: 200, body: { identifier: 'abc', status } });
    expect(await state).toMatchObject({ status: 'Installing[2J for ***, Bearer *** 40%' });
  });

  it.each([{}, { identifier: null, status: null }, { identifier: {}, status: {} }, { identifier: '' }])(
    'is pending without what is missing or of a wrong type: %j',
    async (body) => {
      const { state } = await poll({ status: 200, body });
      expect(await state).toEqual({ state: 'pending', identifier: undefined, status: undefined });
    },
  );

  it.each(['', 'null', '[]', '"text"', '5', '<html></html>', '{"status":'])(
    'cannot be understood when its body is %j',
    async (body) => {
      const { state } = await poll({ status: 200, body });
      expect(await errorOf(state)).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    },
  );

  it.each<[string, string | undefined, unknown, string]>([
    ['body', undefined, { identifier: 'abc' }, 'abc'],
    ['Location', '/beta/vps/servers/abc', '', 'abc'],
    ['Location, decoded', '/beta/vps/servers/a%2Fb%20%C3%BC', {}, 'a/b ü'],
    ['both', '/beta/vps/servers/abc', { identifier: 'abc' }, 'abc'],
    ['body, where the Location has another case', '/beta/vps/servers/ABC', { identifier: 'abc' }, 'abc'],
    ['body, not a foreign Location', 'http://127.0.0.9/beta/vps/servers/evil', { identifier: 'abc' }, 'abc'],
  ])('is complete with the identifier from the %s', async (_name, location, body, identifier) => {
    const { state, stub } = await poll({ status: 303, headers: location === undefined ? {} : { location }, body });
    expect(await state).toEqual({ state: 'complete', identifier });
    expect(stub.seen.map(({ path }) => path)).toEqual(['/auth/login', TASK]);
  });

  it.each<[string | undefined, unknown]>([
    ['/beta/vps/servers/abc', { identifier: 'xyz' }],
    ['http://127.0.0.9/beta/vps/servers/abc', {}],
    ['/beta/vps/servers/', {}],
    ['/beta/vps/servers/a/b', {}],
    ['/beta/vps/servers/%ff', {}],
    ['/beta/vps/servers/../x', {}],
    ['/beta/vps/other/abc', {}],
    [undefined, {}],
    [undefined, { identifier: 'x'.repeat(5000) }],
  ])('is a protocol error if a 303 has Location %s and body %j', async (location, body) => {
    const { state } = await poll({ status: 303, headers: location === undefined ? {} : { location }, body });
    expect(await errorOf(state)).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
  });

  it.each<[number, string]>([
    [201, 'PROVIDER_PROTOCOL'],
    [202, 'PROVIDER_PROTOCOL'],
    [204, 'PROVIDER_PROTOCOL'],
    [301, 'PROVIDER_PROTOCOL'],
    [302, 'PROVIDER_PROTOCOL'],
    [304, 'PROVIDER_PROTOCOL'],
    [307, 'PROVIDER_PROTOCOL'],
    [308, 'PROVIDER_PROTOCOL'],
    [403, 'PROVIDER_FORBIDDEN'],
    [404, 'PROVIDER_NOT_FOUND'],
    [410, 'PROVIDER_NOT_FOUND'],
    [429, 'PROVIDER_RATE_LIMITED'],
    [500, 'PROVIDER_RESPONSE'],
    [503, 'PROVIDER_RESPONSE'],
  ])('fails on %i with %s', async (status, code) => {
    const { state } = await poll({ status });
    expect(await errorOf(state)).toMatchObject({ code });
  });
});

describe('redirects', () => {
  it.each([301, 302, 303, 307, 308])('with %i never send a token to another server', async (status) => {
    let strangers = 0;
    const port = await listen(createServer((_request, response) => response.end(`${++strangers}`)));
    const stub = await startStub();
    const reply = { status, headers: { location: `http://127.0.0.1:${port}/beta/vps/servers/abc` }, body: {} };
    const session = sessionFor(stub);
    for (const route of ['GET /beta/vps/products', `GET ${TASK}`, `GET ${SERVER}`, `DELETE ${SERVER}`]) {
      stub.on(route, reply);
    }
    stub.on('POST /beta/vps/servers', reply);
    expect(await errorOf(session.products())).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    expect(await errorOf(session.pollTask(5))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    expect(await errorOf(session.readServer('abc', 'low'))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    expect(await errorOf(session.deleteServer('abc'))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    const outcome = await order(session);
    expect(outcome.kind).toBe('unknown');
    expect(strangers).toBe(0);
  });
});

describe('reading a server', () => {
  it('returns the documented fields, and nothing of the VNC console', async () => {
    const server = await read({
      identifier: 'abc',
      name: null,
      status: 'running',
      product: 'VPSX4',
      price: 4.5,
      zone: { name: 'Zone One', code: 'z1' },
      host_server: 'host1',
      specs: { cores: 1, disk_size: 20, ram: 1024, disk_type: 'ssd' },
      boot_device: 'hd',
      ipv4: [],
      ipv6: ['2001:db8::1'],
      macs: ['52:54:00:00:00:01'],
      vnc: { mode: 'disabled', password: 'vnc-password', display: 1, port: 5901, ipv4: '192.0.2.1', ipv6: '' },
      admin_console: { hostname: 'admin.abc.vs.example.org', username: 'abc' },
      ssh_proxy: { hostname: 'proxy.example.org', port: 2201 },
    });
    expect(server).toEqual({
      identifier: 'abc',
      status: 'running',
      product: 'VPSX4',
      price: 4.5,
      zone: { name: 'Zone One', code: 'z1' },
      hostServer: 'host1',
      specs: { cores: 1, ram: 1024, diskSize: 20, diskType: 'ssd' },
      ipv4: [],
      ipv6: ['2001:db8::1'],
      macs: ['52:54:00:00:00:01'],
      adminConsole: { hostname: 'admin.abc.vs.example.org', username: 'abc' },
      sshProxy: { hostname: 'proxy.example.org', port: 2201 },
      vnc: { mode: 'disabled', password: 'vnc-password', display: 1, port: 5901, ipv4: '192.0.2.1', ipv6: '' },
    });
  });

  it('requires only the identifier', async () => {
    expect(await read({ identifier: 'abc' })).toEqual({ identifier: 'abc', ipv4: [], ipv6: [], macs: [] });
  });

  it('leaves out fields of a wrong type', async () => {
    const odd = { name: 5, status: [], price: 'four', zone: 'z', specs: { cores: 'two', ram: 1.5, disk_size: 20 } };
    const lists = { ipv4: [{ address: '192.0.2.1' }, '192.0.2.2', null], ipv6: 'none', macs: null };
    const objects = { admin_console: { hostname: 'h' }, ssh_proxy: { hostname: 'h', port: '22' }, host_server: {} };
    expect(await read({ identifier: 'abc', ...odd, ...lists, ...objects })).toEqual({
      identifier: 'abc',
      specs: { diskSize: 20 },
      ipv4: ['192.0.2.2'],
      ipv6: [],
      macs: [],
    });
  });

  it.each([
    [8.5, 8.5],
    [0, 0],
    ['8.5', 8.5],
    [' 1018 ', 1018],
    ['0.0123', 0.0123],
  ])('reads the price %j', async (price, known) => {
    expect((await read({ identifier: 'abc', price })).price).toBe(known);
  });

  it.each([
    null,
    '',
    '8,5',
    '-8.5',
    '+8.5',
    '.5',
    '1e3',
    '0x10',
    '8.50 GBP',
    '1234567890123',
    [[8.5]],
    { amount: 8.5 },
    true,
  ])('knows no price of %j', async (price) => {
    expect(await read({ identifier: 'abc', price })).not.toMatchObject({ price: expect.anything() as unknown });
  });

  it.each([0, -1, 65_536, 22.5, null])('leaves out an SSH proxy whose port is %j', async (port) => {
    const server = await read({ identifier: 'abc', ssh_proxy: { hostname: 'h', port } });
    expect(server).not.toMatchObject({ sshProxy: expect.anything() as unknown });
  });

  it.each([{}, { identifier: 'abcd' }, { identifier: 5 }, { identifier: 'ABÇ' }, [], null, 'text'])(
    'cannot be understood when it does not show the identifier that was asked for: %j',
    async (body) => {
      expect(await errorOf(read(body))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    },
  );

  it('accepts the identifier in any case, and keeps the spelling of the provider', async () => {
    expect(await read({ identifier: 'ABC' })).toMatchObject({ identifier: 'ABC' });
    expect(await read({ identifier: 'abc' }, 'ABC')).toMatchObject({ identifier: 'abc' });
  });

  it.each(['a/b', '../products', 'a?b=c', 'a#b', '%2e%2e', 'a b', 'ü🔑', '...', 'a\\b', ';x', '..;', 'x'.repeat(4000)])(
    'asks for the identifier %s as one segment of the path',
    async (identifier) => {
      const stub = await startStub('/prefix');
      const path = `/beta/vps/servers/${encodeURIComponent(identifier)}`;
      stub.on(`GET ${path}`, { status: 200, body: { identifier } });
      stub.on(`DELETE ${path}`, { status: 200, body: { message: 'cancelled' } });
      const session = sessionFor(stub);
      expect(await session.readServer(identifier, 'low')).toMatchObject({ identifier });
      await session.deleteServer(identifier);
      expect(stub.count('DELETE', path)).toBe(1);
    },
  );

  it.each(['', '.', '..', '\ud800', 'x'.repeat(5000)])('sends nothing for the identifier %j', async (identifier) => {
    const stub = await startStub();
    const session = sessionFor(stub);
    expect(await errorOf(session.readServer(identifier, 'low'))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    expect(await errorOf(session.deleteServer(identifier))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    expect(stub.seen).toEqual([]);
  });

  it('fails with NOT_FOUND for an unknown server or task', async () => {
    const stub = await startStub();
    stub.on(`GET ${SERVER}`, { status: 404, body: '<html>Not found</html>' });
    const error = await errorOf(sessionFor(stub).readServer('abc', 'low'));
    expect(error).toMatchObject({ code: 'PROVIDER_NOT_FOUND' });
    expect(error.message).not.toContain('<');
  });
});

describe('deleting a server', () => {
  it('returns the message of the documented answer', async () => {
    const stub = await startStub();
    stub.on(`DELETE ${SERVER}`, { status: 200, body: { message: 'is being\nremoved', more: 1 } });
    expect(await sessionFor(stub).deleteServer('abc')).toBe('is being removed');
    expect(stub.count('DELETE', SERVER)).toBe(1);
  });

  it.each([
    '',
    'garbage',
    '<html><body>Maintenance</body></html>',
    '[]',
    'null',
    '"ok"',
    '{}',
    '{"error":"locked"}',
    '{"message":5}',
    '{"message":"cut o',
  ])('fails on 200 with a body that is not documented: %j', async (body) => {
    const stub = await startStub();
    stub.on(`DELETE ${SERVER}`, { status: 200, body });
    expect(await errorOf(sessionFor(stub).deleteServer('abc'))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    expect(stub.count('DELETE', SERVER)).toBe(1);
  });

  it.each<[number, string]>([
    [202, 'PROVIDER_PROTOCOL'],
    [204, 'PROVIDER_PROTOCOL'],
    [302, 'PROVIDER_PROTOCOL'],
    [404, 'PROVIDER_NOT_FOUND'],
    [409, 'PROVIDER_RESPONSE'],
    [429, 'PROVIDER_RATE_LIMITED'],
    [500, 'PROVIDER_RESPONSE'],
  ])('fails on %i with %s, without an automatic retry', async (status, code) => {
    const stub = await startStub();
    stub.on(`DELETE ${SERVER}`, { status, body: status === 204 ? '' : {} });
    expect(await errorOf(sessionFor(stub).deleteServer('abc'))).toMatchObject({ code });
    expect(stub.count('DELETE', SERVER)).toBe(1);
  });
});

describe('the lists of the provider', () => {
  const lists = async (replies: { products?: unknown; images?: unknown; diskSizes?: unknown } = {}) => {
    const stub = await startStub();
    const { products = [{ code: 'a', specs: { ram: 1024 } }], images = [], diskSizes = { ssd: [10, 20] } } = replies;
    stub.on('GET /beta/vps/products', { status: 200, body: products });
    stub.on('GET /beta/vps/images', { status: 200, body: images });
    stub.on('GET /beta/vps/disk-sizes', { status: 200, body: diskSizes });
    return stub;
  };

  it('drop malformed elements', async () => {
    const stub = await lists({
      products: [
        { code: 'a', specs: { ram: 1024, x: 1 } },
        { code: 5 },
        null,
        'b',
        { code: '' },
        { code: 'c', specs: 1 },
      ],
      images: [{ name: 'debian/minimal', description: 'Debian' }, { name: 'x/y', description: null }, {}, []],
      diskSizes: { ssd: [10, '20', 30.5, 40, null], hdd: 'none', nvme: [] },
    });
    expect(await sessionFor(stub).catalog(0)).toMatchObject({
      products: [{ code: 'a', ram: 1024 }, { code: 'c' }],
      images: [{ name: 'debian/minimal', description: 'Debian' }, { name: 'x/y' }],
      diskSizes: { ssd: [10, 40], nvme: [] },
    });
  });

  it.each([{ products: {} }, { images: 'x' }, { diskSizes: [] }, { products: '<html>' }])(
    'cannot be understood when they are %j',
    async (replies) => {
      const stub = await lists(replies);
      expect(await errorOf(sessionFor(stub).catalog(0))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    },
  );

  it('are read once for many callers, and again when they are too old', async () => {
    const stub = await lists();
    let now = 0;
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    await Promise.all(Array.from({ length: 20 }, () => session.catalog(0)));
    now = 5000;
    await session.catalog(5000);
    expect(stub.count('GET', '/beta/vps/images')).toBe(1);
    await session.catalog(4999);
    expect(stub.count('GET', '/beta/vps/images')).toBe(2);
  });

  it('are read again after a failure', async () => {
    const stub = await lists();
    stub.on('GET /beta/vps/images', { status: 500 });
    const session = sessionFor(stub);
    expect(await errorOf(session.catalog(60_000))).toMatchObject({ code: 'PROVIDER_RESPONSE' });
    stub.on('GET /beta/vps/images', { status: 200, body: [] });
    expect(await session.catalog(60_000)).toMatchObject({ images: [] });
  });

  it('return fresh products on each call', async () => {
    const stub = await lists();
    const session = sessionFor(stub);
    await session.catalog(60_000);
    expect(await session.products()).toEqual([{ code: 'a', ram: 1024 }]);
    expect(stub.count('GET', '/beta/vps/products')).toBe(2);
  });

  it('fail with a response error on 404, not as a missing server', async () => {
    const stub = await lists();
    stub.on('GET /beta/vps/products', { status: 404 });
    expect(await errorOf(sessionFor(stub).products())).toMatchObject({ code: 'PROVIDER_RESPONSE', status: 404 });
  });
});

describe('every call', () => {
  it.each(['', '/', '//'])('works with a path prefix followed by %j', async (slashes) => {
    const stub = await startStub('/pre/fix');
    stub.on('GET /beta/vps/products', { status: 200, body: [] });
    const session = sessionFor({ baseUrl: stub.baseUrl + slashes, authUrl: stub.authUrl + slashes });
    await session.products();
    expect(stub.seen.map(({ path }) => path)).toEqual(['/pre/fix/auth/login', '/pre/fix/beta/vps/products']);
  });

  it('ends at its deadline if the provider does not answer', async () => {
    const { authUrl } = await startStub();
    const raw = await startRaw(() => undefined);
    const session = sessionFor({ baseUrl: raw.origin, authUrl }, { timeoutMs: 100 });
    expect(await errorOf(session.products())).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
  });

  it('ends at its deadline if the response trickles in', async () => {
    const { authUrl } = await startStub();
    const raw = await startRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n[');
      const timer = setInterval(() => socket.write(' '), 5);
      socket.on('close', () => clearInterval(timer));
    });
    const session = sessionFor({ baseUrl: raw.origin, authUrl }, { timeoutMs: 100 });
    expect(await errorOf(session.products())).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
  });

  it('ends at its deadline if the connection is never established', async () => {
    const { authUrl } = await startStub();
    const port = await listen(createTcpServer(() => undefined));
    const session = sessionFor({ baseUrl: `https://127.0.0.1:${port}`, authUrl }, { timeoutMs: 300 });
    expect(await errorOf(session.products())).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
  });

  it('has its whole time for the answer, however long it waited for a connection', async () => {
    const stub = await startStub();
    const waiting: (() => void)[] = [];
    let answered = 0;
    stub.on('GET /beta/vps/products', (_request, response) => {
      // The first eight calls hold all connections of the account until their deadline.
      if (waiting.push(() => response.end('[]')) > 8) setTimeout(() => response.end('[]'), 400);
    });
    const session = sessionFor(stub, { timeoutMs: 800 });
    await session.ensureToken();
    const calls = Array.from({ length: 16 }, () => session.products().then(() => (answered += 1)));
    const results = await Promise.allSettled(calls);
    expect(results.map(({ status }) => status)).toEqual([
      ...Array<string>(8).fill('rejected'),
      ...Array<string>(8).fill('fulfilled'),
    ]);
    expect(answered).toBe(8);
  });

  it('is one of at most 8 of its account at the same time', async () => {
    const stub = await startStub();
    const waiting: (() => void)[] = [];
    let most = 0;
    stub.on('GET /beta/vps/products', (_request, response) => {
      most = Math.max(
        most,
        waiting.push(() => response.end('[]')),
      );
      // The stub answers no request before eight have arrived.
      if (waiting.length >= 8) for (const answer of waiting.splice(0)) answer();
    });
    const session = sessionFor(stub);
    await Promise.all(Array.from({ length: 40 }, () => session.products()));
    expect(most).toBe(8);
  });

  it('does not wait behind calls of another account that get no answer', async () => {
    const stub = await startStub();
    let hanging = 0;
    stub.on('GET /beta/vps/products', () => (hanging += 1));
    stub.on('DELETE /beta/vps/servers/mine', { status: 200, body: { message: 'Server unprovisioned' } });
    const provider = providerFor(stub);
    const theirs = provider.account({ keyId: 'theirs', secret: 's' }).session('their-namespace');
    for (let index = 0; index < 100; index++) void theirs.products().catch(() => undefined);
    await expect.poll(() => hanging).toBe(8);
    await provider.account({ keyId: 'mine', secret: 's' }).session('my-namespace').deleteServer('mine');
    expect(hanging).toBe(8);
  });

  it('does not wait behind calls of another namespace with many keys that get no answer', async () => {
    const stub = await startStub();
    let hanging = 0;
    stub.on('GET /beta/vps/products', () => (hanging += 1));
    stub.on('DELETE /beta/vps/servers/mine', { status: 200, body: { message: 'Server unprovisioned' } });
    const provider = providerFor(stub);
    for (let index = 0; index < 100; index++) {
      const theirs = provider.account({ keyId: `theirs-${index}`, secret: 's' }).session('their-namespace');
      void theirs.products().catch(() => undefined);
    }
    await expect.poll(() => hanging).toBe(8);
    await provider.account({ keyId: 'mine', secret: 's' }).session('my-namespace').deleteServer('mine');
    expect(hanging).toBe(8);
  });

  it('rejects a response of 50 MB', async () => {
    const stub = await startStub();
    stub.on('GET /beta/vps/products', { status: 200, body: `[${' '.repeat(50 * 1024 * 1024)}]` });
    expect(await errorOf(sessionFor(stub).products())).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
  });

  it('fails as unreachable if the response is cut off', async () => {
    const { authUrl } = await startStub();
    const raw = await startRaw((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n[{"co'));
    const session = sessionFor({ baseUrl: raw.origin, authUrl });
    expect(await errorOf(session.products())).toMatchObject({ code: 'PROVIDER_UNREACHABLE' });
  });

  it('fails if the client is closed while it runs', async () => {
    const { authUrl } = await startStub();
    const arrived = Promise.withResolvers<undefined>();
    const raw = await startRaw(() => arrived.resolve(undefined));
    const provider = providerFor({ baseUrl: raw.origin, authUrl });
    const error = errorOf(provider.account({ keyId: 'key', secret: 'secret' }).session('').products());
    await arrived.promise;
    await provider.close();
    expect(await error).toMatchObject({ code: 'PROVIDER_UNREACHABLE' });
  });

  it('is reported with operation and outcome, but without the URL', async () => {
    const stub = await startStub();
    stub.on(`GET ${TASK}`, { status: 200, body: {} });
    const told: RequestInfo[] = [];
    const session = sessionFor(stub, { onRequest: (info) => told.push(info) });
    await session.pollTask(5);
    expect(told).toMatchObject([
      { operation: 'login', status: 200 },
      { operation: 'pollTask', status: 200 },
    ]);
    expect(Object.keys(told[1] ?? {}).sort()).toEqual(['durationMs', 'operation', 'status']);
  });
});
