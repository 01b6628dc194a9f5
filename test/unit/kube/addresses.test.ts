/** API servers and proxies whose name has several addresses, of which only the last one has a server. */
import dns from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createKubeHttp } from '../../../src/kube/http.ts';
import { startConnectProxy } from '../../fixtures/connect-proxy.ts';

function resolveTo(...addresses: string[]): void {
  const answer = addresses.map((address) => ({ address, family: 4 }));
  const lookup = (_name: string, _options: unknown, callback: (error: null, found: typeof answer) => void): void =>
    callback(null, answer);
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup);
  onTestFinished(() => spy.mockRestore());
}

async function startApi(): Promise<number> {
  const server = createServer((_request, response) => response.end('{}'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function httpTo(server: string, proxyUrl?: string) {
  const credentials = () => Promise.resolve({ headers: {}, tls: {} });
  const http = createKubeHttp({ cluster: { server, namespace: undefined, proxyUrl, credentials } });
  onTestFinished(() => http.close());
  return http;
}

it('reaches the API server at its last address', async () => {
  const port = await startApi();
  resolveTo('127.0.0.2', '127.0.0.3', '127.0.0.1');
  await expect(httpTo(`http://api.test:${port}`).call({ path: '/' })).resolves.toEqual({});
});

it('reaches the proxy at its last address', async () => {
  const port = await startApi();
  const proxy = await startConnectProxy();
  onTestFinished(() => proxy.close());
  resolveTo('127.0.0.2', '127.0.0.3', '127.0.0.1');
  const named = proxy.origin.replace('127.0.0.1', 'proxy.test');
  // The tunnel ends at a server without TLS.
  await expect(httpTo(`https://127.0.0.1:${port}`, named).call({ path: '/' })).rejects.toThrow('SSL');
  expect(proxy.tunnels).toHaveLength(1);
});
