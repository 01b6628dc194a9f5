/** Our kinds as the API server serves them: where they lie, and the check of what comes back. */
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, KIND, PLURAL } from '../api/names.ts';
import type { ServerCatalog } from '../api/server-catalog.ts';
import type { ObjectMeta, VirtualServer } from '../api/virtual-server.ts';
import { KubeError } from './error.ts';

export interface KubeObject {
  metadata: ObjectMeta;
}

/** What has to be known of a kind to list, watch and patch it. */
export interface Resource<T extends KubeObject> {
  kind: string;
  plural: string;
  /** Throws KubeError `BadResponse` for anything that is no such object. */
  parse: (value: unknown) => T;
}

export const VIRTUAL_SERVERS: Resource<VirtualServer> = resource(KIND, PLURAL);
export const SERVER_CATALOGS: Resource<ServerCatalog> = resource(CATALOG_KIND, CATALOG_PLURAL);

/** The collection in a namespace, or in all of them. */
export function collectionOf({ plural }: Pick<Resource<KubeObject>, 'plural'>, namespace?: string): string {
  if (namespace === undefined) return `/apis/${API_VERSION}/${plural}`;
  return `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/**
 * The API server has enforced the schema, so only what identifies an object is looked at.
 * managedFields, four fifths of an object, are dropped.
 */
function resource<T extends KubeObject>(kind: string, plural: string): Resource<T> {
  const parse = (value: unknown): T => {
    const object = value as (T & { metadata: { managedFields?: unknown } }) | null | undefined;
    const metadata = object?.metadata;
    if (!metadata?.name || !metadata.namespace || !metadata.uid || !metadata.resourceVersion) {
      throw new KubeError('BadResponse', `the answer is not a ${kind}`);
    }
    delete metadata.managedFields;
    return object as T;
  };
  return { kind, plural, parse };
}
