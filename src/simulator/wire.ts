/** Requests, routes and answers as plain data, shared by the Web handler and the socket server. */

export interface WireRequest {
  method: string;
  /** Path with the query, as sent (percent-encoded). */
  path: string;
  authorization: string | undefined;
  contentType: string | undefined;
  body: string;
  sourceAddress: string;
  /** Number of the connection in the ledger; 0 without a socket. */
  connection: number;
}

export interface WireResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

/** What the client receives: an answer, possibly with a body in pieces that may break off, or a disconnect. */
export type Delivery =
  | { kind: 'answer'; status: number; headers: Record<string, string>; body: string | AsyncIterable<Uint8Array> }
  | { kind: 'disconnect'; reset: boolean };

export function json(status: number, value: unknown, headers: Record<string, string> = {}): WireResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** The media type of a Content-Type header in lower case, without parameters. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** A query string or another method makes a route unknown. */
export const ROUTES = [
  '/login',
  '/beta/vps/products',
  '/beta/vps/images',
  '/beta/vps/disk-sizes',
  '/beta/vps/zones',
  '/beta/vps/hosts',
  '/beta/vps/pricing',
  '/beta/vps/servers',
  '/beta/vps/servers/{identifier}',
  '/beta/vps/servers/{identifier}/power',
  '/beta/vps/servers/{identifier}/reboot',
  '/beta/vps/servers/{identifier}/dormant',
  '/beta/queue/vps/{task}',
] as const;
export type Route = (typeof ROUTES)[number];

export interface RouteMatch {
  route: Route;
  /** The decoded `{identifier}` or `{task}`; '' for other routes. */
  param: string;
}

const SERVER = '/beta/vps/servers/';
const TASK = '/beta/queue/vps/';
/** The calls about one server that only the public API has, by the end of their path. */
const OF_SERVER = [
  ['/power', 'PUT'],
  ['/reboot', 'POST'],
  ['/dormant', 'PUT'],
] as const;

/**
 * Undefined if neither the documentation nor what clients may try has this call: the list of servers, the order for an identifier,
 * the lists of zones, hosts and prices, and the calls that switch and change a server.
 */
export function matchRoute(
  method: string,
  path: string,
  basePrefix: string,
  authPrefix: string,
): RouteMatch | undefined {
  if (path === `${authPrefix}/login`) return method === 'POST' ? { route: '/login', param: '' } : undefined;
  if (!path.startsWith(basePrefix)) return undefined;
  const rest = path.slice(basePrefix.length);
  switch (rest) {
    case '/beta/vps/products':
    case '/beta/vps/images':
    case '/beta/vps/disk-sizes':
    case '/beta/vps/zones':
    case '/beta/vps/hosts':
    case '/beta/vps/pricing':
      return method === 'GET' ? { route: rest, param: '' } : undefined;
    case '/beta/vps/servers':
      return method === 'POST' || method === 'GET' ? { route: rest, param: '' } : undefined;
    default:
  }
  if (rest.startsWith(TASK) && method === 'GET') return withParam('/beta/queue/vps/{task}', rest.slice(TASK.length));
  for (const [end, wanted] of OF_SERVER) {
    if (method !== wanted || !rest.startsWith(SERVER) || !rest.endsWith(end)) continue;
    return withParam(`/beta/vps/servers/{identifier}${end}`, rest.slice(SERVER.length, -end.length));
  }
  if (rest.startsWith(SERVER) && ['GET', 'DELETE', 'POST', 'PATCH'].includes(method)) {
    return withParam('/beta/vps/servers/{identifier}', rest.slice(SERVER.length));
  }
  return undefined;
}

function withParam(route: Route, segment: string): RouteMatch | undefined {
  if (segment === '' || /[/?#]/.test(segment)) return undefined;
  try {
    return { route, param: decodeURIComponent(segment) };
  } catch {
    return undefined;
  }
}
