/** The documented endpoints only: a query string or another method makes a route unknown. */

export type Route =
  | '/login'
  | '/beta/vps/products'
  | '/beta/vps/images'
  | '/beta/vps/disk-sizes'
  | '/beta/vps/servers'
  | '/beta/vps/servers/{identifier}'
  | '/beta/queue/vps/{task}';

export interface RouteMatch {
  route: Route;
  /** The decoded `{identifier}` or `{task}`; '' for other routes. */
  param: string;
}

const SERVER = '/beta/vps/servers/';
const TASK = '/beta/queue/vps/';

/** Undefined if the documentation has no such endpoint. */
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
      return method === 'GET' ? { route: rest, param: '' } : undefined;
    case '/beta/vps/servers':
      return method === 'POST' ? { route: rest, param: '' } : undefined;
    default:
  }
  if (rest.startsWith(TASK) && method === 'GET') return withParam('/beta/queue/vps/{task}', rest.slice(TASK.length));
  if (rest.startsWith(SERVER) && (method === 'GET' || method === 'DELETE')) {
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
