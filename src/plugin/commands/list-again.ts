/** Has the operator read the lists of a ServerCatalog again: the plugin has no access to the provider. */
import { API_VERSION, CATALOG_PLURAL, RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { followGoal } from '../screens/follow.ts';

const READ_MS = 30_000;

/** `request`: a value that the catalog has not handled yet. Rejects with CommandError if you may not, or at the timeout. */
export async function listAgain(
  context: Context,
  { metadata }: ServerCatalog,
  request: string,
): Promise<ServerCatalog> {
  const { cluster } = context;
  const { name } = metadata;
  const annotations = { [RECONCILE_AT_ANNOTATION]: request };
  await cluster.changeObject(API_VERSION, CATALOG_PLURAL, name, { metadata: { annotations } });
  let seen: ServerCatalog | undefined;
  const goal = {
    name: `list of servers of ${name}`,
    look: async (signal: AbortSignal) => {
      seen = (await cluster.findObject(API_VERSION, CATALOG_PLURAL, name, signal)) as ServerCatalog | undefined;
    },
    isReached: () => Promise.resolve(seen?.status?.lastHandledReconcileAt === request),
    progress: () => 'the operator reads it',
    stuck: () => undefined,
  };
  await followGoal(context, goal, READ_MS);
  if (seen === undefined) throw new CommandError(EXIT.failed, `the catalog ${name} is gone`);
  return seen;
}
