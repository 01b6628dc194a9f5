/** Lists a collection in pages that fit into memory; skips an object that is too large for any page. */
import { KubeError } from './error.ts';
import type { CallOptions, KubeHttp } from './http.ts';
import { collectionOf, type KubeObject, type Resource } from './resource.ts';

interface Listing<T> {
  objects: T[];
  /** Objects that exist but are too large to read. */
  skipped: ObjectName[];
  resourceVersion: string;
}

export interface ObjectName {
  /** Undefined if the API server did not report it. */
  namespace: string | undefined;
  name: string;
}

interface ListOptions {
  namespace: string | undefined;
  /** Maximum number of objects per page. */
  pageSize: number;
  /** Maximum bytes of a page with several objects. */
  pageBytes: number;
  /** Maximum bytes of a page with one object. */
  objectBytes: number;
  signal: AbortSignal;
}

interface ListPage {
  metadata: { resourceVersion: string; continue?: string };
  items: unknown[];
}

/** Where a page starts: at the first object (of the newest version or an exact one), or after the previous page. */
type Position = { resourceVersion?: string; resourceVersionMatch?: 'Exact'; continue?: string };

/** A table with names only, which stays small for objects of any size. */
const NAMES = 'application/json;as=Table;v=v1;g=meta.k8s.io';
/** After this many successful pages, the list tries a larger page again. */
const GROW_AFTER = 4;

/** Lists all objects at one version; calls `onPage` after each page. Throws KubeError. */
export async function listAll<T extends KubeObject>(
  http: KubeHttp,
  resource: Resource<T>,
  { namespace, pageSize, pageBytes, objectBytes, signal }: ListOptions,
  onPage: () => void,
): Promise<Listing<T>> {
  const path = collectionOf(resource, namespace);
  const objects: T[] = [];
  const skipped: ObjectName[] = [];
  let position: Position = {};
  let limit = pageSize;
  let goodPages = 0;
  for (;;) {
    const maxBytes = limit === 1 ? objectBytes : pageBytes;
    let page = await ifNotTooLarge(() => readPage(http, { path, query: { limit, ...position }, maxBytes, signal }));
    onPage();
    if (page === undefined && limit > 1) {
      limit = Math.floor(limit / 2);
      goodPages = 0;
      continue;
    }
    if (page === undefined) {
      const names = await readNames(http, { path, query: { limit: 1, ...position }, signal });
      onPage();
      const { resourceVersion } = names.metadata;
      if (Object.keys(position).length === 0) {
        // The first object may have changed in between. Listing an exact version avoids skipping a different object.
        position = { resourceVersion, resourceVersionMatch: 'Exact' };
        continue;
      }
      skipped.push(nameOf(names, namespace));
      page = { metadata: names.metadata, items: [] };
    }
    for (const item of page.items) objects.push(resource.parse(item));
    const { resourceVersion, continue: next } = page.metadata;
    if (!next) return { objects, skipped, resourceVersion };
    position = { continue: next };
    goodPages += 1;
    if (goodPages % GROW_AFTER === 0) limit = Math.min(pageSize, limit * 2);
  }
}

/** The current version of a collection, never one from before the call. Throws KubeError. */
export async function currentVersion(
  http: KubeHttp,
  resource: Pick<Resource<KubeObject>, 'apiVersion' | 'plural'>,
  { namespace, signal }: Pick<ListOptions, 'namespace' | 'signal'>,
): Promise<string> {
  const names = await readNames(http, { path: collectionOf(resource, namespace), query: { limit: 1 }, signal });
  return names.metadata.resourceVersion;
}

interface Names extends Pick<ListPage, 'metadata'> {
  rows: { cells?: unknown[] }[];
}

async function readPage(http: KubeHttp, options: CallOptions): Promise<ListPage> {
  const page = (await http.call(options)) as Partial<ListPage> | null;
  if (!page?.metadata?.resourceVersion || !Array.isArray(page.items))
    throw new KubeError('BadResponse', 'the answer is not a list');
  return page as ListPage;
}

async function readNames(http: KubeHttp, { query, ...options }: CallOptions): Promise<Names> {
  const call = { ...options, query: { ...query, includeObject: 'None' }, accept: NAMES };
  const names = (await http.call(call)) as Partial<Names> | null;
  if (!names?.metadata?.resourceVersion) throw new KubeError('BadResponse', 'the answer is not a table');
  return { metadata: names.metadata, rows: names.rows ?? [] };
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

/** The one name in a table. Only the next page's token contains the namespace, so it is unknown for the last object. */
function nameOf({ metadata, rows }: Names, namespace: string | undefined): ObjectName {
  const [cell] = rows[0]?.cells ?? [];
  const name = typeof cell === 'string' ? cell : '';
  if (namespace !== undefined) return { namespace, name };
  const token = Buffer.from(metadata.continue ?? '', 'base64').toString();
  const [, found] = /"start":"\/?([^/"]+)\/[^/"]+"/.exec(token) ?? [];
  return { namespace: found, name };
}
