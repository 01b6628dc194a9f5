/** Finds the ServerCatalog of a namespace, which lists what the provider offers. */
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, CATALOG_SHORT_NAME } from '../api/names.ts';
import type { ServerCatalog } from '../api/server-catalog.ts';
import type { ClusterView } from './cluster.ts';
import { CommandError, EXIT } from './failure.ts';
import { quoted } from '../base/text.ts';

/** The catalog that uses this Secret, or any catalog if none is given; undefined if there is no such catalog. */
export async function findCatalog(cluster: ClusterView, secret?: string): Promise<ServerCatalog | undefined> {
  const catalogs = (await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[];
  const fitting = catalogs.filter(({ spec }) => secret === undefined || spec.apiKeySecretRef.name === secret);
  // Prefer a catalog that has read its lists.
  return fitting.find(({ status }) => status?.products !== undefined) ?? fitting[0];
}

/** Like findCatalog, but throws CommandError with the commands that create a catalog if there is none. */
export async function requireCatalog(cluster: ClusterView, secret?: string): Promise<ServerCatalog> {
  const catalog = await findCatalog(cluster, secret);
  if (catalog !== undefined) return catalog;
  const whose = secret === undefined ? '' : ` for Secret ${JSON.stringify(secret)}`;
  const { create, wait } = creation(cluster.where, secret);
  throw new CommandError(
    EXIT.notFound,
    `no ${CATALOG_KIND}${whose} in namespace ${JSON.stringify(cluster.namespace)}. To create one, run:`,
    [create, wait],
  );
}

/** The commands that create a catalog for this Secret, or for the default one, and wait until the operator has read it. */
export function creation(where: string, secret?: string): { create: string; wait: string } {
  // The name differs per Secret: the commands must not change an existing catalog that uses another Secret.
  const name = secret ?? 'catalog';
  const spec = secret === undefined ? {} : { apiKeySecretRef: { name: secret } };
  const manifest = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name }, spec };
  return {
    create: `printf %s ${quoted(JSON.stringify(manifest))} | kubectl apply${where} -f -`,
    wait: `kubectl wait${where} --for=condition=Ready ${quoted(`${CATALOG_SHORT_NAME}/${name}`)}`,
  };
}
