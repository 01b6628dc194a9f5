import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../src/base/metrics.ts';
import { kubeMetrics, providerMetrics, providerResult } from '../../../src/observability/requests.ts';

describe('the metrics of requests', () => {
  it('count each request by its result, in seconds', async () => {
    const metrics = new Metrics();
    const provider = providerMetrics(metrics);
    const kube = kubeMetrics(metrics);
    provider.onLogin('refused');
    kube.onRequest({ method: 'PATCH', status: 409 });
    kube.onRequest({ method: 'GET', status: undefined });
    provider.onRequest({ operation: 'pollTask', status: 303, durationMs: 250 });
    expect((await metrics.registry.metrics()).split('\n')).toEqual(
      expect.arrayContaining([
        'vps_operator_token_logins_total{result="refused"} 1',
        'vps_operator_token_logins_total{result="success"} 0',
        'rest_client_requests_total{code="409",method="PATCH"} 1',
        'rest_client_requests_total{code="<error>",method="GET"} 1',
        'vps_operator_provider_requests_total{operation="pollTask",result="success"} 1',
        'vps_operator_provider_requests_total{operation="createServer",result="success"} 0',
        'vps_operator_provider_request_duration_seconds_sum{operation="pollTask"} 0.25',
      ]),
    );
  });

  it.each([
    [{ operation: 'readServer', status: 200 }, 'success'],
    [{ operation: 'createServer', status: 202 }, 'success'],
    [{ operation: 'pollTask', status: 303 }, 'success'],
    [{ operation: 'readServer', status: 303 }, 'protocol_error'],
    [{ operation: 'readServer', status: 101 }, 'protocol_error'],
    [{ operation: 'login', status: 401 }, 'unauthorized'],
    [{ operation: 'readServer', status: 403 }, 'forbidden'],
    [{ operation: 'readServer', status: 404 }, 'not_found'],
    [{ operation: 'listServers', status: 404 }, 'not_found'],
    [{ operation: 'listServers', status: 501 }, 'not_found'],
    [{ operation: 'products', status: 501 }, 'server_error'],
    [{ operation: 'readServer', status: 429 }, 'rate_limited'],
    [{ operation: 'createServer', status: 422 }, 'client_error'],
    [{ operation: 'createServer', status: 503 }, 'server_error'],
    [{ operation: 'createServer', status: 202, code: 'PROVIDER_TIMEOUT' }, 'timeout'],
    [{ operation: 'images', code: 'PROVIDER_UNREACHABLE' }, 'unreachable'],
    [{ operation: 'images', code: 'PROVIDER_PROTOCOL' }, 'protocol_error'],
    [{ operation: 'deleteServer', code: 'PROVIDER_WITHHELD' }, 'withheld'],
    [{ operation: 'images', code: 'PROVIDER_RATE_LIMITED' }, 'rate_limited'],
    [{ operation: 'images' }, 'unreachable'],
  ] as const)('label %j as %s', (info, result) => {
    expect(providerResult({ ...info, durationMs: 1 })).toBe(result);
  });
});
