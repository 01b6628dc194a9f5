/** Reads and writes the objects of one kind; each call is one request and throws KubeError. */
import type { KubeHttp } from './http.ts';
import { mergePatch } from './merge-patch.ts';
import { pathOf, type KubeObject, type Resource } from './resource.ts';
import type { MetadataPatch, ObjectVersion } from './types.ts';

/** Owner of the operator's writes in managedFields. */
export const FIELD_MANAGER = 'vps-operator';
export const MERGE_PATCH = 'application/merge-patch+json';

/** The type of an object's status. */
export type StatusOf<T> = T extends { status?: infer S } ? NonNullable<S> & object : object;

export interface Client<T extends KubeObject> {
  /** Reads the newest version, never a cached one. Undefined if the object does not exist. */
  get(namespace: string, name: string): Promise<T | undefined>;
  /** Sends one merge patch with uid and resourceVersion; returns the new object. 409 stale, 422 wrong uid, 404 gone. */
  patchMetadata(version: ObjectVersion, changes: MetadataPatch): Promise<T>;
  /**
   * Replaces the status: removes the fields of `previous`, the status at that version, that `status` lacks. 409 for a
   * stale version and for a re-created object, 404 gone, 422 for a value outside the schema's bounds.
   */
  writeStatus(version: ObjectVersion, previous: StatusOf<T> | undefined, status: StatusOf<T>): Promise<T>;
}

export function createClient<T extends KubeObject>(http: KubeHttp, resource: Resource<T>): Client<T> {
  const { parse } = resource;
  const patch = async (path: string, body: object): Promise<T> => {
    const query = { fieldManager: FIELD_MANAGER };
    return parse(await http.call({ method: 'PATCH', path, query, body, contentType: MERGE_PATCH }));
  };
  return {
    async get(namespace, name) {
      const object = await http.call({ path: pathOf(resource, namespace, name), absent: name });
      return object === undefined ? undefined : parse(object);
    },
    patchMetadata: ({ namespace, name, uid, resourceVersion }, changes) =>
      // The API server compares these before it applies the patch: 409 for another version, 422 for another uid.
      patch(pathOf(resource, namespace, name), { metadata: { uid, resourceVersion, ...changes } }),
    writeStatus: ({ namespace, name, resourceVersion }, previous, status) =>
      patch(`${pathOf(resource, namespace, name)}/status`, {
        // /status ignores the uid (seen with 1.36). The version is enough: a re-created object has a newer one.
        metadata: { resourceVersion },
        status: mergePatch(previous ?? {}, status),
      }),
  };
}
