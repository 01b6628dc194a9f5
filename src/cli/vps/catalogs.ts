/** Finds the ServerCatalog of a namespace that tells what can be ordered. */
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, CATALOG_SHORT_NAME } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { ClusterView } from './cluster.ts';
import { CommandError, EXIT } from './failure.ts';
import { quoted } from '../../base/shell.ts';

/** The one that reads with this Secret, where several stand there; undefined where there is none. */
export async function findCatalog(cluster: ClusterView, secret?: string): Promise<ServerCatalog | undefined> {
  const catalogs = (await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[];
  const fitting = catalogs.filter(({ spec }) => secret === undefined || spec.apiKeySecretRef.name === secret);
  // One that has lists is better than one that never got them.
  return fitting.find(({ status }) => status?.products !== undefined) ?? fitting[0];
}

/** Throws CommandError with the manifest that makes a catalog, where there is none. */
export async function requireCatalog(cluster: ClusterView, secret?: string): Promise<ServerCatalog> {
  const catalog = await findCatalog(cluster, secret);
  if (catalog !== undefined) return catalog;
  const whose = secret === undefined ? '' : ` with the Secret ${secret}`;
  // One with another Secret may be there, and must not be turned to this one.
  const name = secret ?? 'catalog';
  const spec = secret === undefined ? {} : { apiKeySecretRef: { name: secret } };
  const manifest = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name }, spec };
  throw new CommandError(EXIT.notFound, `no ${CATALOG_KIND}${whose} in namespace ${cluster.namespace}. Make one:`, [
    `printf %s ${quoted(JSON.stringify(manifest))} | kubectl apply${cluster.where} -f -`,
    `kubectl wait${cluster.where} --for=condition=Ready ${quoted(`${CATALOG_SHORT_NAME}/${name}`)}`,
  ]);
}
