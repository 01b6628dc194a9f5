import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Cluster, KubeCredentials } from '../../../src/kube/config.ts';
import { createConnections, type Connections } from '../../../src/kube/http.ts';

let server: Server;
let credentials: KubeCredentials;
let reads: number;
let now: number;
let connections: Connections;

beforeEach(async () => {
  server = createServer((_, response) => response.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  credentials = { headers: { authorization: 'Bearer one' }, tls: { ca: 'ca', cert: 'cert', key: 'key' } };
  reads = 0;
  now = 0;
  const cluster: Cluster = {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    namespace: undefined,
    proxyUrl: undefined,
    credentials: () => {
      reads += 1;
      return Promise.resolve(credentials);
    },
  };
  connections = createConnections(cluster, { now: () => now });
});
afterEach(async () => {
  await connections.close();
  server.close();
});

describe('createConnections', () => {
  it('reads credentials once for requests in quick succession', async () => {
    await Promise.all([connections.get('call'), connections.get('call'), connections.get('watch')]);
    now = 4_999;
    await connections.get('call');
    expect(reads).toBe(1);
    now = 5_000;
    await connections.get('call');
    expect(reads).toBe(2);
  });

  it('uses a new token without opening new connections', async () => {
    const before = await connections.get('call');
    credentials = { ...credentials, headers: { authorization: 'Bearer two' } };
    connections.renew(before);
    const after = await connections.get('call');
    expect(after.credentials.headers).toEqual({ authorization: 'Bearer two' });
    expect(after.dispatcher).toBe(before.dispatcher);
  });

  it.each(['ca', 'cert', 'key'])(
    'opens new connections for a new %s, and lets requests on the old ones finish',
    async (field) => {
      const before = await connections.get('call');
      const { port } = server.address() as AddressInfo;
      const running = before.dispatcher.request({ origin: `http://127.0.0.1:${port}`, path: '/', method: 'GET' });
      credentials = { ...credentials, tls: { ...credentials.tls, [field]: Buffer.from('new') } };
      connections.renew(before);
      const after = await connections.get('call');
      expect(after.dispatcher).not.toBe(before.dispatcher);
      expect(await (await running).body.text()).toBe('hello');
    },
  );

  it('asks again after reading the credentials failed', async () => {
    const failing = createConnections({
      server: 'http://127.0.0.1:1',
      namespace: undefined,
      proxyUrl: undefined,
      credentials: () => (
        (reads += 1),
        reads === 1 ? Promise.reject(new Error('later')) : Promise.resolve(credentials)
      ),
    });
    await expect(failing.get('call')).rejects.toThrow('later');
    expect((await failing.get('call')).credentials.headers).toEqual(credentials.headers);
    await failing.close();
  });

  it('waits for a slow reading instead of starting another one', async () => {
    const slow = Promise.withResolvers<KubeCredentials>();
    const cluster = { server: 'http://127.0.0.1:1', namespace: undefined, proxyUrl: undefined };
    const waiting = createConnections(
      { ...cluster, credentials: () => ((reads += 1), slow.promise) },
      { now: () => now },
    );
    const first = waiting.get('call');
    now = 60_000;
    const second = waiting.get('call');
    slow.resolve(credentials);
    await Promise.all([first, second, waiting.get('call')]);
    expect(reads).toBe(1);
    await waiting.close();
  });

  it('renews credentials only if they are those that were refused', async () => {
    const asked: (boolean | undefined)[] = [];
    const cluster = { server: 'http://127.0.0.1:1', namespace: undefined, proxyUrl: undefined };
    const renewing = createConnections(
      {
        ...cluster,
        credentials: (options) => {
          asked.push(options?.renew);
          return Promise.resolve({ headers: { authorization: `Bearer ${asked.length}` }, tls: {} });
        },
      },
      { now: () => now },
    );
    const [one, other] = await Promise.all([renewing.get('call'), renewing.get('watch')]);
    renewing.renew(one);
    expect((await renewing.get('call')).credentials.headers).toEqual({ authorization: 'Bearer 2' });
    renewing.renew(other);
    expect((await renewing.get('call')).credentials.headers).toEqual({ authorization: 'Bearer 2' });
    expect(asked).toEqual([false, true]);
    await renewing.close();
  });

  it('uses separate connections for calls and watches', async () => {
    expect((await connections.get('call')).dispatcher).not.toBe((await connections.get('watch')).dispatcher);
  });
});
