/** A ServerCatalog with lists, as the plugin reads it. */
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL } from '../../../src/api/names.ts';
import type { ServerCatalogStatus } from '../../../src/api/server-catalog.ts';
import type { World } from './world.ts';

/** What the simulator offers by default. */
export const LISTS: ServerCatalogStatus = {
  products: [
    { code: 'VPSX4', ram: 1024 },
    { code: 'VPSX8', ram: 2048 },
    { code: 'VPSX16', ram: 4096 },
    { code: 'VPSX32', ram: 8192 },
  ],
  images: [
    { name: 'cloudinit-debian-trixie.raw.gz', description: 'Debian 13 (trixie)' },
    { name: 'cloudinit-ubuntu-noble.raw.gz', description: 'Ubuntu 24.04 LTS (noble)' },
    { name: 'debian-13.qcow2/docker', description: 'Debian 13 with Docker' },
  ],
  diskSizes: [
    { type: 'hdd', sizes: [20480, 40960, 81920, 163840] },
    { type: 'ssd', sizes: [5120, 10240, 20480, 40960] },
  ],
  counts: { products: 4, images: 3, diskSizes: 8 },
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

/** Creates a catalog with this status. */
export async function putCatalog(world: World, status: ServerCatalogStatus = LISTS): Promise<void> {
  const path = `/apis/${API_VERSION}/namespaces/${world.namespace}/${CATALOG_PLURAL}`;
  const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
  await world.http.call({ method: 'POST', path, body });
  const contentType = 'application/merge-patch+json';
  await world.http.call({ method: 'PATCH', path: `${path}/catalog/status`, body: { status }, contentType });
}
