/** Counts the requests to the provider and to the API server. */
import { counter, histogram, type Metrics } from '../base/metrics.ts';
import type { KubeRequestInfo } from '../kube/http.ts';
import type { ProviderOperation, ProviderErrorCode } from '../provider/error.ts';
import type { LoginResult } from '../provider/token.ts';
import type { RequestInfo } from '../provider/transport.ts';

const PROVIDER_REQUESTS = counter(
  'vps_operator_provider_requests_total',
  'Requests to the provider, including logins, by operation and result. forbidden: HTTP 403, which some providers also answer for a server that does not exist.',
  'operation',
  'result',
);
const PROVIDER_SECONDS = histogram(
  'vps_operator_provider_request_duration_seconds',
  'Duration of requests to the provider, until the response was read or the request failed.',
  [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  'operation',
);
const LOGINS = counter(
  'vps_operator_token_logins_total',
  'Logins for a token. refused: the API key is invalid; error: no usable response.',
  'result',
);
/** Same name as in client-go, so existing dashboards work. */
const KUBE_REQUESTS = counter(
  'rest_client_requests_total',
  'Requests to the API server by method and HTTP status; <error> means no response.',
  'code',
  'method',
);

/** Of each call: whether the specification does not have it, so that a provider may answer 501. */
const IS_OPTIONAL: Readonly<Record<ProviderOperation, boolean>> = {
  login: false,
  products: false,
  images: false,
  diskSizes: false,
  zones: false,
  hosts: true,
  listServers: true,
  prices: true,
  createServer: false,
  pollTask: false,
  readServer: false,
  setPower: true,
  reboot: true,
  setDormant: true,
  changeServer: true,
  deleteServer: false,
};
const OPERATIONS = Object.keys(IS_OPTIONAL) as ProviderOperation[];
const LOGIN_RESULTS: readonly LoginResult[] = ['success', 'refused', 'error'];
const PROVIDER_RESULTS = [
  'success',
  'unauthorized',
  'forbidden',
  'not_found',
  'rate_limited',
  'client_error',
  'server_error',
  'protocol_error',
  'timeout',
  'unreachable',
  'withheld',
] as const;
type ProviderResult = (typeof PROVIDER_RESULTS)[number];

const BY_CODE: Readonly<Record<ProviderErrorCode, ProviderResult>> = {
  PROVIDER_UNREACHABLE: 'unreachable',
  PROVIDER_TIMEOUT: 'timeout',
  PROVIDER_INVALID_CREDENTIALS: 'unauthorized',
  PROVIDER_UNAUTHORIZED: 'unauthorized',
  PROVIDER_FORBIDDEN: 'forbidden',
  PROVIDER_NOT_FOUND: 'not_found',
  PROVIDER_RATE_LIMITED: 'rate_limited',
  PROVIDER_RESPONSE: 'client_error',
  PROVIDER_PROTOCOL: 'protocol_error',
  PROVIDER_WITHHELD: 'withheld',
};

/** For the options of the same names. */
export function providerMetrics(metrics: Metrics): {
  onRequest: (info: RequestInfo) => void;
  onLogin: (result: LoginResult) => void;
} {
  for (const operation of OPERATIONS) {
    for (const result of PROVIDER_RESULTS) metrics.begin(PROVIDER_REQUESTS, { operation, result });
    metrics.begin(PROVIDER_SECONDS, { operation });
  }
  for (const result of LOGIN_RESULTS) metrics.begin(LOGINS, { result });
  return {
    onRequest(info) {
      const { operation, durationMs } = info;
      metrics.add(PROVIDER_REQUESTS, { operation, result: providerResult(info) });
      metrics.observe(PROVIDER_SECONDS, { operation }, durationMs / 1000);
    },
    onLogin: (result) => metrics.add(LOGINS, { result }),
  };
}

/** As `providerMetrics`. */
export function kubeMetrics(metrics: Metrics): { onRequest: (info: KubeRequestInfo) => void } {
  metrics.begin(KUBE_REQUESTS, { code: '200', method: 'GET' });
  return {
    onRequest({ method, status }) {
      metrics.add(KUBE_REQUESTS, { code: status === undefined ? '<error>' : String(status), method });
    },
  };
}

/** A response whose body was cut off counts as the error that cut it off. */
export function providerResult({ operation, status, code }: RequestInfo): ProviderResult {
  if (code !== undefined) return BY_CODE[code];
  if (status === undefined) return 'unreachable';
  // A 303 is the response for a completed task.
  if ((status >= 200 && status < 300) || (status === 303 && operation === 'pollTask')) return 'success';
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  // A provider without such a call may answer 501, which is not an error.
  if (status === 404 || (status === 501 && IS_OPTIONAL[operation])) return 'not_found';
  if (status === 429) return 'rate_limited';
  if (status >= 500) return 'server_error';
  return status >= 400 ? 'client_error' : 'protocol_error';
}
