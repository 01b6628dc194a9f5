/** VirtualServers for tests: `virtualServer('web', withSpec({...}), withAnnotations({...}))`. */
import { API_VERSION, SERVER_KIND } from '../../src/api/names.ts';
import type { VirtualServer, VirtualServerSpec, VirtualServerStatus } from '../../src/api/virtual-server.ts';
import type { ObjectMeta } from '../../src/api/meta.ts';

export const SSH_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdTYs0rmVsWT1a8iSZmDU4YzKNWQTbAwbmuxGrBWxyz me@example.org';

/** What a test specifies; the API server, or `stored`, fills in the rest. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: Pick<ObjectMeta, 'name'> &
    Partial<Pick<ObjectMeta, 'annotations' | 'finalizers' | 'labels' | 'ownerReferences'>>;
  spec: Partial<VirtualServerSpec> & Record<string, unknown>;
}

export type Modifier<T> = (object: T) => T;

/** A manifest of what the simulator offers by default. */
export function virtualServer(name: string, ...modifiers: Modifier<Manifest>[]): Manifest {
  const manifest: Manifest = {
    apiVersion: API_VERSION,
    kind: SERVER_KIND,
    metadata: { name },
    spec: { product: 'vps-1gb', image: 'debian-13.qcow2/minimal', diskSize: 20, sshKeys: [SSH_KEY] },
  };
  return modifiers.reduce((object, modify) => modify(object), manifest);
}

export const withSpec =
  (spec: Manifest['spec']): Modifier<Manifest> =>
  (object) => ({ ...object, spec: { ...object.spec, ...spec } });

export const withAnnotations =
  (annotations: Record<string, string>): Modifier<Manifest> =>
  (object) => ({
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
  });

/** The object as the API server stores it, for tests of the pure rooms. */
export function stored(name: string, ...modifiers: Modifier<VirtualServer>[]): VirtualServer {
  const { metadata, spec } = virtualServer(name);
  const object: VirtualServer = {
    apiVersion: API_VERSION,
    kind: SERVER_KIND,
    metadata: {
      ...metadata,
      namespace: 'default',
      uid: `uid-of-${name}`,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      ...(spec as Pick<VirtualServerSpec, 'product' | 'image' | 'diskSize' | 'sshKeys'>),
      apiKeySecretRef: { name: 'vps-api-key' },
      deletionPolicy: 'Delete',
      deletionProtection: false,
      sshCheck: 'None',
    },
    status: { observedGeneration: -1 },
  };
  return modifiers.reduce((result, modify) => modify(result), object);
}

export const storedWith =
  (changes: {
    metadata?: Partial<ObjectMeta>;
    spec?: Partial<VirtualServerSpec>;
    status?: VirtualServerStatus;
  }): Modifier<VirtualServer> =>
  (object) => ({
    ...object,
    metadata: { ...object.metadata, ...changes.metadata },
    spec: { ...object.spec, ...changes.spec },
    ...(changes.status !== undefined && { status: changes.status }),
  });
