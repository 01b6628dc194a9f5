/** The outcome of a provider request, as a metric label. */
import type { ProviderErrorCode } from '../provider/error.ts';
import type { RequestInfo } from '../provider/transport.ts';

export const PROVIDER_RESULTS = [
  'success',
  'unauthorized',
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
  PROVIDER_NOT_FOUND: 'not_found',
  PROVIDER_RATE_LIMITED: 'rate_limited',
  PROVIDER_RESPONSE: 'client_error',
  PROVIDER_PROTOCOL: 'protocol_error',
  PROVIDER_WITHHELD: 'withheld',
};

/** A response whose body was cut off counts as the error that cut it off. */
export function providerResult({ operation, status, code }: RequestInfo): ProviderResult {
  if (code !== undefined) return BY_CODE[code];
  if (status === undefined) return 'unreachable';
  // A 303 is the response for a completed task.
  if ((status >= 200 && status < 300) || (status === 303 && operation === 'pollTask')) return 'success';
  if (status === 401) return 'unauthorized';
  if (status === 404) return 'not_found';
  if (status === 429) return 'rate_limited';
  if (status >= 500) return 'server_error';
  return status >= 400 ? 'client_error' : 'protocol_error';
}
