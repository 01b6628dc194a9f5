/** ServerCatalogs as the API server serves them. */
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, RECONCILE_AT_ANNOTATION } from '../api/names.ts';
import type { ServerCatalog } from '../api/server-catalog.ts';
import { resource } from '../kube/resource.ts';

export const SERVER_CATALOGS = resource<ServerCatalog>(
  { apiVersion: API_VERSION, kind: CATALOG_KIND, plural: CATALOG_PLURAL },
  { [RECONCILE_AT_ANNOTATION]: 4_096 },
);
