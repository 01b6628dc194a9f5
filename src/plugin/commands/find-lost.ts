/** `kubectl vps resolve` without an answer: looks for the server of a lost order in the account's list of servers. */
import { CATALOG_KIND, CATALOG_PLURAL, CATALOG_SHORT_NAME } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { timestamp } from '../../base/duration.ts';
import { identifierKey } from '../../base/identifier.ts';
import { quoted } from '../../base/text.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { creation } from '../state/catalogs.ts';
import { listAgain } from './list-again.ts';
import {
  provenFrom,
  requestFor,
  suspectsAmong,
  type LostOrder,
  type Request,
  type Suspect,
} from '../state/lost-order.ts';
import { ageOfLists, unheldIn, whyUnlisted } from '../state/orphans.ts';
import { inTime } from '../screens/progress.ts';
import { recordOf } from '../state/recorded-order.ts';
import { columns } from '../terminal/table.ts';
import { isInteractive } from '../terminal/terminal.ts';
import { plural } from '../state/totals.ts';
import { objectsOf } from './orphans.ts';
import { requireOpenOrder, take } from './resolve.ts';

export async function findLost(context: Context, name: string, yes: boolean): Promise<void> {
  const { cluster, now } = context;
  const object = await cluster.get(name);
  const { attempt, named } = requireOpenOrder(object, context);
  const order: LostOrder = { object, attempt, attemptedAt: recordOf(object)?.attemptedAt };
  const before = await listingCatalog(context, object, named);
  const objects = await objectsOf(cluster, false);
  const look = (catalog: ServerCatalog) => lookInto(catalog, order, named, objects);
  const request = requestFor(order, before, look(before).isDenied, now());
  const fresh = await listAgain(context, before, request.value).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error;
    tell(context, [`the operator has not read the list again: ${error.message}`, ...ageOfLists([before])]);
    return undefined;
  });
  const found = look(fresh ?? before);
  if (fresh !== undefined)
    tell(context, [`${CATALOG_KIND} ${fresh.metadata.name}: the operator has read the list of servers just now`]);
  if (found.unknown.length > 0)
    throw new CommandError(EXIT.failed, `cannot tell: ${found.unknown.join('; ')}`, answers(context, name, named));
  if (named !== undefined && !found.isDenied)
    throw new CommandError(EXIT.failed, `the list does not deny server ${named}, which the task has named`, [
      `kubectl vps status ${name}${cluster.where}`,
    ]);
  if (found.suspects.length > 0) {
    const rows = found.suspects.map(({ server, verdict, note }) => [
      server.identifier,
      server.name ?? '',
      server.product ?? '',
      server.unheldSince ?? '',
      verdict === 'candidate' ? 'yes' : 'no',
      note,
    ]);
    print(context, columns(['IDENTIFIER', 'NAME', 'PRODUCT', 'FIRST SEEN UNHELD', 'CANDIDATE', 'NOTE'], rows));
  }
  const [only, ...more] = found.suspects.filter(({ verdict }) => verdict === 'candidate');
  if (only === undefined) throw absence(context, order, { request, isFresh: fresh !== undefined, ...found, named });
  // The list does not prove whose server it is, so --yes is no answer to this question.
  if (more.length === 0 && only.note === '' && !yes && isInteractive(context.terminal))
    return take(context, object, only.server.identifier, false);
  throw new CommandError(
    EXIT.failed,
    `the list cannot prove that ${more.length === 0 ? `server ${only.server.identifier}` : `one of ${plural(more.length + 1, 'server')}`} ` +
      `belongs to ${name}: look in the provider's control panel when it was created, then run:`,
    answers(context, name, undefined, [only, ...more]),
  );
}

interface Found {
  suspects: Suspect[];
  unknown: string[];
  /** The list is complete, and has no server that the order may have created. */
  isDenied: boolean;
}

function lookInto(
  catalog: ServerCatalog,
  order: LostOrder,
  named: string | undefined,
  objects: readonly VirtualServer[],
): Found {
  const { servers, unknown } = unheldIn([catalog], objects);
  if (named !== undefined)
    return { suspects: [], unknown, isDenied: unknown.length === 0 && isUnlisted(catalog, named) };
  const suspects = suspectsAmong(servers, order, objects);
  const isListed = suspects.some(({ verdict }) => verdict !== 'excluded');
  return { suspects, unknown, isDenied: unknown.length === 0 && !isListed };
}

