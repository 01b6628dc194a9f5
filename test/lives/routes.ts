/**
 * The HTTP interface of the modeled API server, as far as the operator's client uses it: paths, pages, tables and
 * patches. test/integration/test-tools/sim-model.test.ts compares it with a real API server.
 */
import {
  ALLOW_DELETION_ANNOTATION,
  API_VERSION,
  CATALOG_PLURAL,
  SERVER_DEFINITION,
  SET_DEFINITION,
  SERVER_PLURAL,
  SET_PLURAL,
} from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { CallOptions, KubeHttp } from '../../src/kube/http.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { ConfigMap, NewSecret, SecretChanges, Secret } from '../../src/kube/kinds.ts';
import type { Event } from '../../src/kube/kinds.ts';
import type { Manifest } from '../fixtures/virtual-server.ts';
import { notServed, type ApiServer, type SetSpecInput, type StoredLease } from './api-server.ts';
import { frozen, keyOf, type ObjectStore, type PatchBody, type Preconditions, type Stored } from './object-store.ts';

/** The state that all pages of one list show. */
interface Snapshot {
  version: string;
  /** Sorted by key. */
  objects: readonly Stored[];
}

type Request = Pick<CallOptions, 'path' | 'method' | 'query' | 'body' | 'contentType' | 'accept' | 'maxBytes'>;

/** Number of snapshots to keep; continue tokens of older ones have expired. */
const KEPT = 8;

const OURS = `/apis/${API_VERSION}/`;

/** The parts of a path in our API group. */
export interface Place {
  store: ObjectStore<Stored>;
  namespace: string | undefined;
  name: string | undefined;
  part: string | undefined;
}

export class Routes {
  readonly #api: ApiServer;
  #snapshots = new Map<string, Snapshot>();
  #restores = 0;

  constructor(api: ApiServer) {
    this.#api = api;
  }

  /** Returns the parsed body of the answer. Throws KubeError. `staleBy`: how many changes out of date a new list is. */
  answer(request: Request, staleBy = 0, place = this.placeOf(request.path)): unknown {
    const { path, body } = request;
    if (place !== undefined) return this.#object(place, request, staleBy);
    // The core group is in no path.
    const [namespace = '', kind = '', name] = path.split('/').slice(path.startsWith('/api/') ? 4 : 5);
    if (kind === 'secrets') return this.#secret(namespace, name, request);
    if (kind === 'configmaps') return this.#configMap(namespace, name ?? '');
    if (kind === 'leases') return this.#lease(name, request);
    if (kind === 'events') return this.#api.events.push(body as Event);
    if (path.endsWith(`/customresourcedefinitions/${SERVER_DEFINITION}`)) return this.#definition();
    if (path.endsWith(`/customresourcedefinitions/${SET_DEFINITION}`))
      return this.#api.hasSets ? { metadata: { name: SET_DEFINITION } } : notFound(SET_DEFINITION);
    throw new Error(`the model knows no ${path}`);
  }

  placeOf(path: string): Place | undefined {
    if (!path.startsWith(OURS)) return undefined;
    const parts = path.slice(OURS.length).split('/').map(decodeURIComponent);
    const namespace = parts[0] === 'namespaces' ? parts.splice(0, 2)[1] : undefined;
    const [plural = '', name, part] = parts;
    const { servers, catalogs, sets } = this.#api;
    const stores: Partial<Record<string, unknown>> = {
      [SERVER_PLURAL]: servers,
      [CATALOG_PLURAL]: catalogs,
      [SET_PLURAL]: sets,
    };
    return { store: stores[plural] as ObjectStore<Stored>, namespace, name, part };
  }

