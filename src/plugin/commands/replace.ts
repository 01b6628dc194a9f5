/**
 * `kubectl vps replace`: orders a new server, and deletes the old object only when the new one is Ready. All state is in
 * the objects, so the same command continues after an interruption at any point.
 */
import { API_VERSION, DEFAULT_API_KEY_SECRET, SERVER_KIND, SERVER_PLURAL } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { isDeepEqual, isObject } from '../../base/deep-equal.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import { timeOf } from '../../virtual-server/decision/expiry.ts';
import { readServers } from '../cluster/backups.ts';
import { findCatalog, requireOffered } from '../state/catalogs.ts';
import { requireName } from '../cluster/cluster.ts';
import { agreed, cannotAsk, print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { followGoal } from '../screens/follow.ts';
import { priceInWords, pricedServers } from '../state/order-price.ts';
import { upToDate } from '../state/let-go.ts';
import { heldServer } from '../state/recorded-order.ts';
import { progressLine, timeLeft } from '../screens/progress.ts';
import {
  canTakeOver,
  replacementMark,
  nextName,
  pairOf,
  replacementOf,
  requireReplaceable,
  specHash,
  type Pair,
} from '../decisions/replacement.ts';
import { checkSpec, specFrom, type SpecFlags } from '../flags/spec-flags.ts';
import { stuckServer } from '../screens/stuck.ts';
import { clean, isInteractive } from '../terminal/terminal.ts';

export type ReplaceOptions = SpecFlags & {
  /** Name of the new object. */
  name?: string | undefined;
  /** Manifest of the new server; - for standard input. */
  filename?: string | undefined;
  yes: boolean;
  /** For each of the two waits. */
  timeoutMs: number;
};

/** How often the deletion is tried while the operator changes the old object. */
const ATTEMPTS = 5;

/** Throws CommandError if a server may not be replaced, if the new one gets stuck, or if the user declines. */
export async function replace(context: Context, name: string, options: ReplaceOptions): Promise<void> {
  const { cluster, terminal } = context;
  requireName(name);
  const { old, next } = await look(context, name);
  if (old === undefined) {
    if (next === undefined) throw await cluster.noServer(name, 'rollout restart');
    print(context, [`${name} is gone; ${next.metadata.name} has replaced it`]);
    return;
  }
  // Standard input cannot give both the manifest and the answer, and may stay open without end.
  if (!options.yes && options.filename === '-') throw cannotAsk();
  const wanted = await wantedBy(context, old, options);
  if (next === undefined) await check(context, old, wanted);
  else requireWanted(next, wanted);
  // Asked before the order: without the answer, both servers would cost money.
  if (!options.yes && !isInteractive(terminal)) throw cannotAsk();
  const ordered = next ?? (await order(context, old, wanted));
  await untilReady(context, old, ordered, options.timeoutMs);
  const last = (await deleteOld(context, old, ordered, options.yes)) ?? old;
  const { server, isKept, delay } = fateOf(last);
  if (delay === undefined) await untilGone(context, last, options.timeoutMs);
  const later = [
    `server ${server} is cancelled ${delay} after the deletion of ${name}, and costs money until then`,
    `kubectl vps cancel ${name}${context.cluster.where} --now   # cancels it now`,
  ];
  print(context, [
    `${name} is replaced by ${ordered.metadata.name}`,
    ...(isKept ? [`server ${server} keeps running and costs money`] : []),
    ...(delay === undefined ? [] : later),
  ]);
}

/** What becomes of the server of an object that is deleted. */
interface Fate {
  /** Undefined: there is none. */
  server: string | undefined;
  isKept: boolean;
  /** How long it runs on before it is cancelled. */
  delay: string | undefined;
}

function fateOf(old: VirtualServer): Fate {
  const held = heldServer(old);
  if (held === undefined) return { server: undefined, isKept: false, delay: undefined };
  const isKept = old.spec.deletionPolicy === 'Retain';
  return { server: clean(held), isKept, delay: isKept ? undefined : old.spec.deletionDelay };
}

/** Whole objects, as the API server shows them. */
async function look({ cluster }: Context, name: string): Promise<Pair> {
  return pairOf((await cluster.listOf(SERVER_PLURAL)) as VirtualServer[], name);
}

interface Wanted {
  /** Undefined if the user leaves the choice to the command. */
  name: string | undefined;
  /** The fields that the user set. */
  fields: Record<string, unknown>;
  spec: object;
  described: { labels?: Record<string, string>; annotations?: Record<string, string> };
  /** The file with the spec, if no flags set it. */
  file?: string;
}

async function wantedBy({ terminal }: Context, old: VirtualServer, options: ReplaceOptions): Promise<Wanted> {
  const fields = specFrom(options);
  const { filename: file } = options;
  if (file === undefined) {
    const spec: Record<string, unknown> = { ...old.spec, ...fields };
    // The old server has it until the new one is ready.
    if (fields.identifier === undefined) delete spec.identifier;
    // Of these two, the spec may have one.
    if (fields.ttl !== undefined && fields.expiresAt === undefined) delete spec.expiresAt;
    if (fields.expiresAt !== undefined && fields.ttl === undefined) delete spec.ttl;
    return { name: options.name, fields, spec, described: old.metadata };
  }
  if (Object.keys(fields).length > 0)
    throw new CommandError(EXIT.usage, 'pass either --filename or flags for single fields, not both');
  const [first, ...others] = await readServers(file, terminal.input);
  const { metadata, spec } = first?.[0] ?? {};
  if (others.length > 0) throw new CommandError(EXIT.usage, `--filename ${file} contains several ${SERVER_KIND}s`);
  if (![undefined, old.metadata.namespace].includes(metadata?.namespace as string | undefined))
    throw new CommandError(EXIT.usage, `--filename ${file} is for another namespace`);
  const { identifier } = isObject(spec) ? spec : {};
  if (typeof identifier === 'string' && isSameIdentifier(identifier, heldServer(old)))
    throw new CommandError(
      EXIT.usage,
      `--filename ${file}: ${old.metadata.name} has the identifier ${clean(identifier)} until its server is cancelled: give the new one another spec.identifier, or none`,
    );
  const named = metadata?.name === old.metadata.name ? undefined : (metadata?.name as string | undefined);
  return {
    name: options.name ?? named,
    fields: isObject(spec) ? spec : {},
    spec: isObject(spec) ? spec : {},
    described: metadata as Wanted['described'],
    file,
  };
}

const nameOfNext = (old: VirtualServer, { name }: Wanted): string => name ?? nextName(old.metadata.name);

/** Throws CommandError if the server cannot be replaced, or not by this one. */
async function check(context: Context, old: VirtualServer, wanted: Wanted): Promise<void> {
  const { cluster, now } = context;
  requireReplaceable(old, cluster.where, now());
  const { name: oldName } = old.metadata;
  const name = nameOfNext(old, wanted);
  requireName(name);
  checkSpec(wanted.spec, { file: wanted.file });
  const { connectionSecretName, expiresAt = '' } = wanted.spec as Partial<VirtualServer['spec']>;
  if ((timeOf(expiresAt) ?? Infinity) <= now())
    throw new CommandError(
      EXIT.usage,
      `${oldName} expired at ${clean(expiresAt)}: pass another --expires-at, or --ttl`,
    );
  if (connectionSecretName !== undefined && connectionSecretName === old.spec.connectionSecretName) {
    const why = `the connection Secret ${connectionSecretName} belongs to ${oldName}: pass another name`;
    throw new CommandError(EXIT.usage, `${why} with --connection-secret`);
  }
  const taken = await cluster.find(name);
  if (taken !== undefined)
    throw new CommandError(EXIT.failed, `there is already a ${SERVER_KIND} ${name}: pass another name with --name`);
  const spec = wanted.spec as VirtualServerSpec;
  const catalog = await catalogOf(context, spec);
  if (catalog !== undefined) requireOffered(catalog, spec, cluster.where, wanted.file);
}

async function order(context: Context, old: VirtualServer, wanted: Wanted): Promise<VirtualServer> {
  const { cluster } = context;
  const { name: oldName } = old.metadata;
  const name = nameOfNext(old, wanted);
  await showPrice(context, old, name, wanted);
  await cluster.createObject(API_VERSION, SERVER_PLURAL, replacementOf(old, name, wanted.spec, wanted.described));
  tell(context, [
    `${name} is created, and the operator orders its server; ${oldName} stays until ${name} is ready`,
    'after an interruption, run the same command again',
  ]);
  return cluster.get(name);
}

/** The command also works without the right to read catalogs. */
function catalogOf({ cluster }: Context, spec: Partial<VirtualServerSpec>): Promise<ServerCatalog | undefined> {
  const { name = DEFAULT_API_KEY_SECRET } = spec.apiKeySecretRef ?? {};
  return findCatalog(cluster, name).catch(() => undefined);
}

async function showPrice(context: Context, old: VirtualServer, name: string, wanted: Wanted): Promise<void> {
  const { cluster } = context;
  const spec = wanted.spec as VirtualServerSpec;
  const catalog = await catalogOf(context, spec);
  const { name: oldName } = old.metadata;
  const { server, isKept, delay } = fateOf(old);
  const later = delay === undefined ? '' : `, ${delay} after the deletion of ${oldName} (spec.deletionDelay)`;
  const both = isKept
    ? `you pay for both servers: ${oldName} has deletionPolicy Retain`
    : `you pay for both servers until that of ${oldName} is cancelled${later}`;
  tell(context, [
    `price of ${name}: ${priceInWords(spec, await pricedServers(cluster), catalog?.status)}`,
    ...(server === undefined ? [] : [both]),
  ]);
}

/** Throws CommandError if the user now wants something else than what is already ordered. */
function requireWanted(next: VirtualServer, { name, fields }: Wanted): void {
  const { metadata, spec } = next;
  const given = spec as Record<string, unknown>;
  const others = [
    ...(name === undefined || name === metadata.name ? [] : ['name']),
    ...Object.keys(fields).filter((field) => !isDeepEqual(fields[field], given[field])),
  ];
  if (others.length === 0) return;
  const replaced = replacementMark(next)?.name ?? '';
  throw new CommandError(
    EXIT.usage,
    `${metadata.name} already replaces ${replaced}, with another ${others.join(', ')}: leave these flags out, or delete it first`,
  );
}

async function untilReady(
  context: Context,
  { metadata: { name: oldName } }: VirtualServer,
  { metadata: { name, uid } }: VirtualServer,
  timeoutMs: number,
): Promise<void> {
  const { cluster, now } = context;
  const goal = {
    name,
    look: async (signal: AbortSignal) => {
      const seen = await cluster.find(name, signal);
      if (seen?.metadata.uid === uid && seen.metadata.deletionTimestamp === undefined) return seen;
      throw new CommandError(EXIT.failed, `${name} was deleted; ${oldName} stays`);
    },
    isReached: (seen: VirtualServer) => Promise.resolve(canTakeOver(seen)),
    progress: progressLine,
    times: ({ status }: VirtualServer) => timeLeft(status?.task, now()),
    stuck: (seen: VirtualServer) => stuckServer(seen, cluster.where, now()),
  };
  await followGoal(context, goal, timeoutMs);
}

/** The object that is being deleted; undefined if it is gone already. Throws CommandError if it must stay. */
async function deleteOld(
  context: Context,
  old: VirtualServer,
  next: VirtualServer,
  yes: boolean,
): Promise<VirtualServer | undefined> {
  const { cluster } = context;
  let answered: string | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const seen = await presentOld(context, old, next);
    if (seen === undefined || seen.metadata.deletionTimestamp !== undefined) return seen;
    const question = questionOf(seen, next);
    if (yes || question === answered) {
      if (await cluster.deleteVersion(seen)) return seen;
      continue;
    }
    if (!(await agreed(context, question))) throw declined(seen, next, cluster.where);
    // The answer may have taken long: look again. It holds only for the server that the question named.
    answered = question;
  }
  throw new CommandError(EXIT.failed, `${old.metadata.name} keeps changing: run the same command again`);
}

