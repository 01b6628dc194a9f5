/** `kubectl vps import`: writes manifests that adopt servers of the account that no object holds. Applies nothing. */
import { identifierProblem } from '../../api/identifier.ts';
import { CATALOG_PLURAL } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { identifierKey } from '../../base/identifier.ts';
import { tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { manifestsOf } from '../decisions/import-manifests.ts';
import { ageOfLists, unheldIn, type UnheldServer } from '../state/orphans.ts';
import { plural } from '../state/totals.ts';
import { nextCommand, objectsOf } from './orphans.ts';

export interface ImportOptions {
  /** Import each orphaned server. */
  all: boolean;
  /** Name of the Secret with the API key. */
  secret?: string | undefined;
}

export async function importServers(
  context: Context,
  identifiers: readonly string[],
  { all, secret }: ImportOptions,
): Promise<void> {
  const { cluster, terminal } = context;
  if (all === identifiers.length > 0)
    throw new CommandError(EXIT.usage, 'pass either identifiers or --all', [
      `kubectl vps orphans${cluster.where}   # lists the servers that no object holds`,
    ]);
  const catalogs = ((await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[]).filter(
    ({ spec }) => secret === undefined || spec.apiKeySecretRef.name === secret,
  );
  const objects = await objectsOf(cluster, false);
  const { servers, unknown, next } = unheldIn(catalogs, objects);
  const orphans = servers.filter(({ state }) => state === 'Orphaned');
  const chosen = all ? orphans : [...new Set(identifiers.map((each) => chosenFrom(context, each, servers, unknown)))];
  const usable = chosen.filter(({ identifier }) => identifierProblem(identifier) === undefined);
  const names = objects
    .filter(({ metadata }) => metadata.namespace === cluster.namespace)
    .map(({ metadata }) => metadata.name);
  const unclear = servers.length - orphans.length;
  tell(context, [
    ...(usable.length < chosen.length
      ? [`${plural(chosen.length - usable.length, 'server')} left out: the identifier cannot be adopted`]
      : []),
    ...(all && unclear > 0
      ? [`${plural(unclear, 'server')} left out that an object may hold, such as one whose order is open`]
      : []),
    ...unknown.map((why) => `cannot tell whether there are more: ${why}`),
    ...(usable.length > 0
      ? ['nothing is applied: check each server, fill in the marked fields, then run kubectl apply -f on the file']
      : unknown.length > 0
        ? []
        : ['no server to import']),
    ...ageOfLists(catalogs),
    ...nextCommand({ next }, cluster.where),
  ]);
  terminal.out.write(manifestsOf(usable, names));
  if (usable.length === 0 && unknown.length > 0) throw new CommandError(EXIT.failed, 'there may be servers to import');
}

/** Throws CommandError for a server that is not listed, or that an object holds or may hold. */
function chosenFrom(
  { cluster }: Context,
  identifier: string,
  servers: readonly UnheldServer[],
  unknown: readonly string[],
): UnheldServer {
  const found = servers.find((server) => identifierKey(server.identifier) === identifierKey(identifier));
  if (found?.state === 'Orphaned') return found;
  if (found !== undefined)
    throw new CommandError(EXIT.failed, `an object may hold server ${identifier}, such as one whose order is open`, [
      `kubectl vps list${cluster.where}`,
    ]);
  throw new CommandError(
    EXIT.failed,
    [`the list has no server ${identifier} that no object holds`, ...unknown].join('; '),
    [`kubectl vps orphans${cluster.where}`],
  );
}
