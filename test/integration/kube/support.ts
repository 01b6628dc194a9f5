/** What tests against the real API server share: a client, kubectl, namespaces and objects. */
import { sshKeyOf } from '../../fixtures/virtual-server.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { API_VERSION, SERVER_KIND } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { collectionOf, pathOf } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';

const run = promisify(execFile);

export const SSH_KEY = sshKeyOf('me@example.org');

/** A client of the shared API server, with administrator rights. */
export function adminHttp(kubeconfigPath: string = inject('kubeconfigPath')): KubeHttp {
  return createKubeHttp({ cluster: loadCluster(kubeconfigPath) });
}

export async function kubectl(...args: string[]): Promise<string> {
  const { stdout } = await run(inject('kubectl'), ['--kubeconfig', inject('kubeconfigPath'), ...args]);
  return stdout;
}

export async function createNamespace(http: KubeHttp): Promise<string> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: 'test-' } };
  const created = (await http.call({ method: 'POST', path: '/api/v1/namespaces', body })) as VirtualServer;
  return created.metadata.name;
}

/** A manifest that the API server accepts; `spec` overrides fields, `undefined` removes one. */
export function manifest(name: string, spec: Record<string, unknown> = {}) {
  return {
    apiVersion: API_VERSION,
    kind: SERVER_KIND,
    metadata: { name },
    spec: { product: 'small', image: 'debian-12/minimal', diskSize: 10, sshKeys: [SSH_KEY], ...spec },
  };
}

export async function create(http: KubeHttp, namespace: string, body: object): Promise<VirtualServer> {
  return (await http.call({ method: 'POST', path: collectionOf(VIRTUAL_SERVERS, namespace), body })) as VirtualServer;
}

/** Sends a merge patch without a precondition, as a user would. */
export async function edit(
  http: KubeHttp,
  object: VirtualServer,
  body: object,
  subresource = '',
): Promise<VirtualServer> {
  const { namespace, name } = object.metadata;
  const contentType = 'application/merge-patch+json';
  const path = pathOf(VIRTUAL_SERVERS, namespace, name) + subresource;
  return (await http.call({ method: 'PATCH', path, body, contentType })) as VirtualServer;
}

export async function remove(http: KubeHttp, { metadata }: VirtualServer): Promise<void> {
  await http.call({ method: 'DELETE', path: pathOf(VIRTUAL_SERVERS, metadata.namespace, metadata.name) });
}

export const versionOf = ({ metadata: { namespace, name, uid, resourceVersion } }: VirtualServer) => ({
  namespace,
  name,
  uid,
  resourceVersion,
});
