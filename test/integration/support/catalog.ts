/** A ServerCatalog with lists, as the plugin reads it, on a control plane that knows the kind. */
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, PLURAL } from '../../../src/api/names.ts';
import type { ServerCatalogStatus } from '../../../src/api/server-catalog.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import type { World } from './world.ts';

const WAIT_MS = 30_000;

/** What the simulator offers by default. */
export const LISTS: ServerCatalogStatus = {
  products: [
    { code: 'vps-1gb', ram: 1024 },
    { code: 'vps-2gb', ram: 2048 },
    { code: 'vps-4gb', ram: 4096 },
    { code: 'vps-8gb', ram: 8192 },
  ],
  images: [
    { name: 'debian-13.qcow2/minimal', description: 'Debian 13, minimal' },
    { name: 'ubuntu-24.04.qcow2/minimal', description: 'Ubuntu 24.04 LTS, minimal' },
  ],
  diskSizes: [{ type: 'ssd', sizes: [10, 20, 40, 80] }],
  counts: { products: 4, images: 2, diskSizes: 4 },
  observedAt: '2026-01-01T00:00:00Z',
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'Available',
      message: 'The lists are read.',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: 1,
    },
  ],
};

/** A control plane of its own, which serves lists of catalogs from the first moment on. */
export async function startCatalogCluster(): Promise<ControlPlane> {
  const cluster = await startControlPlane();
  await listable(cluster.kubeconfigPath);
  return cluster;
}

/** The first lists of a kind are refused until the API server has read them. */
async function listable(kubeconfigPath: string): Promise<void> {
  const http = createKubeHttp({ cluster: loadCluster(kubeconfigPath) });
  const deadline = Date.now() + WAIT_MS;
  const isListable = (plural: string): Promise<boolean> =>
    http.call({ path: `/apis/${API_VERSION}/${plural}` }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof KubeError && error.code === 'TooManyRequests' && Date.now() < deadline) return false;
        throw error;
      },
    );
  for (const plural of [PLURAL, CATALOG_PLURAL]) while (!(await isListable(plural))) await sleep(50);
  await http.close();
}

/** Makes a catalog whose status is this. */
export async function putCatalog(world: World, status: ServerCatalogStatus = LISTS): Promise<void> {
  const path = `/apis/${API_VERSION}/namespaces/${world.namespace}/${CATALOG_PLURAL}`;
  const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
  await world.http.call({ method: 'POST', path, body });
  const contentType = 'application/merge-patch+json';
  await world.http.call({ method: 'PATCH', path: `${path}/catalog/status`, body: { status }, contentType });
}
