/**
 * The API server's client of an operator that only observes: it lets through reads, writes of `status`, Events, and reviews,
 * which store nothing. No other request can be sent.
 */
import { GROUP } from '../api/names.ts';
import type { CallOptions, KubeHttp } from './http.ts';

const STATUS = new RegExp(`^/apis/${GROUP.replaceAll('.', '\\.')}/[^/]+/namespaces/[^/]+/[^/]+/[^/]+/status$`);
const EVENTS = /^\/apis\/events\.k8s\.io\/v1\/namespaces\/[^/]+\/events$/;
const REVIEWS = /^\/apis\/(authentication|authorization)\.k8s\.io\/v1\/(tokenreviews|subjectaccessreviews)$/;

export function readOnlyKube(http: KubeHttp): KubeHttp {
  return {
    async call(options) {
      if (!isAllowed(options))
        throw new Error(`--observe-only: ${options.method ?? 'GET'} ${options.path} is not sent`);
      return http.call(options);
    },
    stream: (options) => http.stream(options),
    serverTime: () => http.serverTime(),
    close: () => http.close(),
  };
}

function isAllowed({ method = 'GET', path }: CallOptions): boolean {
  if (method === 'PUT') return STATUS.test(path);
  if (method === 'POST') return EVENTS.test(path) || REVIEWS.test(path);
  return method === 'GET';
}
