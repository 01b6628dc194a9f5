/** Reads and writes the objects of one kind; each call is one request and throws KubeError. */
import type { KubeHttp } from './http.ts';
import { mergePatch } from './merge-patch.ts';
import { pathOf, type KubeObject, type Resource } from './resource.ts';
import type { MetadataPatch, ObjectVersion } from './types.ts';

/** Owner of what we write, in managedFields. */
export const FIELD_MANAGER = 'vps-operator';
export const MERGE_PATCH = 'application/merge-patch+json';

/** The type of an object's status. */
export type StatusOf<T> = T extends { status?: infer S } ? NonNullable<S> & object : object;

export interface Client<T extends KubeObject> {
  /** Undefined when there is no such object. A read of the newest version, never a cached one. */
  get(namespace: string, name: string): Promise<T | undefined>;
  /** One merge patch with uid and resourceVersion; returns the new object. 409 stale, 422 wrong uid, 404 gone. */
  patchMetadata(version: ObjectVersion, changes: MetadataPatch): Promise<T>;
  /**
   * Makes the status exactly `status` (fields that were there and are not in it are removed). `previous` is the status
   * at that version. 409 for a stale version and for an object created anew, 404 gone, 422 over the schema's bounds.
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
      // Compared before the patch is applied: 409 for another version, 422 for another uid.
      patch(pathOf(resource, namespace, name), { metadata: { uid, resourceVersion, ...changes } }),
    writeStatus: ({ namespace, name, resourceVersion }, previous, status) =>
      patch(`${pathOf(resource, namespace, name)}/status`, {
        // /status ignores a uid (seen with 1.36); an object created anew has a newer version, so that one suffices.
        metadata: { resourceVersion },
        status: mergePatch(previous ?? {}, status),
      }),
  };
}
