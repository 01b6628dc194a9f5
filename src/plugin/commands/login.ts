/**
 * `kubectl vps login` and `logout`: the Secret with the API key, and the ServerCatalog that shows whether the provider accepts
 * it. The operator asks the provider; this program talks only to the API server.
 */
import { randomUUID } from 'node:crypto';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { input, password } from '@inquirer/prompts';
import type { ReadyReason } from '../../api/conditions.ts';
import {
  API_VERSION,
  CATALOG_KIND,
  CATALOG_PLURAL,
  LOGIN_LABEL,
  OPERATOR_NAMESPACE,
  RECONCILE_AT_ANNOTATION,
  SERVER_PLURAL,
  SET_PLURAL,
} from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { findCatalog } from '../state/catalogs.ts';
import { agreed, cannotAsk, print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT, TerminatingError } from '../terminal/failure.ts';
import { followGoal } from '../screens/follow.ts';
import { conditionOf, inWords } from '../state/readiness.ts';
import { loginCommand } from '../state/login-command.ts';
import { isInteractive } from '../terminal/terminal.ts';
import { plural } from '../state/totals.ts';

export interface LoginOptions {
  /** Name of the Secret. */
  secret: string;
  keyId?: string | undefined;
  yes: boolean;
  /** Store the key without asking the provider. */
  skipCheck: boolean;
  /** For each check. */
  timeoutMs: number;
}

const SECRET_READ_MS = 1_000;

interface ApiKey {
  keyId: string;
  secret: string;
}

/** Throws CommandError if the provider does not accept the key; then, what was stored before stays as it was. */
export async function login(context: Context, options: LoginOptions): Promise<void> {
  try {
    await store(context, options);
  } catch (error) {
    throw error instanceof TerminatingError ? inVain(context, options.secret) : error;
  }
}

/** The namespace takes no Secret anymore, and the operator still has to cancel its servers. */
function inVain({ cluster: { namespace, where } }: Context, secret: string): CommandError {
  const own = `${namespace}.${secret}`;
  const why = `namespace ${JSON.stringify(namespace)} is being deleted, so nothing can be created in it. To cancel its servers, the operator also takes the key from Secret ${own} in its own namespace`;
  return new CommandError(EXIT.failed, why, [
    `kubectl create secret generic ${own}${where} -n ${OPERATOR_NAMESPACE} --from-file=keyId --from-file=secret   # with the key ID in a file keyId and the secret in a file secret; change -n if the operator runs in another namespace`,
  ]);
}

async function store(context: Context, options: LoginOptions): Promise<void> {
  const { cluster } = context;
  const { secret } = options;
  const before = (await cluster.findObject('v1', 'secrets', secret)) as Stored | undefined;
  const catalog = await catalogFor(context, secret);
  // Standard input may stay open without end.
  if (before !== undefined && !options.yes && !isInteractive(context.terminal)) throw cannotAsk();
  // What a user pastes or types comes after the question, and a mistake in standard input before it.
  const given = isInteractive(context.terminal) ? undefined : await readKey(context, options.keyId);
  if (before !== undefined && !options.yes && !(await agreed(context, `Replace the key in Secret ${secret}?`))) {
    tell(context, ['nothing was changed']);
    return;
  }
  const key = given ?? (await readKey(context, options.keyId));
  if (!options.skipCheck) await requireAccepted(context, key, options);
  if (before === undefined) {
    await cluster.createObject('v1', 'secrets', { kind: 'Secret', metadata: { name: secret }, stringData: key });
  } else {
    // Not over a key that was stored during the check.
    const { resourceVersion } = before.metadata;
    await cluster.changeObject('v1', 'secrets', secret, { metadata: { resourceVersion }, stringData: key });
  }
  tell(context, [`Secret ${secret} is ${before === undefined ? 'created' : 'changed'}`]);
  // The operator reads a Secret at most once a second, and may have read it just before.
  if (!options.skipCheck) await sleep(SECRET_READ_MS);
  const asked = await ask(context, secret, catalog);
  const show = `kubectl vps catalog${cluster.where}   # lists what you can order`;
  if (options.skipCheck) {
    print(context, ['the key is not checked: the operator asks the provider when it runs', show]);
    return;
  }
  const seen = await read(context, catalog.name, asked, options);
  const problem = problemOf(seen);
  if (problem !== undefined)
    throw new CommandError(EXIT.failed, `the provider accepted the key, and it is stored. ${problem.words}`, [
      `kubectl vps doctor${cluster.where}`,
    ]);
  const { counts } = seen?.status ?? {};
  const offers =
    counts === undefined ? '' : `: ${plural(counts.products, 'product')}, ${plural(counts.images, 'image')}`;
  print(context, [`the provider accepts the key${offers}`, show]);
}

