/** Paths of the VirtualServer API, and the check of what comes back from it. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { collectionOf, VIRTUAL_SERVERS } from './resource.ts';

/** The collection in a namespace, or in all of them. */
export function collectionPath(namespace?: string): string {
  return collectionOf(VIRTUAL_SERVERS, namespace);
}

export function objectPath(namespace: string, name: string): string {
  return `${collectionPath(namespace)}/${encodeURIComponent(name)}`;
}

export function asVirtualServer(value: unknown): VirtualServer {
  return VIRTUAL_SERVERS.parse(value);
}