  #object({ store, namespace, name, part }: Place, request: Request, staleBy: number): unknown {
    const { method = 'GET', body } = request;
    if (!this.isServed(store)) throw notServed();
    if (name === undefined && method === 'GET') return this.#list(store, namespace, request, staleBy);
    if (namespace === undefined) throw new Error('the model supports writes only in namespaces');
    if (name === undefined) return this.#create(store, namespace, body);
    if (method === 'DELETE') {
      store.delete(namespace, name, (body as { preconditions?: Preconditions } | undefined)?.preconditions);
      return undefined;
    }
    if (method === 'PATCH') return store.patch(namespace, name, body as PatchBody);
    if (method === 'PUT' && part === 'status') return store.putStatus(namespace, name, body as Stored);
    return store.get(namespace, name) ?? notFound(name);
  }

  /** An open watch stays open while its kind is not installed, and reports objects once it is installed again. */
  isServed(store: ObjectStore<Stored>): boolean {
    return store.plural !== SET_PLURAL || this.#api.hasSets;
  }

  #create({ plural }: ObjectStore<Stored>, namespace: string, body: object | undefined): unknown {
    if (plural === SERVER_PLURAL) return this.#api.create(namespace, body as Manifest);
    const { metadata, spec } = body as { metadata: { name: string }; spec: object };
    return plural === SET_PLURAL
      ? this.#api.createSet(namespace, metadata.name, spec as SetSpecInput)
      : this.#api.createCatalog(namespace, metadata.name, spec as ServerCatalog['spec']);
  }

  /** Returns one page, as objects or as a table; all pages of a list show the same snapshot. */
  #list(
    store: ObjectStore<Stored>,
    namespace: string | undefined,
    { query = {}, accept = '', maxBytes = Infinity }: Request,
    staleBy: number,
  ): unknown {
    const { limit, continue: token } = query;
    const position = token === undefined ? undefined : positionIn(String(token));
    const { version, objects } = this.#snapshot(store, position?.rv, staleBy);
    const isOnPage = (object: Stored): boolean =>
      (namespace === undefined || object.metadata.namespace === namespace) &&
      (position === undefined || keyOf(object) > position.start);
    const rest = objects.filter(isOnPage);
    const items = rest.slice(0, limit === undefined ? undefined : Number(limit));
    const last = items.at(-1);
    const next = last !== undefined && rest.length > items.length ? tokenAt(version, last) : undefined;
    const metadata = { resourceVersion: version, ...(next !== undefined && { continue: next }) };
    if (accept.includes('as=Table')) return { metadata, rows: [] };
    if (items.reduce((sum, item) => sum + sizeOf(item), 0) > maxBytes)
      throw new KubeError('TooLarge', `an answer of more than ${maxBytes} bytes`, { status: 200 });
    return { metadata, items };
  }

  #snapshot(store: ObjectStore<Stored>, at: number | undefined, staleBy: number): Snapshot {
    const { version, restores } = this.#api;
    // A restore invalidates all snapshots.
    if (restores !== this.#restores) this.#snapshots = new Map();
    this.#restores = restores;
    if (at !== undefined) {
      const kept = this.#snapshots.get(`${store.plural} ${at}`);
      if (kept !== undefined) return kept;
      throw expired('The provided continue parameter is too old');
    }
    const count = Math.max(store.history.index, store.changes.length - staleBy);
    const before = store.changes[count - 1]?.object.metadata.resourceVersion;
    const isOld = count < store.changes.length;
    const snapshot = {
      version: !isOld ? version : count === store.history.index ? String(store.history.version) : (before ?? version),
      objects: (isOld ? store.listAt(count) : store.list()).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
    };
    this.#snapshots.set(`${store.plural} ${snapshot.version}`, snapshot);
    const [oldest] = this.#snapshots.keys();
    if (this.#snapshots.size > KEPT && oldest !== undefined) this.#snapshots.delete(oldest);
    return snapshot;
  }

  #secret(namespace: string, name: string | undefined, { method = 'GET', body }: Request): unknown {
    const { secrets } = this.#api;
    if (method === 'GET') return encoded(secrets.get(namespace, name ?? '') ?? notFound(name ?? ''));
    if (method === 'POST') return encoded(secrets.create(decoded(body as NewSecret)));
    const { metadata, data } = decoded(body as Pick<Secret, 'metadata'> & Pick<SecretChanges, 'data'>);
    const { uid, resourceVersion, ownerReferences } = metadata;
    const changes = { ...(ownerReferences && { metadata: { ownerReferences } }), ...(data !== undefined && { data }) };
    return encoded(secrets.patch({ namespace, name: name ?? '', uid, resourceVersion }, changes));
  }

  #configMap(namespace: string, name: string): ConfigMap {
    const { configMaps, readsConfigMaps } = this.#api;
    if (!readsConfigMaps) throw new KubeError('Forbidden', 'cannot get resource "configmaps"', { status: 403 });
    return configMaps.get(`${namespace}/${name}`) ?? notFound(name);
  }

  #lease(name: string | undefined, { method = 'GET', body }: Request): unknown {
    const api = this.#api;
    if (method === 'GET') return api.lease ?? notFound(name ?? '');
    const lease = body as StoredLease;
    if (api.lease?.metadata.resourceVersion !== lease.metadata.resourceVersion)
      throw new KubeError('Conflict', 'the lease has been modified', { status: 409 });
    const metadata = { uid: 'lease', ...lease.metadata, resourceVersion: api.newVersion() };
    return (api.lease = frozen({ ...lease, metadata }));
  }

  #definition(): unknown {
    const { definition } = this.#api;
    const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    const allowed = { annotations: { [ALLOW_DELETION_ANNOTATION]: 'true' } };
    return {
      metadata: {
        name: SERVER_DEFINITION,
        ...(definition !== 'kept' && deletion),
        ...(definition === 'deletionAllowed' && allowed),
      },
    };
  }
}

