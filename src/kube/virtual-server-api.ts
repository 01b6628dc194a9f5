/** Paths of the VirtualServer API, and the check of what comes back from it. */
import { API_VERSION, PLURAL } from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { KubeError } from './error.ts';

/** The collection in a namespace, or in all of them. */
export function collectionPath(namespace?: string): string {
  if (namespace === undefined) return `/apis/${API_VERSION}/${PLURAL}`;
  return `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/${PLURAL}`;
}

export function objectPath(namespace: string, name: string): string {
  return `${collectionPath(namespace)}/${encodeURIComponent(name)}`;
}

export function keyOf(object: VirtualServer): string {
  return `${object.metadata.namespace}/${object.metadata.name}`;
}

/**
 * The API server has enforced the schema, so only what identifies an object is looked at.
 * managedFields, four fifths of an object, are dropped.
 */
export function asVirtualServer(value: unknown): VirtualServer {
  const object = value as (VirtualServer & { metadata: { managedFields?: unknown } }) | null | undefined;
  const metadata = object?.metadata;
  if (!metadata?.name || !metadata.namespace || !metadata.uid || !metadata.resourceVersion) {
    throw new KubeError('BadResponse', 'the answer is not a VirtualServer');
  }
  delete metadata.managedFields;
  return object as VirtualServer;
}
