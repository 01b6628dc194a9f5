/** An API key at the provider: its token, its lists and whether it is refused, all of which its sessions share. */
import { createHash } from 'node:crypto';
import { createCaller, type CallDeps, type Caller } from './caller.ts';
import { Redactor, hiding, type Cleaner } from './redact.ts';
import { Refusals } from './key-refusals.ts';
import { createTokens, type TokenDeps } from './token.ts';
import type {
  Account,
  ApiKey,
  Catalog,
  AccountServer,
  FurtherAnswer,
  OrdersGo,
  OrdersTold,
  OrderWay,
  Priority,
  Product,
  Session,
  TaskState,
} from './types.ts';
import { agedRead } from '../base/aged-read.ts';
import type { Clocks } from '../base/timers.ts';
import { identifierKey, isSameIdentifier } from '../base/identifier.ts';
import { isIdentifier, type Endpoint, type Endpoints } from './endpoints.ts';
import { ProviderError, failureMessage, withheldError, type ProviderOperation } from './error.ts';
import { failure, failureOf, saysNoSuch } from './failure.ts';
import { NO_CALL, furtherList } from './further-list.ts';
import { sendNamedOrder } from './create-named.ts';
import { openOrder } from './create-server.ts';
import { PagedList } from './paged-list.ts';
import { wholeBody, type Exchange, type ProviderAnswer } from './transport.ts';
import {
  asObject,
  objectIn,
  parseDiskSizes,
  parseHosts,
  parseImages,
  parseJson,
  parseListedServers,
  parseMessage,
  parsePrices,
  parseProducts,
  parseServer,
  parseServerList,
  parseZones,
  shapeOf,
  toIdentifier,
} from './wire.ts';

/** What all accounts of a provider share. */
export type ProviderDeps = Omit<TokenDeps, 'redactor' | 'refusals'> &
  Pick<CallDeps, 'transport' | 'line'> &
  Pick<SessionDeps, 'createTimeoutMs' | 'orders'>;

export function createAccount(key: ApiKey, deps: ProviderDeps, told?: OrdersTold): Account {
  const { endpoints, transport, line, timers, createTimeoutMs, orders } = deps;
  const name = accountName(endpoints.base, key.keyId);
  const redactor = new Redactor(key);
  const refusals = new Refusals(timers);
  const tokens = createTokens(key, name, { ...deps, redactor, refusals });
  const callerOf = (tenant: string): Caller =>
    createCaller({ redactor, refusals, tokens, transport, line }, { tenant, account: name });
  const now = (): number => timers.monotonic();
  // What all tenants of the key share waits in a separate line.
  const catalog = createLists(callerOf(name), endpoints, now);
  const shared = callerOf(name);
  const further = {
    zones: furtherList(shared, { operation: 'zones', target: endpoints.zones, parse: parseZones }, now),
    hosts: furtherList(shared, { operation: 'hosts', target: endpoints.hosts, parse: parseHosts }, now),
    prices: furtherList(shared, { operation: 'prices', target: endpoints.prices, parse: parsePrices }, now),
  };
  const listing = createListing(now, { orders, told });
  const listedServers = createServerList(callerOf(name), endpoints, listing, now);
  return {
    name,
    isAccepted: () => tokens.isAccepted(),
    isRefused: () => refusals.isRefused,
    recoveries: () => refusals.recoveries,
    retryLogin: () => refusals.retrySoon(),
    hasKey: ({ keyId, secret }) => keyId === key.keyId && secret === key.secret,
    ordersGo: () => listing.ordersGo(),
    session: (tenant) =>
      createSession({
        account: name,
        caller: callerOf(tenant),
        endpoints,
        catalog,
        listedServers,
        further,
        listing,
        createTimeoutMs,
        orders,
        clocks: timers,
      }),
  };
}

/**
 * Names the account by `<hash of the base URL>-<hash of base URL and key ID>`, which contains no secret; see
 * virtual-server/decision/identity.ts.
 */