/** The fields of a Secret or a catalog that this file reads. */
interface Stored {
  metadata: { name: string; resourceVersion: string; labels?: Record<string, string> };
}

/** From a terminal without echo, or from standard input: the key ID, unless a flag names it, and the secret, a line each. */
async function readKey({ terminal }: Context, keyId: string | undefined): Promise<ApiKey> {
  if (isInteractive(terminal)) {
    const io = { input: terminal.input, output: terminal.err };
    const id = keyId ?? (await input({ message: 'Key ID', required: true }, io));
    const secret = await password(
      { message: 'Secret (not shown)', validate: (typed) => typed !== '' || 'type or paste it' },
      io,
    );
    return { keyId: id.trim(), secret: secret.trim() };
  }
  const lines = (await readAll(terminal.input)).split('\n').map((line) => line.trim());
  const [first = '', second = ''] = lines;
  const key = keyId === undefined ? { keyId: first, secret: second } : { keyId, secret: first };
  if (key.keyId !== '' && key.secret !== '') return key;
  const wanted = keyId === undefined ? 'the key ID and the secret, a line each' : 'the secret';
  throw new CommandError(EXIT.usage, `standard input is not a terminal, and does not have ${wanted}`);
}

/** The catalog of a Secret. */
interface Shown {
  name: string;
  exists: boolean;
}

/** Throws CommandError if a catalog of this name shows another Secret. */
async function catalogFor({ cluster }: Context, secret: string): Promise<Shown> {
  const known = await findCatalog(cluster, secret);
  if (known !== undefined) return { name: known.metadata.name, exists: true };
  if ((await cluster.findObject(API_VERSION, CATALOG_PLURAL, secret)) === undefined)
    return { name: secret, exists: false };
  throw new CommandError(EXIT.failed, `nothing was changed: ${CATALOG_KIND} ${secret} uses another Secret`, [
    `kubectl vps login${cluster.where} --secret NAME   # with another name`,
  ]);
}

/** Asks the operator to read the catalog, and makes the catalog if there is none. Resolves with the request. */
async function ask(context: Context, secret: string, { name, exists }: Shown): Promise<string> {
  const { cluster } = context;
  const asked = randomUUID();
  const metadata = { annotations: { [RECONCILE_AT_ANNOTATION]: asked } };
  if (exists) await cluster.changeObject(API_VERSION, CATALOG_PLURAL, name, { metadata });
  else {
    const spec = { apiKeySecretRef: { name: secret } };
    await cluster.createObject(API_VERSION, CATALOG_PLURAL, {
      kind: CATALOG_KIND,
      metadata: { ...metadata, name },
      spec,
    });
    tell(context, [`${CATALOG_KIND} ${name} is created`]);
  }
  return asked;
}

