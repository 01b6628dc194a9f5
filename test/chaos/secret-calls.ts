/**
 * Requests of the operator about connection Secrets: their labels in plans, and checks of each request when it arrives.
 */
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../src/api/names.ts';

/** Suffix of the names of connection Secrets; the API key Secret does not have it. */
export const CONNECTION = '-connection';

interface Request {
  method: string;
  /** Includes the query. */
  path: string;
  body: string;
}

interface Body {
  metadata?: { name?: string; uid?: string; resourceVersion?: string; annotations?: Record<string, string> };
  type?: string;
  data?: object;
}

/** Name of the object whose Secret the request concerns; undefined if it concerns none. */
export function connectionOf({ method, path, body }: Request): string | undefined {
  const [, named] = /\/secrets(?:\/([^/?]+))?(?:\?|$)/.exec(path) ?? [];
  const name = method === 'POST' && path.includes('/secrets') ? (JSON.parse(body) as Body).metadata?.name : named;
  return name?.endsWith(CONNECTION) === true ? name.slice(0, -CONNECTION.length) : undefined;
}

/** `state`: state of the object. */
export function connectionLabel({ method, body }: Request, state: string): string {
  if (method === 'GET') return `kube:GET-connection:${state}`;
  const { metadata = {}, data } = JSON.parse(body) as Body;
  const written = [...('ownerReferences' in metadata ? ['owner'] : []), ...(data === undefined ? [] : ['data'])];
  return `kube:${method}-connection:${state}:${written.join('+')}`;
}

/** Only Secrets of the operator's own type may be written, and only in the version that the operator has read. */
export function checkConnectionWrite({ method, path, body }: Request): string[] {
  if (method === 'GET') return [];
  const { metadata = {}, type } = JSON.parse(body) as Body;
  const { uid, resourceVersion, annotations } = metadata;
  if (method === 'POST') {
    const isMarked = type === CONNECTION_SECRET_TYPE && annotations?.[OWNER_ANNOTATION] !== undefined;
    return isMarked ? [] : [`${method} ${path} creates a Secret that is not marked as the operator's own`];
  }
  if (method !== 'PATCH') return [`the operator sent ${method} ${path}`];
  return uid === undefined || resourceVersion === undefined
    ? [`${method} ${path} lacks the uid or resourceVersion of the Secret`]
    : [];
}