export function accountName(base: string, keyId: string): string {
  return `${hash(base)}-${hash(`${base}\0${keyId}`)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/* The calls of types.ts for one API key and one tenant, and the lists, which all tenants of the key share. */

export interface SessionDeps {
  account: string;
  caller: Caller;
  endpoints: Endpoints;
  catalog: Session['catalog'];
  listedServers: Session['listedServers'];
  further: Pick<Session, 'zones' | 'hosts' | 'prices'>;
  listing: Listing;
  createTimeoutMs: number;
  orders: OrderWay;
  clocks: Clocks;
}

export function createSession(deps: SessionDeps): Session {
  const { account, caller, endpoints, catalog, listedServers, further, listing, createTimeoutMs, orders, clocks } =
    deps;
  const { redactor } = caller;

  const get = (operation: ProviderOperation, target: Endpoint, priority: Priority): Promise<ProviderAnswer> =>
    caller.call({ operation, method: 'GET', target }, priority);

  /** A call about one server that changes something, and that the specification does not have. */
  async function change(
    call: Pick<Exchange, 'operation' | 'method' | 'target'> & { body?: string },
    maySend: () => boolean = () => true,
  ): Promise<FurtherAnswer> {
    const answer = await caller.call(call, 'high', checkOf(maySend));
    if (answer.status >= 200 && answer.status < 300) return 'accepted';
    if (NO_CALL.has(answer.status) && !saysNoSuch(answer)) return 'notOffered';
    throw failureOf(answer, call.operation, redactor);
  }

  function pending(body: Record<string, unknown>): TaskState {
    const status = typeof body.status === 'string' ? redactor.clean(body.status) : undefined;
    return { state: 'pending', identifier: identifierIn(body), status };
  }

  /** The server that a 303 names in its body or Location; the client never follows the redirect. */
  function complete(answer: ProviderAnswer): TaskState {
    const inBody = identifierIn(objectIn(answer.body));
    const inLocation = endpoints.identifierOfLocation(answer.headers.location);
    if (inBody !== undefined && inLocation !== undefined && !isSameIdentifier(inBody, inLocation)) {
      throw new ProviderError(
        'PROVIDER_PROTOCOL',
        failureMessage('pollTask', 'body and Location of the completed task name different servers'),
      );
    }
    const identifier = inBody ?? inLocation;
    if (identifier === undefined)
      throw new ProviderError('PROVIDER_PROTOCOL', failureMessage('pollTask', 'the completed task names no server'));
    return { state: 'complete', identifier };
  }

  return {
    account,
    hiding: (secret) => createSession({ ...deps, caller: { ...caller, redactor: hiding(redactor, secret) } }),
    async ensureToken() {
      await caller.tokens.get(caller.owner.tenant, 'low');
    },
    catalog,
    ...further,
    products: () => readProducts(caller, endpoints),
    servers: () => listing.read(() => readServers(caller, endpoints)),
    listedServers,
    async ordersNamed() {
      if (orders !== 'auto') return orders === 'named';
      const known = listing.takesNamed();
      if (known !== undefined) return known;
      try {
        return (await listing.read(() => readServers(caller, endpoints))) !== undefined;
      } catch (error) {
        if (error instanceof PagedList) return true;
        throw error;
      }
    },
    async orderNamed(identifier, body, maySend) {
      const outcome = await sendNamedOrder(
        { caller, endpoints, timeoutMs: createTimeoutMs },
        identifier,
        body,
        maySend,
      );
      if (outcome.kind === 'notOffered') listing.refusesNamed();
      if (outcome.kind === 'created') listing.acceptsNamed();
      return outcome;
    },
    ordersGo: () => listing.ordersGo(),
    learnListing: (identifier, runs) =>
      listing.learn(identifier, () => listing.read(() => readServers(caller, endpoints)), runs),
    listsServers: () => listing.exists(),
    listsAll: () => listing.isWhole(),
    listsCreating: () => listing.hasCreating(),
    openOrder: () => openOrder({ caller, endpoints, timeoutMs: createTimeoutMs, clocks }),
    async pollTask(task) {
      const answer = await get('pollTask', endpoints.task(task), 'normal');
      if (answer.status === 200) return pending(asObject(parseJson(wholeBody(answer), 'pollTask'), 'pollTask'));
      if (answer.status === 303) return complete(answer);
      throw failureOf(answer, 'pollTask', redactor);
    },
    async readServer(identifier, priority) {
      const answer = await get('readServer', endpoints.server(identifier), priority);
      if (answer.status !== 200) throw failureOf(answer, 'readServer', redactor);
      return parseServer(parseJson(wholeBody(answer), 'readServer'), identifier);
    },
    async setPower(identifier, power, maySend) {
      const target = endpoints.ofServer(identifier, 'power');
      return change({ operation: 'setPower', method: 'PUT', target, body: JSON.stringify({ power }) }, maySend);
    },
    async reboot(identifier, maySend) {
      return change({ operation: 'reboot', method: 'POST', target: endpoints.ofServer(identifier, 'reboot') }, maySend);
    },
    async setDormant(identifier, asked, maySend) {
      const target = endpoints.ofServer(identifier, 'dormant');
      return change({ operation: 'setDormant', method: 'PUT', target, body: JSON.stringify(asked) }, maySend);
    },
    async changeServer(identifier, body, maySend) {
      const target = endpoints.server(identifier);
      return change({ operation: 'changeServer', method: 'PATCH', target, body: JSON.stringify(body) }, maySend);
    },
    async deleteServer(identifier, maySend = () => true) {
      const target = endpoints.server(identifier);
      const call = { operation: 'deleteServer', method: 'DELETE', target } as const;
      const answer = await caller.call(call, 'high', checkOf(maySend));
      if (answer.status !== 200) throw failureOf(answer, 'deleteServer', redactor);
      return redactor.clean(parseMessage(parseJson(wholeBody(answer), 'deleteServer')));
    },
  };
}

/** To be called right before a request is written. */
const checkOf = (maySend: () => boolean) => (): void => {
  if (!maySend()) throw withheldError();
};

/** Throws PROVIDER_PROTOCOL for an unusable identifier, which must not count as a missing one. */
function identifierIn(body: Record<string, unknown>): string | undefined {
  const identifier = toIdentifier(body['identifier']);
  if (identifier === undefined) return undefined;
  if (!isIdentifier(identifier))
    throw new ProviderError(
      'PROVIDER_PROTOCOL',
      failureMessage('pollTask', 'the identifier is too long, or cannot be part of a URL'),
    );
  return identifier;
}

/**
 * The three lists, read in one shared call and cached with their age. `caller` belongs to no tenant: all tenants of the
 * key share the result, and none should wait for another.
 */
export function createLists(caller: Caller, endpoints: Endpoints, now: () => number): Session['catalog'] {
  let last: { lists: Catalog; answeredAt: number } | undefined;
  let call: Promise<Catalog> | undefined;

  async function read(): Promise<Catalog> {
    let answeredAt = Infinity;
    const list = async (operation: ProviderOperation, target: Endpoint): Promise<unknown> => {
      const body = await readList(caller, operation, target);
      answeredAt = Math.min(answeredAt, now());
      return body;
    };
    const [products, images, diskSizes] = await Promise.all([
      list('products', endpoints.products),
      list('images', endpoints.images),
      list('diskSizes', endpoints.diskSizes),
    ]);
    const lists = {
      products: parseProducts(products),
      images: parseImages(images),
      diskSizes: parseDiskSizes(diskSizes),
      shapes: { products: shapeOf(products), images: shapeOf(images) },
    };
    last = { lists, answeredAt };
    return lists;
  }

  return async (maxAgeMs) => {
    if (last && now() - last.answeredAt <= maxAgeMs) return last.lists;
    call ??= read().finally(() => (call = undefined));
    return call;
  };
}

/** The list of servers; `caller` as for the other lists. */
function createServerList(
  caller: Caller,
  endpoints: Endpoints,
  listing: Listing,
  now: () => number,
): Session['listedServers'] {
  return agedRead(now, async () => {
    let listed: AccountServer[] | undefined;
    await listing.read(async () => {
      const body = await readServerList(caller, endpoints);
      if (body === undefined) return undefined;
      const clean = (server: AccountServer): AccountServer => cleaned(server, caller.redactor);
      try {
        listed = parseListedServers(body.value, body.headers).map(clean);
        return parseServerList(body.value, body.headers);
      } catch (error) {
        throw error instanceof PagedList ? new PagedList(error.identifiers, error.servers.map(clean)) : error;
      }
    });
    return listed;
  });
}

/** A fresh read of the products list for `caller` alone. */
async function readProducts(caller: Caller, endpoints: Endpoints): Promise<Product[]> {
  return parseProducts(await readList(caller, 'products', endpoints.products));
}

type ServerList = ReadonlySet<string> | undefined;

/** What the tenants of a key have found out about the list of servers. */
export interface Listing {
  /** Throws PROVIDER_PROTOCOL if the provider denies a list that it has shown before, if only one page of it. */
  read(read: () => Promise<ServerList>): Promise<ServerList>;
  learn(identifier: string, read: () => Promise<ServerList>, runs: () => Promise<boolean>): Promise<void>;
  /** Whether it was shown, or one page of it. */
  exists(): boolean;
  /** Whether it was shown as a whole, or is due to be read again after one page of it. */
  isWhole(): boolean;
  hasCreating(): boolean;
  /** Whether the account takes orders under an identifier; undefined: not known, or no longer known. */
  takesNamed(): boolean | undefined;
  /** The provider has answered that it has no orders under an identifier. */
  refusesNamed(): void;
  /** The provider has accepted an order under an identifier. */
  acceptsNamed(): void;
  ordersGo(): OrdersGo;
}

/** How long the operator believes what it has found out about servers in the making, or that a list does not exist or has pages (ms). */
const LEARN_AGAIN_MS = 10 * 60_000;

export function createListing(
  now: () => number,
  { orders = 'auto', told }: { orders?: OrderWay; told?: OrdersTold | undefined } = {},
): Listing {
  let isShown = false;
  let hasCreating = false;
  let pagedUntil = -Infinity;
  let learnsAt = -Infinity;
  let anonymousUntil = -Infinity;
  /** Stays until an order under an identifier is accepted, so that each new attempt is not told as a change. */
  let isRefused = false;
  let last: OrdersGo | undefined;
  const takesNamed = (): boolean | undefined => (now() < anonymousUntil ? false : isShown || undefined);
  const tell = (): void => {
    const before = last;
    const takes = takesNamed();
    if (takes === undefined) last = 'unknown';
    else if (isRefused) last = 'refused';
    else last = takes ? 'named' : 'anonymous';
    if (last !== before && orders === 'auto') told?.(last, before);
  };
  return {
    async read(read) {
      try {
        const listed = await read();
        if (listed === undefined && isShown) throw vanished();
        isShown ||= listed !== undefined;
        pagedUntil = -Infinity;
        if (listed === undefined) {
          anonymousUntil = now() + LEARN_AGAIN_MS;
          isRefused = false;
        } else if (!isRefused) anonymousUntil = -Infinity;
        return listed;
      } catch (error) {
        if (error instanceof PagedList) {
          isShown = true;
          pagedUntil = now() + LEARN_AGAIN_MS;
        }
        throw error;
      } finally {
        tell();
      }
    },
    async learn(identifier, read, runs) {
      if (now() < learnsAt) return;
      learnsAt = now() + LEARN_AGAIN_MS;
      try {
        const listed = await read();
        if (listed === undefined) return;
        // A list may have a server from some moment of its task on, so one that is missing counts again later.
        if (!listed.has(identifierKey(identifier))) hasCreating = false;
        // The task may have ended before the list was read.
        else if (await runs()) hasCreating = true;
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
      }
    },
    exists: () => isShown,
    isWhole: () => isShown && now() >= pagedUntil,
    hasCreating: () => hasCreating,
    takesNamed,
    refusesNamed() {
      anonymousUntil = now() + LEARN_AGAIN_MS;
      isRefused = true;
      tell();
    },
    acceptsNamed() {
      isRefused = false;
      tell();
    },
    ordersGo: () => (orders === 'auto' ? (last ?? 'unknown') : orders),
  };
}

/**
 * A list that the provider has shown does not cease to exist: a gateway may answer 404 for it, for each server and for each order,
 * which proves nothing about any of them.
 */
function vanished(): ProviderError {
  const why = 'the provider answers that it has no such list, but it has shown one before';
  return new ProviderError('PROVIDER_PROTOCOL', failureMessage('listServers', why));
}

async function readServers(caller: Caller, endpoints: Endpoints): Promise<ServerList> {
  const body = await readServerList(caller, endpoints);
  return body && parseServerList(body.value, body.headers);
}

/** Undefined if the provider has no such list. */
async function readServerList(
  caller: Caller,
  endpoints: Endpoints,
): Promise<{ value: unknown; headers: ProviderAnswer['headers'] } | undefined> {
  const answer = await caller.call({ operation: 'listServers', method: 'GET', target: endpoints.servers }, 'high');
  if (NO_CALL.has(answer.status)) return undefined;
  if (answer.status !== 200) throw failure(answer, 'listServers', caller.redactor);
  return { value: parseJson(wholeBody(answer), 'listServers'), headers: answer.headers };
}

/** The provider's texts must not repeat a secret. */
const cleaned = ({ name, product, ...server }: AccountServer, redactor: Cleaner): AccountServer => ({
  ...server,
  name: name === undefined ? undefined : redactor.clean(name),
  product: product === undefined ? undefined : redactor.clean(product),
});

async function readList(caller: Caller, operation: ProviderOperation, target: Endpoint): Promise<unknown> {
  const answer = await caller.call({ operation, method: 'GET', target }, 'high');
  if (answer.status !== 200) throw failure(answer, operation, caller.redactor);
  return parseJson(wholeBody(answer), operation);
}