/** The old object now; undefined if it is gone. Throws CommandError unless it may be deleted and `next` is ready. */
async function presentOld(
  context: Context,
  { metadata }: VirtualServer,
  next: VirtualServer,
): Promise<VirtualServer | undefined> {
  const { cluster, now } = context;
  const { name } = metadata;
  const { name: nextName } = next.metadata;
  const { old, next: ready } = await look(context, name);
  if (old === undefined) return undefined;
  const fail = (why: string, ...hints: string[]): CommandError => new CommandError(EXIT.failed, why, hints);
  if (old.metadata.uid !== metadata.uid) throw fail(`${name} has become another object, and stays`);
  if (old.metadata.deletionTimestamp !== undefined) return old;
  if (ready?.metadata.uid !== next.metadata.uid || !canTakeOver(ready))
    throw fail(`${nextName} is no longer ready; ${name} stays`, `kubectl vps status ${nextName}${cluster.where}`);
  requireReplaceable(old, cluster.where, now());
  if (replacementMark(ready)?.spec === specHash(old)) return old;
  throw fail(
    `the spec of ${name} has changed since ${nextName} was ordered; ${name} stays`,
    `kubectl delete vps ${name}${cluster.where}   # if ${nextName} replaces it all the same`,
  );
}

function questionOf(old: VirtualServer, next: VirtualServer): string {
  const { name } = old.metadata;
  const { server, isKept, delay } = fateOf(old);
  const when = delay === undefined ? 'then cancelled' : `cancelled after ${delay}, and costs money until then`;
  const fate = isKept ? 'keeps running and costs money' : `is ${when}`;
  const then = server === undefined ? 'It holds no server.' : `Its server ${server} ${fate}.`;
  return `${next.metadata.name} is ready. Delete ${name}? ${then}`;
}

function declined(old: VirtualServer, next: VirtualServer, where: string): CommandError {
  const [name, newName] = [old.metadata.name, next.metadata.name];
  return new CommandError(EXIT.failed, `nothing was deleted: ${name} and ${newName} both cost money`, [
    `kubectl delete vps ${newName}${where}   # to keep ${name}`,
    `kubectl vps replace ${name}${where}   # to ask again`,
  ]);
}

async function untilGone(context: Context, { metadata }: VirtualServer, timeoutMs: number): Promise<void> {
  const { cluster, now } = context;
  const { name, uid } = metadata;
  const goal = {
    name,
    look: async (signal: AbortSignal) => {
      const seen = await cluster.find(name, signal);
      return seen && upToDate(seen);
    },
    isReached: (seen: VirtualServer | undefined) => Promise.resolve(seen?.metadata.uid !== uid),
    progress: (seen: VirtualServer | undefined, isNarrow: boolean) => seen && progressLine(seen, isNarrow),
    stuck: (seen: VirtualServer | undefined) => seen && stuckServer(seen, cluster.where, now()),
  };
  await followGoal(context, goal, timeoutMs);
}
