import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';

let server: Server;
const tunnels: string[] = [];
const sockets = new Set<Socket | Duplex>();

beforeAll(async () => {
  server = createServer();
  server.on('connect', (request, client: Duplex) => {
    tunnels.push(request.url ?? '');
    const target = new URL(`tcp://${request.url ?? ''}`);
    const upstream = connect(Number(target.port), target.hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client);
      client.pipe(upstream);
    });
    for (const socket of [upstream, client]) socket.on('error', () => undefined);
    sockets.add(upstream).add(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

describe('a cluster with a proxy-url', () => {
  it('is reached through a tunnel of that proxy, with the same credentials', async () => {
    const cluster = loadCluster(inject('kubeconfigPath'));
    const proxyUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const http = createKubeHttp({ cluster: { ...cluster, proxyUrl } });
    await expect(http.call({ path: '/api/v1/namespaces/default' })).resolves.toMatchObject({ kind: 'Namespace' });
    await http.close();
    expect(tunnels).toEqual([cluster.server.replace('https://', '')]);
  });
});
