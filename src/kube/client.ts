/** Reads and writes the objects of one kind. A call is one request, or one for each page, and throws KubeError. */
import { isRefusal, StatusRefused } from './error.ts';
import type { KubeHttp } from './http.ts';
import { listAll } from './list.ts';
import { collectionOf, pathOf, type ObjectVersion, type Resource } from './resource.ts';

/** Owner of the operator's writes in managedFields. */
const FIELD_MANAGER = 'vps-operator';
export const MERGE_PATCH = 'application/merge-patch+json';

/** The type of an object's status. */
type StatusOf<T> = T extends { status?: infer S } ? NonNullable<S> & object : object;

type SetByServer = 'uid' | 'resourceVersion' | 'generation' | 'creationTimestamp';
export type NewObject<T> = Omit<T, 'metadata' | 'status'> &
  (T extends { metadata: infer M } ? { metadata: Omit<M, SetByServer> } : unknown);

export interface MetadataPatch {
  /** The complete new list; unchanged if left out. */
  finalizers?: string[];
  /** Values to set; `null` removes an annotation. */
  annotations?: Record<string, string | null>;
}

/** The namespace of a kind without namespaces is empty, as in client-go. */
export interface Client<T> {
  /** Reads the newest version, never a cached one. Undefined if the object does not exist. */
  get(namespace: string, name: string): Promise<T | undefined>;
  /** Every object of the namespace, never from a cache; `signal` ends the request. */
  list(namespace: string, signal: AbortSignal): Promise<T[]>;
  /** 409 for a name that is taken. */
  create(object: NewObject<T>): Promise<T>;
  /** Replaces exactly the version that `object` names. 409 stale. */
  replace(object: T & { metadata: ObjectVersion }): Promise<T>;
  /** Merges `changes` into exactly this version; returns the new object. 409 stale, 422 wrong uid, 404 gone. */
  patch(version: ObjectVersion, changes: { metadata?: object }): Promise<T>;
  /** As `patch`. */
  patchMetadata(version: ObjectVersion, metadata: MetadataPatch): Promise<T>;
  /**
   * Replaces the whole status and nothing else. 409 for a stale version and for a re-created object, 404 gone, 422 for a
   * value outside the schema's bounds; StatusRefused if the API server does not accept it.
   */
  writeStatus(version: ObjectVersion, status: StatusOf<T>): Promise<T>;
  /** Deletes exactly this version. 409 for another version or uid, 404 gone. */
  delete(version: ObjectVersion): Promise<void>;
}

export function createClient<T>(http: KubeHttp, resource: Resource<T>): Client<T> {
  const { apiVersion, kind, accept, parse, format = (object: object) => object } = resource;
  const query = { fieldManager: FIELD_MANAGER };
  const whole = (object: object): object => ({ apiVersion, kind, ...format(object) });
  const patch = async (path: string, body: object): Promise<T> =>
    parse(await http.call({ method: 'PATCH', path, query, body: format(body), contentType: MERGE_PATCH }));
  const client: Client<T> = {
    async get(namespace, name) {
      const path = pathOf(resource, namespace, name);
      const object = await http.call({ path, absent: name, accept });
      return object === undefined ? undefined : parse(object);
    },
    async list(namespace, signal) {
      return (await listAll(http, resource, { namespace, signal })).objects;
    },
    async create(object) {
      const { namespace } = (object as { metadata?: { namespace?: string } }).metadata ?? {};
      const path = collectionOf(resource, namespace);
      return parse(await http.call({ method: 'POST', path, query, body: whole(object) }));
    },
    async replace(object) {
      const path = pathOf(resource, object.metadata.namespace, object.metadata.name);
      return parse(await http.call({ method: 'PUT', path, query, body: whole(object) }));
    },
    patch: ({ namespace, name, uid, resourceVersion }, { metadata, ...changes }) =>
      // The API server compares these before it applies the patch: 409 for another version, 422 for another uid.
      patch(pathOf(resource, namespace, name), { metadata: { ...metadata, uid, resourceVersion }, ...changes }),
    patchMetadata: (version, metadata) => client.patch(version, { metadata }),
    async writeStatus({ namespace, name, uid, resourceVersion }, status) {
      // A PUT costs the API server a sixth less than a merge patch. /status takes nothing else from the body.
      const body = whole({ metadata: { namespace, name, uid, resourceVersion }, status });
      const path = `${pathOf(resource, namespace, name)}/status`;
      const answer = await http.call({ method: 'PUT', path, query, body }).catch((error: unknown) => {
        throw isRefusal(error) ? new StatusRefused(error) : error;
      });
      return parse(answer);
    },
    async delete({ namespace, name, uid, resourceVersion }) {
      const body = { preconditions: { uid, resourceVersion } };
      await http.call({ method: 'DELETE', path: pathOf(resource, namespace, name), body });
    },
  };
  return client;
}