/** Waits until the operator has read the catalog. `stopping`: gives up when it fires. */
async function read(
  context: Context,
  name: string,
  asked: string,
  { secret, timeoutMs }: LoginOptions,
  stopping?: AbortSignal,
): Promise<ServerCatalog | undefined> {
  let seen: ServerCatalog | undefined;
  const goal = {
    name: `key for ${secret}`,
    look: async () => {
      if (stopping?.aborted) throw new CommandError(EXIT.interrupted, 'interrupted: nothing was changed');
      seen = (await context.cluster.findObject(API_VERSION, CATALOG_PLURAL, name)) as ServerCatalog | undefined;
      return seen;
    },
    isReached: (catalog: ServerCatalog | undefined) =>
      Promise.resolve(catalog?.status?.lastHandledReconcileAt === asked),
    progress: () => 'the operator asks the provider',
    stuck: () => undefined,
  };
  await followGoal(context, goal, timeoutMs);
  return seen;
}

/** Why the operator could not read the lists with the key; undefined if it could. `refused`: what to do, if the key is the reason. */
function problemOf(catalog: ServerCatalog | undefined): { words: string; refused: string | undefined } | undefined {
  const found = (type: string) => catalog && conditionOf(catalog, type);
  // A catalog stays Ready while the provider is down, with the lists of before.
  const trouble = [found('Stalled'), found('Reconciling')].find((condition) => condition?.status === 'True');
  const ready = found('Ready');
  if (ready?.status === 'True' && trouble === undefined) return undefined;
  const why = trouble ?? ready;
  if (why === undefined) return { words: 'The operator has not said why', refused: undefined };
  const refused = REFUSED[why.reason as ReadyReason];
  // What the operator does next, and which Secret to change, is about a key that is stored.
  const words =
    refused === undefined ? inWords(why) : inWords(why).replace(/\.? (Next try|The operator retries) .*$/s, '');
  return { words: `${why.reason}: ${words}`, refused };
}

const REFUSED: Partial<Record<ReadyReason, string>> = {
  InvalidCredentials:
    "compare the key ID and the secret with those in the provider's control panel, or create another key there",
  PermissionDenied:
    "give the key the permission to provision servers in the provider's control panel, or take another key",
  SecretInvalid: 'type or paste the key ID and the secret again',
};

/**
 * Lets the operator try a copy of the key, in a Secret and a catalog of their own that are removed again, so that no server is
 * without a key that works. Throws CommandError unless the provider accepts the key.
 */
