/** `kubectl vps orphans`: servers that you pay for and that no object of this cluster holds. */
import { CATALOG_PLURAL, CATALOG_SHORT_NAME, RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { CommandError } from '../terminal/failure.ts';
import { ageOfLists, unheldIn, type UnheldServers } from '../state/orphans.ts';
import { duration } from '../screens/progress.ts';
import { columns, data } from '../terminal/table.ts';
import { plural } from '../state/totals.ts';

/** For cron and CI: whether there are orphans, or whether it cannot be told. */
export const ORPHANS_EXIT = { none: 0, some: 1, unknown: 2 } as const;

export async function showOrphans(context: Context, allNamespaces: boolean): Promise<number> {
  const { format, now, terminal } = context;
  const { cluster } = context;
  const catalogs = (await cluster.listOf(CATALOG_PLURAL, { allNamespaces })) as ServerCatalog[];
  const found = unheldIn(catalogs, await objectsOf(cluster, allNamespaces));
  const { servers, unknown } = found;
  if (format !== 'table') terminal.out.write(data(found, format));
  else if (servers.length > 0) {
    const rows = servers.map(({ identifier, name = '', product = '', state, unheldSince, catalog }) => [
      ...(allNamespaces ? [catalog.namespace] : []),
      identifier,
      name,
      product,
      state,
      unheldSince === undefined ? '' : duration(Math.max(0, now() - Date.parse(unheldSince))),
    ]);
    const header = ['IDENTIFIER', 'NAME', 'PRODUCT', 'STATE', 'UNHELD FOR'];
    print(context, columns(allNamespaces ? ['NAMESPACE', ...header] : header, rows));
  }
  tell(context, remarks(found, catalogs, cluster.where, allNamespaces));
  if (servers.some(({ state }) => state === 'Orphaned')) return ORPHANS_EXIT.some;
  return servers.length > 0 || unknown.length > 0 ? ORPHANS_EXIT.unknown : ORPHANS_EXIT.none;
}

/** The operator has compared the list with the objects of all namespaces, which you need not be allowed to read. */
export async function objectsOf(cluster: Context['cluster'], allNamespaces: boolean): Promise<VirtualServer[]> {
  if (allNamespaces) return cluster.list(true);
  return cluster.list(true).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error;
    return cluster.list(false);
  });
}

const readAgainCommand = (where: string): string =>
  `kubectl annotate --overwrite ${CATALOG_SHORT_NAME}${where} --all ${RECONCILE_AT_ANNOTATION}="$(date)"   # reads the lists again`;

const askCommand = (where: string): string =>
  `kubectl patch ${CATALOG_SHORT_NAME} NAME${where} --type=merge -p '{"spec":{"listServers":true}}'   # lists the servers of its key`;

/** The command that may tell more, if one can. */
export function nextCommand({ next }: Pick<UnheldServers, 'next'>, where: string, allNamespaces = false): string[] {
  if (next === undefined) return [];
  // kubectl patch takes one object.
  if (next === 'ask') return [askCommand(allNamespaces ? `${where} --namespace NAMESPACE` : where)];
  return [readAgainCommand(allNamespaces ? `${where} --all-namespaces` : where)];
}

function remarks(
  { servers, unknown, next }: UnheldServers,
  catalogs: readonly ServerCatalog[],
  where: string,
  allNamespaces: boolean,
): string[] {
  const unclear = servers.filter(({ state }) => state === 'Unclear').length;
  const orphaned = servers.length - unclear;
  return [
    ...(orphaned > 0 ? [`${plural(orphaned, 'server')} that you pay for, and that no object holds`] : []),
    // It writes manifests for one namespace.
    ...(orphaned > 0 && !allNamespaces
      ? [`kubectl vps import --all${where} > servers.yaml   # manifests that adopt them`]
      : []),
    ...(unclear > 0 ? [`${plural(unclear, 'server')} that an object may hold, such as one whose order is open`] : []),
    ...unknown.map((why) => `cannot tell whether there are more: ${why}`),
    ...(servers.length + unknown.length === 0 ? ['no server without an object, by the last read of the list'] : []),
    // An object that was deleted since then may have left a server behind.
    ...ageOfLists(catalogs),
    ...nextCommand({ next }, where, allNamespaces),
  ];
}
