/** The one write to a ServerCatalog: its status. */
import type { ServerCatalog, ServerCatalogStatus } from '../api/server-catalog.ts';
import { patchStatus } from './client.ts';
import type { KubeHttp } from './http.ts';
import { SERVER_CATALOGS } from './resource.ts';
import type { WriteCatalogStatus } from './types.ts';

/** Makes the status exactly `status`; 409 for a stale version and for an object created anew, 404 gone. */
export function catalogStatusWriter(http: KubeHttp): WriteCatalogStatus {
  return ({ metadata, status: previous }: ServerCatalog, status: ServerCatalogStatus) =>
    patchStatus(http, SERVER_CATALOGS, metadata, previous, status);
}