async function requireAccepted(context: Context, key: ApiKey, options: LoginOptions): Promise<void> {
  const { cluster } = context;
  const { secret } = options;
  const prefix = `${secret.slice(0, MAX_PREFIX)}-login-`;
  await removeLeftovers(context, prefix);
  const name = prefix + randomUUID().slice(0, 8);
  const metadata = { name, labels: { [LOGIN_LABEL]: 'true' } };
  // Nothing is there to remove: this asks for the right to, before anything is created.
  await remove(context, name);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  for (const signal of SIGNALS) process.on(signal, stop);
  const unchecked = [`kubectl vps login${cluster.where} --secret ${secret} --skip-check   # stores the key unchecked`];
  try {
    await cluster.createObject('v1', 'secrets', { kind: 'Secret', metadata, stringData: key });
    const asked = randomUUID();
    const catalog = { kind: CATALOG_KIND, spec: { apiKeySecretRef: { name } } };
    const annotations = { [RECONCILE_AT_ANNOTATION]: asked };
    await cluster.createObject(API_VERSION, CATALOG_PLURAL, { ...catalog, metadata: { ...metadata, annotations } });
    const seen = await read(context, name, asked, options, stopping.signal).catch((error: unknown) => {
      if (!(error instanceof CommandError) || error.exitCode !== EXIT.timeout) throw error;
      const why = `${error.message} without an answer of the operator, so nothing was changed`;
      throw new CommandError(EXIT.timeout, why, [`kubectl vps doctor${cluster.where}`, ...unchecked]);
    });
    const problem = problemOf(seen);
    if (problem?.refused !== undefined) {
      const why = `the provider does not accept the key, so nothing was changed. ${problem.words}`;
      const again = `${loginCommand(cluster.where, secret)}   # to try again`;
      throw new CommandError(EXIT.stalled, why, [`# ${problem.refused}`, again]);
    }
    if (problem !== undefined) {
      const why = `the key could not be checked, so nothing was changed. ${problem.words}`;
      throw new CommandError(EXIT.failed, why, unchecked);
    }
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    await remove(context, name);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Leaves room for the rest of a name of 253 characters. */
const MAX_PREFIX = 230;

/** What an earlier run has left that was killed. */
async function removeLeftovers(context: Context, prefix: string): Promise<void> {
  const catalogs = (await context.cluster.listOf(CATALOG_PLURAL, { labelSelector: LOGIN_LABEL })) as Stored[];
  for (const { metadata } of catalogs) {
    if (!metadata.name.startsWith(prefix)) continue;
    const copy = (await context.cluster.findObject('v1', 'secrets', metadata.name)) as Stored | undefined;
    // Whoever may write catalogs must not choose which Secret is deleted.
    if (copy === undefined || copy.metadata.labels?.[LOGIN_LABEL] !== undefined) await remove(context, metadata.name);
  }
}

/** The catalog last: a later run finds the Secret by it. */
async function remove({ cluster }: Context, name: string): Promise<void> {
  await cluster.deleteObject('v1', 'secrets', name);
  await cluster.deleteObject(API_VERSION, CATALOG_PLURAL, name);
}

export interface LogoutOptions {
  secret: string;
  yes: boolean;
}

/** Throws CommandError while objects still need the key: without it, no server can be cancelled. */
export async function logout(context: Context, { secret, yes }: LogoutOptions): Promise<void> {
  const { cluster } = context;
  const [servers, sets] = await Promise.all([cluster.listOf(SERVER_PLURAL), cluster.listOf(SET_PLURAL)]);
  const users = [
    ...(servers as VirtualServer[]).filter(({ spec }) => spec.apiKeySecretRef.name === secret),
    ...(sets as VirtualServerSet[]).filter(({ spec }) => spec.template.spec.apiKeySecretRef.name === secret),
  ];
  if (users.length > 0) {
    const names = users.slice(0, 3).map(({ metadata }) => metadata.name);
    const more = users.length > names.length ? ` and ${users.length - names.length} more` : '';
    const [use, whose] = users.length === 1 ? ['uses', 'of it'] : ['use', 'of them'];
    throw new CommandError(
      EXIT.failed,
      `${names.join(', ')}${more} ${use} Secret ${secret}: without the key, the operator could cancel no server ${whose}`,
      [`kubectl vps list${cluster.where}`],
    );
  }
  const catalogs = ((await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[]).filter(
    ({ spec }) => spec.apiKeySecretRef.name === secret,
  );
  // The user may have the right to delete a Secret, and not to read it.
  const isStored = await cluster.deleteObject('v1', 'secrets', secret, { dryRun: true });
  if (!isStored && catalogs.length === 0)
    throw new CommandError(
      EXIT.notFound,
      `there is no Secret ${secret} and no catalog that uses it in namespace ${JSON.stringify(cluster.namespace)}`,
      [`kubectl vps logout${cluster.where} --secret NAME   # with another name`],
    );
  if (!yes && !(await agreed(context, `Delete Secret ${secret} and ${plural(catalogs.length, 'catalog')}?`))) {
    tell(context, ['nothing was changed']);
    return;
  }
  for (const { metadata } of catalogs) {
    if (await cluster.deleteObject(API_VERSION, CATALOG_PLURAL, metadata.name))
      tell(context, [`${CATALOG_KIND} ${metadata.name} is deleted`]);
  }
  const isThere = await cluster.deleteObject('v1', 'secrets', secret);
  print(context, [isThere ? `Secret ${secret} is deleted` : `there is no Secret ${secret}`]);
}
