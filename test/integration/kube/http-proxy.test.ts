/** A kubeconfig with a proxy-url. */
import { expect, inject, it, onTestFinished } from 'vitest';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';
import { startConnectProxy } from '../../fixtures/connect-proxy.ts';

it('a cluster with a proxy-url is reached through a tunnel of that proxy, with the same credentials', async () => {
  const proxy = await startConnectProxy();
  onTestFinished(() => proxy.close());
  const cluster = loadCluster(inject('kubeconfigPath'));
  const http = createKubeHttp({ cluster: { ...cluster, proxyUrl: proxy.origin } });
  await expect(http.call({ path: '/api/v1/namespaces/default' })).resolves.toMatchObject({ kind: 'Namespace' });
  await http.close();
  expect(proxy.tunnels.map(({ authority }) => authority)).toEqual([cluster.server.replace('https://', '')]);
});
