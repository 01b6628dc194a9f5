/**
 * A stand-in of a metrics adapter, such as KEDA's: an APIService routes external.metrics.k8s.io to an HTTPS server in this
 * process, which answers one value for every metric of a namespace.
 */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { selfSigned } from './certificate.ts';

export interface ExternalMetrics {
  /** What every metric of the namespace measures from now on; 0 at first. */
  set(namespace: string, value: number): void;
  stop(): void;
}

const GROUP = 'external.metrics.k8s.io';
const VERSION = `${GROUP}/v1beta1`;
/** The name of the Service, in the namespace `default`. */
const NAME = 'external-metrics';

/** Resolves when the API server serves the metrics; `http` uses administrator rights. */
export async function startExternalMetrics(http: KubeHttp): Promise<ExternalMetrics> {
  const values = new Map<string, number>();
  const server = createServer(selfSigned(), ({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json');
    const { pathname } = new URL(url, 'https://127.0.0.1');
    const body = pathname === `/apis/${VERSION}` ? DISCOVERY : valuesOf(pathname, values);
    response.statusCode = body === undefined ? 404 : 200;
    response.end(JSON.stringify(body ?? {}));
  });
  const metrics: ExternalMetrics = {
    set: (namespace, value) => void values.set(namespace, value),
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await register(http, (server.address() as AddressInfo).port);
  } catch (error) {
    metrics.stop();
    throw error;
  }
  return metrics;
}

const DISCOVERY = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: VERSION,
  resources: [
    { name: 'externalmetrics', singularName: '', namespaced: true, kind: 'ExternalMetricValueList', verbs: ['get'] },
  ],
};

/** The answer for a path `/apis/VERSION/namespaces/NAMESPACE/METRIC`. */
function valuesOf(path: string, values: ReadonlyMap<string, number>): object | undefined {
  const [, , , , folder, namespace = '', metricName, ...rest] = path.split('/');
  if (folder !== 'namespaces' || metricName === undefined || rest.length > 0) return undefined;
  const value = String(values.get(namespace) ?? 0);
  const item = { metricName, metricLabels: {}, timestamp: new Date().toISOString(), value };
  return { kind: 'ExternalMetricValueList', apiVersion: VERSION, metadata: {}, items: [item] };
}

async function register(http: KubeHttp, port: number): Promise<void> {
  // Kubernetes accepts an address here, as a name of digits; no Service may have endpoints at a loopback address.
  const spec = { type: 'ExternalName', externalName: '127.0.0.1' };
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: NAME }, spec };
  await http.call({ method: 'POST', path: '/api/v1/namespaces/default/services', body: service });
  const path = '/apis/apiregistration.k8s.io/v1/apiservices';
  const apiService = {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1beta1.${GROUP}` },
    spec: {
      group: GROUP,
      version: 'v1beta1',
      service: { namespace: 'default', name: NAME, port },
      insecureSkipTLSVerify: true,
      groupPriorityMinimum: 100,
      versionPriority: 100,
    },
  };
  await http.call({ method: 'POST', path, body: apiService });
  await vi.waitFor(() => http.call({ path: `/apis/${VERSION}/namespaces/default/probe` }), { timeout: 30_000 });
}
