/** ServerCatalogs that list the servers of the account. */
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, GROUP, RECONCILE_AT_ANNOTATION } from '../../../src/api/names.ts';
import type { ServerCatalog } from '../../../src/api/server-catalog.ts';
import { createPlugin, type Plugin } from './plugin.ts';
import { accountIn, grant } from './service-account.ts';
import type { World } from './world.ts';

const pathOf = ({ namespace }: World): string => `/apis/${API_VERSION}/namespaces/${namespace}/${CATALOG_PLURAL}`;

/** Creates the catalog `catalog`, and waits until the operator has read its lists. */
export async function createListing(world: World, spec: object = { listServers: true }): Promise<void> {
  const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec };
  await world.http.call({ method: 'POST', path: pathOf(world), body });
  await readAgain(world, 'first');
}

/** Has the operator read the lists, and waits until it has. */
export async function readAgain(world: World, request: string, spec: object = {}): Promise<void> {
  const path = `${pathOf(world)}/catalog`;
  const body = { metadata: { annotations: { [RECONCILE_AT_ANNOTATION]: request } }, spec };
  await world.http.call({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
  const handled = async () => ((await world.http.call({ path })) as ServerCatalog).status?.lastHandledReconcileAt;
  await world.until(async () => (await handled()) === request, 'the operator reads the catalog');
}

/** Waits until no server of the provider is being created: its list has only those that are ready. */
export async function untilListed(world: World): Promise<void> {
  const servers = () => world.simulator.aliveServers();
  await world.until(() => servers().every(({ state }) => state === 'running'), 'the end of the creation');
}

/**
 * The plugin of a user who sees only the namespace of the world. Objects of other worlds hold servers with the same identifiers, at
 * other providers.
 */
export async function pluginIn(world: World, folder: string): Promise<Plugin> {
  const group = GROUP;
  const rights = ['virtualservers', 'servercatalogs'].flatMap((resource) =>
    ['get', 'list', 'watch', 'patch'].map((verb) => ({ verb, resource, group })),
  );
  const kubeconfig = await accountIn(world, 'user');
  await grant(world, 'user', rights);
  return createPlugin(folder, world.namespace, kubeconfig);
}
