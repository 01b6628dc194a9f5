/** Requests of the operator about connection Secrets: their names in plans, and what must hold of each when it arrives. */
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../src/api/names.ts';

/** By this end of its name a connection Secret is told from the Secret with the API key. */
export const CONNECTION = '-connection';

interface Request {
  method: string;
  /** With the query. */
  path: string;
  body: string;
}

interface Body {
  metadata?: { name?: string; uid?: string; resourceVersion?: string; annotations?: Record<string, string> };
  type?: string;
  data?: object;
}

/** Name of the object whose Secret this is about; undefined where it is about none. */
export function connectionOf({ method, path, body }: Request): string | undefined {
  const [, named] = /\/secrets(?:\/([^/?]+))?(?:\?|$)/.exec(path) ?? [];
  const name = method === 'POST' && path.includes('/secrets') ? (JSON.parse(body) as Body).metadata?.name : named;
  return name?.endsWith(CONNECTION) === true ? name.slice(0, -CONNECTION.length) : undefined;
}

/** `state`: of the object. */
export function connectionLabel({ method, body }: Request, state: string): string {
  if (method === 'GET') return `kube:GET-connection:${state}`;
  const { metadata = {}, data } = JSON.parse(body) as Body;
  const written = [...('ownerReferences' in metadata ? ['owner'] : []), ...(data === undefined ? [] : ['data'])];
  return `kube:${method}-connection:${state}:${written.join('+')}`;
}

/** No Secret is written but one of the operator's own type, and none is changed but in the version that was looked at. */
export function checkConnectionWrite({ method, path, body }: Request): string[] {
  if (method === 'GET') return [];
  const { metadata = {}, type } = JSON.parse(body) as Body;
  const { uid, resourceVersion, annotations } = metadata;
  if (method === 'POST') {
    const isMarked = type === CONNECTION_SECRET_TYPE && annotations?.[OWNER_ANNOTATION] !== undefined;
    return isMarked ? [] : [`${method} ${path} makes a Secret that is not marked as the operator's own`];
  }
  if (method !== 'PATCH') return [`the operator sent ${method} ${path}`];
  return uid === undefined || resourceVersion === undefined ? [`${method} ${path} names no version of a Secret`] : [];
}
