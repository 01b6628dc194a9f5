/** ServerCatalogs for tests of the pure rooms, as the API server stores them. */
import { API_VERSION, CATALOG_KIND } from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';

interface CatalogShape {
  secret?: string;
  generation?: number;
  refreshInterval?: string;
  annotations?: Record<string, string>;
  status?: ServerCatalog['status'];
}

export function storedCatalog(name: string, shape: CatalogShape = {}): ServerCatalog {
  const { secret = 'vps-api-key', generation = 1, refreshInterval = '1h', annotations, status } = shape;
  return {
    apiVersion: API_VERSION,
    kind: CATALOG_KIND,
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-of-${name}`,
      resourceVersion: '1',
      generation,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(annotations && { annotations }),
    },
    spec: { apiKeySecretRef: { name: secret }, refreshInterval },
    ...(status && { status }),
  };
}