/** KubeHttp connected to the model without a network; does not support watches. */
export function withoutNetwork(api: ApiServer): KubeHttp {
  const routes = new Routes(api);
  return {
    call: async (options) => {
      try {
        return await Promise.resolve(routes.answer(options));
      } catch (error) {
        if (isAbsent(error, options)) return undefined;
        throw error;
      }
    },
    stream: () => Promise.reject(new Error('this client does not support watches')),
    serverTime: () => undefined,
    close: () => Promise.resolve(),
  };
}

/** Whether the call treats this 404 as an answer. */
export function isAbsent(error: unknown, { absent }: CallOptions): boolean {
  return absent !== undefined && error instanceof KubeError && error.reason === 'NotFound';
}

export function expired(message: string): KubeError {
  return new KubeError('Expired', message, { status: 410, reason: 'Expired' });
}

function notFound(name: string): never {
  throw new KubeError('NotFound', `"${name}" not found`, { status: 404, reason: 'NotFound' });
}

/** In the API server's own format. */
function tokenAt(version: string, { metadata: { namespace, name } }: KubeObject): string {
  const token = { v: 'meta.k8s.io/v1', rv: Number(version), start: `${namespace}/${name}\u0000` };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

function positionIn(token: string): { rv: number; start: string } {
  return JSON.parse(Buffer.from(token, 'base64url').toString()) as { rv: number; start: string };
}

const sizes = new WeakMap<object, number>();

function sizeOf(object: object): number {
  const size = sizes.get(object) ?? JSON.stringify(object).length;
  sizes.set(object, size);
  return size;
}

/** With base64 values, as in the API. */
function encoded({ data, ...secret }: Secret): object {
  return { ...secret, data: mapped(data, (value) => Buffer.from(value).toString('base64')) };
}

function decoded<T extends { data?: Record<string, string | null> }>(secret: T): T {
  if (secret.data === undefined) return secret;
  return { ...secret, data: mapped(secret.data, (value) => Buffer.from(value, 'base64').toString()) };
}

function mapped(
  data: Readonly<Record<string, string | null>>,
  map: (value: string) => string,
): Record<string, string | null> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, value === null ? null : map(value)]));
}
