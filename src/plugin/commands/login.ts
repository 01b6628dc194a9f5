/**
 * `kubectl vps login` and `logout`: the Secret with the API key, and the ServerCatalog that shows whether the provider accepts
 * it. The operator asks the provider; this program talks only to the API server.
 */
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { input, password } from '@inquirer/prompts';
import {
  API_VERSION,
  CATALOG_KIND,
  CATALOG_PLURAL,
  RECONCILE_AT_ANNOTATION,
  SERVER_PLURAL,
  SET_PLURAL,
} from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { findCatalog } from '../catalogs.ts';
import { agreed, print, tell, type Context } from '../context.ts';
import { CommandError, EXIT } from '../failure.ts';
import { follow } from '../follow.ts';
import { conditionOf, inWords } from '../readiness.ts';
import { isInteractive } from '../terminal.ts';

export interface LoginOptions {
  /** Name of the Secret. */
  secret: string;
  keyId?: string | undefined;
  yes: boolean;
  timeoutMs: number;
}

const SECRET_READ_MS = 1_000;

interface ApiKey {
  keyId: string;
  secret: string;
}

/** Throws CommandError if the provider refuses the key; what it made then stays, except for a key that it replaced. */
export async function login(context: Context, options: LoginOptions): Promise<void> {
  const { cluster } = context;
  const { secret } = options;
  const before = await cluster.findObject('v1', 'secrets', secret);
  if (before !== undefined && !options.yes && !(await agreed(context, `Replace the key in Secret ${secret}?`))) {
    tell(context, ['nothing was changed']);
    return;
  }
  const key = await readKey(context, options.keyId);
  if (before === undefined) {
    await cluster.createObject('v1', 'secrets', { kind: 'Secret', metadata: { name: secret }, stringData: key });
  } else await cluster.changeObject('v1', 'secrets', secret, { stringData: key });
  tell(context, [`Secret ${secret} is ${before === undefined ? 'created' : 'changed'}`]);
  // The operator reads a Secret at most once a second, and may have read it just before.
  await sleep(SECRET_READ_MS);
  const catalog = await checked(context, options);
  const { counts } = catalog.status ?? {};
  const offers = counts === undefined ? '' : `: ${counts.products} products, ${counts.images} images`;
  print(context, [
    `the provider accepts the key${offers}`,
    `kubectl vps catalog${cluster.where}   # lists what you can order`,
  ]);
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

/** Makes the catalog if there is none, and waits until the operator has read it with this key. */
async function checked(context: Context, { secret, timeoutMs }: LoginOptions): Promise<ServerCatalog> {
  const { cluster, now } = context;
  const asked = new Date(now()).toISOString();
  const known = await findCatalog(cluster, secret);
  const name = known?.metadata.name ?? secret;
  const metadata = { annotations: { [RECONCILE_AT_ANNOTATION]: asked } };
  if (known === undefined) {
    if ((await cluster.findObject(API_VERSION, CATALOG_PLURAL, name)) !== undefined) {
      const why = `the key is stored, but not checked: ${CATALOG_KIND} ${name} uses another Secret`;
      throw new CommandError(EXIT.failed, why, [
        `kubectl vps login${cluster.where} --secret NAME   # with another name`,
      ]);
    }
    const spec = { apiKeySecretRef: { name: secret } };
    const catalog = { kind: CATALOG_KIND, metadata: { ...metadata, name }, spec };
    await cluster.createObject(API_VERSION, CATALOG_PLURAL, catalog);
    tell(context, [`${CATALOG_KIND} ${name} is created`]);
  } else await cluster.changeObject(API_VERSION, CATALOG_PLURAL, name, { metadata });
  let seen: ServerCatalog | undefined;
  const goal = {
    name,
    look: async () => {
      seen = (await cluster.findObject(API_VERSION, CATALOG_PLURAL, name)) as ServerCatalog | undefined;
      return seen;
    },
    isReached: (catalog: ServerCatalog | undefined) =>
      Promise.resolve(catalog?.status?.lastHandledReconcileAt === asked),
    progress: () => 'the operator asks the provider',
    stuck: () => undefined,
  };
  await follow(context, goal, timeoutMs);
  const found = (type: string) => seen && conditionOf(seen, type);
  // A catalog stays Ready while the provider is down, with the lists of before.
  const trouble = [found('Stalled'), found('Reconciling')].find((condition) => condition?.status === 'True');
  const ready = found('Ready');
  if (seen !== undefined && ready?.status === 'True' && trouble === undefined) return seen;
  const why = trouble ?? ready;
  const words = why === undefined ? 'the operator has not said why' : `${why.reason}: ${inWords(why)}`;
  throw new CommandError(EXIT.stalled, `the key is stored, but not accepted. ${words}`, [
    `kubectl vps login${cluster.where}   # stores another key`,
    `kubectl vps logout${cluster.where}   # removes it`,
  ]);
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
    throw new CommandError(
      EXIT.failed,
      `${names.join(', ')}${more} use Secret ${secret}: without the key, the operator could not cancel their servers`,
      [`kubectl vps list${cluster.where}`],
    );
  }
  const catalogs = ((await cluster.listOf(CATALOG_PLURAL)) as ServerCatalog[]).filter(
    ({ spec }) => spec.apiKeySecretRef.name === secret,
  );
  if (!yes && !(await agreed(context, `Delete Secret ${secret} and ${catalogs.length} catalogs?`))) {
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
