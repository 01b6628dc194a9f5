/** Lists a collection in pages that fit into memory. */
import { KubeError } from './error.ts';
import type { CallOptions, KubeHttp } from './http.ts';
import { collectionOf, type Resource } from './resource.ts';

interface Listing<T> {
  objects: T[];
  resourceVersion: string;
}

export interface ListBounds {
  /** Maximum objects per page, default 500. */
  pageSize?: number;
  /** Maximum bytes of a page with several objects, default 8 MiB; a larger one is read in smaller ones. 500 take 3 MB. */
  pageBytes?: number;
}

interface ListOptions extends ListBounds {
  namespace: string | undefined;
  signal: AbortSignal;
}

const PAGE_SIZE = 500;
const PAGE_BYTES = 8 * 1024 * 1024;
/** Maximum bytes of one object. The API server stores at most 2 MiB, whatever the limit of etcd, which is 1.5 MiB by default. */
export const OBJECT_BYTES = 16 * 1024 * 1024;

interface ListPage {
  metadata: { resourceVersion: string; continue?: string };
  items: unknown[];
}

/** A table with names only, which stays small for objects of any size. */
const NAMES = 'application/json;as=Table;v=v1;g=meta.k8s.io';
/** After this many successful pages, the list tries a larger page again. */
const GROW_AFTER = 4;

/** Lists all objects at one version; calls `onPage` after each page. Throws KubeError. */
export async function listAll<T>(
  http: KubeHttp,
  resource: Resource<T>,
  options: ListOptions,
  onPage: () => void = () => undefined,
): Promise<Listing<T>> {
  const { namespace, pageSize = PAGE_SIZE, pageBytes = PAGE_BYTES, signal } = options;
  const path = collectionOf(resource, namespace);
  const objects: T[] = [];
  let token: string | undefined;
  let limit = pageSize;
  let goodPages = 0;
  for (;;) {
    const request = { path, query: { limit, continue: token }, signal };
    const page =
      limit === 1
        ? await readPage(http, { ...request, maxBytes: OBJECT_BYTES })
        : await ifNotTooLarge(() => readPage(http, { ...request, maxBytes: pageBytes }));
    onPage();
    if (page === undefined) {
      limit = Math.floor(limit / 2);
      goodPages = 0;
      continue;
    }
    for (const item of page.items) objects.push(resource.parse(item));
    const { resourceVersion, continue: next } = page.metadata;
    if (!next) return { objects, resourceVersion };
    token = next;
    goodPages += 1;
    if (goodPages % GROW_AFTER === 0) limit = Math.min(pageSize, limit * 2);
  }
}

/** The current version of a collection, never one from before the call. Throws KubeError. */
export async function currentVersion(
  http: KubeHttp,
  resource: Pick<Resource<unknown>, 'apiVersion' | 'plural'>,
  { namespace, signal }: Pick<ListOptions, 'namespace' | 'signal'>,
): Promise<string> {
  const query = { limit: 1, includeObject: 'None' };
  const names = await http.call({ path: collectionOf(resource, namespace), query, accept: NAMES, signal });
  const { metadata } = (names ?? {}) as Partial<ListPage>;
  if (!metadata?.resourceVersion) throw new KubeError('BadResponse', 'the answer is not a table');
  return metadata.resourceVersion;
}

async function readPage(http: KubeHttp, options: CallOptions): Promise<ListPage> {
  const page = (await http.call(options)) as Partial<ListPage> | null;
  if (!page?.metadata?.resourceVersion || !Array.isArray(page.items))
    throw new KubeError('BadResponse', 'the answer is not a list');
  return page as ListPage;
}

/** Returns the result of the call, or undefined if it is too large. */
async function ifNotTooLarge<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof KubeError && error.code === 'TooLarge') return undefined;
    throw error;
  }
}