/** False if the status does not have the whole list: those that an object holds are cut first. */
function isUnlisted({ status }: ServerCatalog, named: string): boolean {
  const { servers = [], serverCounts } = status ?? {};
  const isListed = servers.some(({ identifier }) => identifierKey(identifier) === identifierKey(named));
  return serverCounts?.all === servers.length && !isListed;
}

/** The catalog of the object's API key that lists servers. Throws CommandError if there is none. */
async function listingCatalog(
  context: Context,
  { metadata, spec }: VirtualServer,
  named: string | undefined,
): Promise<ServerCatalog> {
  const { cluster } = context;
  const catalogs = (await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[];
  const secret = spec.apiKeySecretRef.name;
  const own = catalogs.filter((catalog) => catalog.spec.apiKeySecretRef.name === secret);
  const listing = own.find((catalog) => catalog.spec.listServers === true);
  if (listing !== undefined) return listing;
  const [first] = own;
  const [why] = own.flatMap((catalog) => whyUnlisted(catalog) ?? []);
  if (why !== undefined)
    throw new CommandError(
      EXIT.usage,
      `pass --not-created or --adopt IDENTIFIER: ${why}, as the ${CATALOG_KIND} shows. Look in the provider's control panel, then run:`,
      answers(context, metadata.name, named),
    );
  const name = first?.metadata.name ?? secret;
  throw new CommandError(
    EXIT.usage,
    `pass exactly one of --not-created, --adopt IDENTIFIER and --gone. To look for the server in the list of the provider, ` +
      `if it has one, run:`,
    [
      ...(first === undefined ? [creation(cluster.where, secret).create] : []),
      `kubectl patch ${CATALOG_SHORT_NAME} ${name}${cluster.where} --type=merge -p '{"spec":{"listServers":true}}'`,
      `kubectl vps resolve ${metadata.name}${cluster.where}`,
    ],
  );
}

function answers(
  { cluster }: Context,
  name: string,
  named: string | undefined,
  candidates: readonly Suspect[] = [],
): string[] {
  const call = `kubectl vps resolve ${name}${cluster.where}`;
  const adopt = candidates.map(({ server }) => `${call} --adopt ${quoted(server.identifier)}   # if it is this one`);
  const ask = named === undefined && candidates.length === 0 ? [`${call} --adopt IDENTIFIER   # if there is one`] : [];
  return [...adopt, ...ask, `${call} --not-created   # if you are sure that there is none`];
}

/** Nothing in the list may be the server of the order. */
function absence(
  context: Context,
  order: LostOrder,
  {
    request,
    isFresh,
    isDenied,
    named,
  }: Pick<Found, 'isDenied'> & { request: Request; isFresh: boolean; named?: string | undefined },
): CommandError {
  const { cluster, now } = context;
  const { metadata, spec } = order.object;
  const call = `kubectl vps resolve ${metadata.name}${cluster.where}`;
  const what = named === undefined ? 'a server that this order may have created' : `server ${named}`;
  if (!isFresh || !isDenied)
    return new CommandError(
      EXIT.failed,
      `the list proves nothing: look in the provider's control panel for ${what}, then run:`,
      answers(context, metadata.name, named),
    );
  const from = provenFrom(order, request, now());
  const account = `The key in Secret ${spec.apiKeySecretRef.name} must be of the account that the order went to.`;
  if (from === undefined)
    return new CommandError(
      EXIT.failed,
      `the list has denied ${what} since ${timestamp(request.since)}, more than an hour after the order began. ${account} Then run:`,
      [`${call} --not-created`],
    );
  const when = Number.isFinite(from) ? `; the list can prove it ${inTime(from - now())} at the earliest` : '';
  return new CommandError(
    EXIT.failed,
    `the list does not have ${what}, which does not prove yet that there is none: a server that is being created may be missing. ` +
      `Run the same command again later${when}`,
    [call],
  );
}
