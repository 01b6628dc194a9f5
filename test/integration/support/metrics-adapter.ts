/**
 * A stand-in of a metrics adapter, such as KEDA's or Prometheus': APIServices route external.metrics.k8s.io and
 * custom.metrics.k8s.io to an HTTPS server in this process, which answers one value for every metric of a namespace.
 */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { selfSigned } from './certificate.ts';

export interface MetricsAdapter {
  /** What every metric of the namespace measures from now on; 0 at first. */
  set(namespace: string, value: number): void;
  stop(): void;
}

interface MetricsApi {
  group: string;
  version: string;
  resource: object;
  /** The answer for a path below `/apis/GROUP/VERSION/namespaces/NAMESPACE`; undefined: there is no such metric. */
  list: (path: readonly string[], value: string) => object | undefined;
}

const timestamp = (): string => new Date().toISOString();

const APIS: readonly MetricsApi[] = [
  {
    group: 'external.metrics.k8s.io',
    version: 'v1beta1',
    resource: { name: 'externalmetrics', kind: 'ExternalMetricValueList' },
    list: ([metricName, ...rest], value) =>
      metricName === undefined || rest.length > 0
        ? undefined
        : { kind: 'ExternalMetricValueList', items: [{ metricName, metricLabels: {}, timestamp: timestamp(), value }] },
  },
  {
    group: 'custom.metrics.k8s.io',
    version: 'v1beta2',
    resource: { name: 'ingresses.networking.k8s.io/requests-per-second', kind: 'MetricValueList' },
    list: ([resource, name, metric, ...rest], value) =>
      resource !== 'ingresses.networking.k8s.io' || metric === undefined || rest.length > 0
        ? undefined
        : {
            kind: 'MetricValueList',
            items: [
              { describedObject: { kind: 'Ingress', name }, metric: { name: metric }, timestamp: timestamp(), value },
            ],
          },
  },
];

/** The name of the Service, in the namespace `default`. */
const NAME = 'metrics-adapter';

/** Resolves when the API server serves the metrics; `http` uses administrator rights. */
export async function startMetricsAdapter(http: KubeHttp): Promise<MetricsAdapter> {
  const values = new Map<string, number>();
  const server = createServer(selfSigned(), ({ url = '' }, response) => {
    const body = answer(new URL(url, 'https://127.0.0.1').pathname, values);
    response.setHeader('content-type', 'application/json');
    response.statusCode = body === undefined ? 404 : 200;
    response.end(JSON.stringify(body ?? {}));
  });
  const adapter: MetricsAdapter = {
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
    adapter.stop();
    throw error;
  }
  return adapter;
}

function answer(path: string, values: ReadonlyMap<string, number>): object | undefined {
  const [, , group, version, folder, namespace = '', ...rest] = path.split('/');
  const api = APIS.find((one) => one.group === group && one.version === version);
  if (api === undefined) return undefined;
  const apiVersion = `${api.group}/${api.version}`;
  if (folder === undefined) {
    const resource = { singularName: '', namespaced: true, verbs: ['get'], ...api.resource };
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersion, resources: [resource] };
  }
  if (folder !== 'namespaces') return undefined;
  const list = api.list(rest, String(values.get(namespace) ?? 0));
  return list && { apiVersion, metadata: {}, ...list };
}

async function register(http: KubeHttp, port: number): Promise<void> {
  // Kubernetes accepts an address here, as a name of digits; no Service may have endpoints at a loopback address.
  const spec = { type: 'ExternalName', externalName: '127.0.0.1' };
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: NAME }, spec };
  await http.call({ method: 'POST', path: '/api/v1/namespaces/default/services', body: service });
  for (const { group, version } of APIS) {
    const apiService = {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `${version}.${group}` },
      spec: {
        group,
        version,
        service: { namespace: 'default', name: NAME, port },
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    };
    await http.call({ method: 'POST', path: '/apis/apiregistration.k8s.io/v1/apiservices', body: apiService });
    await vi.waitFor(() => http.call({ path: `/apis/${group}/${version}` }), { timeout: 30_000 });
  }
}
