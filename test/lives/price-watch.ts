/**
 * Judges each order by the limit in money: no order may pass it, counted by the prices that its process knew. What a process
 * knew is computed here, independently of the product: from its cache at the moment of the decision, and from the orders that
 * it had sent. No order may be sent while the namespace has a server of unknown price, or one whose price the provider no
 * longer states. The first server of a model counts with the lowest price that the process has lately read in the provider's list
 * of prices. If the process may have seen several versions, the one that permits the order counts. The same holds for a change
 * that makes a server dearer, if the price of the server after it is known. A dormant server counts with what it was last read to cost
 * awake.
 */
import { mirrorIn, type ServerRecord } from '../../src/api/record.ts';
import { isLetGo } from '../../src/api/server-state.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { PriceLimits } from '../../src/virtual-server/shared/limits.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer, ServerChange } from './api-server.ts';
import { identifierOf } from './ownership.ts';
import { keyOf } from './object-store.ts';
import type { Orders } from './orders.ts';

/** After a restore of etcd, it takes this long until every process knows the objects again (ms). */
const RESTORED_MS = 20 * 60_000;

/** A process may use a list for ten minutes, and then has to wait for its turn, a token and the API server (ms). */
const LISTED_MS = 20 * 60_000;

type Prices = ReadonlyMap<string, number>;

/** The body of the list of prices. */
interface PriceList {
  products: Record<string, number>;
  disk: Record<string, { price: number; extent: number }>;
  ipv4: number;
}

/** What a process has got of the list of prices. */
interface Reading {
  process: object;
  at: number;
  /** Undefined if it got something else. */
  list: PriceList | undefined;
}

interface Decision {
  uid: string;
  process: object;
  /** Number of changes of VirtualServers before it. */
  at: number;
  isSent: boolean;
}

/** An order that is right only if not all of the orders before it, which had no answer yet, are accepted. */
interface Case {
  decision: Decision;
  name: string;
  limit: number;
  sum: number;
  price: number | undefined;
  before: { decision: Decision; price: number }[];
  /** Names of objects whose servers may cost anything. */
  unknown: string[];
  /** The list of prices could have told what the first server of its model costs, and the process did not ask for it. */
  isUnasked: boolean;
}

/** What a process saw when it read an object of a server that it may be about to change. */
interface Look {
  process: object;
  cached: readonly VirtualServer[];
}

export class PriceWatch {
  /** Number of orders that were judged with a known price. */
  judged = 0;
  /** Number of changes of servers that were judged. */
  judgedChanges = 0;
  /** Number of orders that were judged by the list of prices. */
  judgedByList = 0;
  readonly #api: ApiServer;
  readonly #now: () => number;
  readonly #limits: PriceLimits;
  readonly #decisions: Decision[] = [];
  readonly #cases: Case[] = [];
  readonly #readings: Reading[] = [];
  /** By namespace and name: the last look at each object. */
  readonly #looks = new Map<string, Look>();
  readonly #changes: string[] = [];
  /** The changes of VirtualServers, as if no server had ever been dormant. */
  readonly #awake: ServerChange[] = [];
  /** By uid: what the last read of the awake server has shown. */
  readonly #lastAwake = new Map<string, VirtualServer['status']>();
  readonly #hasList: boolean;

  constructor(
    { api, orders, now, hasList }: { api: ApiServer; orders: Orders; now: () => number; hasList: boolean },
    limits: PriceLimits,
  ) {
    this.#api = api;
    this.#hasList = hasList;
    this.#now = now;
    this.#limits = limits;
    orders.listeners.add((_serial, uid) => {
      const last = this.#decisions.findLast((decision) => decision.uid === uid);
      if (last !== undefined) last.isSent = true;
    });
  }

  /** The process has read this of the list of prices, or could not ask for it. */
  listed(process: object, answer: { status: number; body: unknown } | undefined): void {
    const isList = answer?.status === 200 && typeof answer.body === 'string';
    const list = isList ? (JSON.parse(answer.body as string) as PriceList) : undefined;
    this.#readings.push({ process, at: this.#now(), list });
  }

  /** What the process has read lately: the lowest price of such a server. `isUnasked`: it has not asked. */
  #listedFor(object: VirtualServer, process: object): { listed: number | undefined; isUnasked: boolean } {
    const since = this.#now() - LISTED_MS;
    const lately = this.#readings.filter((one) => one.process === process && one.at >= since);
    const costs = lately.map(({ list }) => listedPrice(object, list));
    const isWhole = costs.length > 0 && costs.every((cost) => cost !== undefined);
    return { listed: isWhole ? Math.min(...costs) : undefined, isUnasked: this.#hasList && lately.length === 0 };
  }

  /** The process is about to claim an order for the object; `cached`: what it sees of the API server. */
  decided(uid: string, cached: readonly VirtualServer[], process: object): void {
    const changes = this.#changesAwake();
    const decision = { uid, process, at: changes.length, isSent: false };
    const earlier = this.#decisions.filter((other) => other.process === process && other.uid !== uid);
    this.#decisions.push(decision);
    if (this.#now() - (this.#api.restoredAt ?? -Infinity) < RESTORED_MS) return;
    const versions = Map.groupBy(changes, ({ object }) => object.metadata.uid);
    const seen = cached.map((object) => versionsSince(object, versions.get(object.metadata.uid) ?? []));
    const prices = pricesOf(seen);
    const own = versionsSince(
      cached.find(({ metadata }) => metadata.uid === uid),
      versions.get(uid) ?? [],
    );
    const [{ object } = { object: undefined }] = own;
    if (object === undefined || own.some((other) => modelOf(other.object) !== modelOf(object))) return;
    const { namespace } = object.metadata;
    const others = seen.filter(([first]) => {
      const metadata = first?.object.metadata;
      return metadata?.namespace === namespace && metadata.uid !== uid;
    });
    const ever = pricesEver(changes);
    const isOpen = (change: ServerChange): boolean => isUnknown(change, ever) || hasUnknownOrphan(change, ever);
    // The one that takes a server over has read its price.
    const givers = new Set(seen.flat().flatMap((one) => recordOf(one.object)?.takenFrom?.uid ?? []));
    const unknown = others.filter(([first, ...later]) => {
      const isGiver = first !== undefined && givers.has(first.object.metadata.uid);
      return first !== undefined && !isGiver && [first, ...later].every(isOpen);
    });
    const sums = sumsOf(others, prices);
    const before = earlier.flatMap((other) => {
      const all = versions.get(other.uid) ?? [];
      if (all[0]?.object.metadata.namespace !== namespace || (sums.get(other.uid) ?? 0) > 0) return [];
      if (this.#decisions.findLast(({ uid: latest }) => latest === other.uid) !== other) return [];
      const later = changes.slice(other.at).filter((change) => change.object.metadata.uid === other.uid);
      const claimed = later.findIndex(holds);
      const since = claimed === -1 ? all.slice(-1) : later.slice(claimed);
      const price = claimed === -1 ? prices.get(modelOf(since[0]?.object)) : leastOf(since, prices);
      return price === undefined || price === 0 ? [] : [{ decision: other, price }];
    });
    const isFirst = ever.get(modelOf(object)) === undefined;
    const { listed, isUnasked } = this.#listedFor(object, process);
    const price = prices.get(modelOf(object)) ?? (isFirst ? listed : undefined);
    const sum = [...sums.values()].reduce((total, one) => total + one, 0);
    this.#cases.push({
      decision,
      name: keyOf(object),
      limit: this.#limitOf(namespace),
      sum,
      price,
      before,
      unknown: unknown.flatMap(([one]) => (one === undefined ? [] : [keyOf(one.object)])),
      isUnasked: isFirst && isUnasked,
    });
    if (isFirst && listed !== undefined) this.judgedByList += 1;
    if (price !== undefined) this.judged += 1;
  }

  /** The process reads the object live, as before each change. */
  looks(process: object, key: string, cached: readonly VirtualServer[]): void {
    this.#looks.set(key, { process, cached: [...cached] });
  }

  /** The process sends a change of a server. */
  changes(process: object, identifier: string, body: { product?: unknown; specs?: object }): void {
    const changes = this.#changesAwake();
    if (body.product === undefined && body.specs === undefined) return;
    if (this.#now() - (this.#api.restoredAt ?? -Infinity) < RESTORED_MS) return;
    const holders = this.#api.servers.list().filter((object) => identifierOf(object) === identifier);
    // Another object may still name the former server with this identifier.
    const holder = holders.length === 1 ? holders[0] : undefined;
    const look = holder && this.#looks.get(keyOf(holder));
    const limit = holder === undefined ? 0 : this.#limitOf(holder.metadata.namespace);
    if (holder === undefined || look?.process !== process || limit === 0) return;
    const { uid, namespace } = holder.metadata;
    const versions = Map.groupBy(changes, ({ object }) => object.metadata.uid);
    const seen = look.cached.map((object) => versionsSince(object, versions.get(object.metadata.uid) ?? []));
    const own = seen.find(([first]) => first?.object.metadata.uid === uid) ?? [];
    if (own.length === 0 || own.some(({ object }) => modelOf(object) !== modelOf(holder))) return;
    const others = seen.filter(([first]) => {
      const metadata = first?.object.metadata;
      return metadata?.namespace === namespace && metadata.uid !== uid;
    });
    const prices = pricesOf(seen);
    const price = prices.get(modelOf(holder));
    const present = Math.max(...own.map(({ object }) => priceInRecord(object)?.amount ?? object.status?.price ?? 0));
    if (price === undefined || price <= present) return;
    this.judgedChanges += 1;
    const sum = [...sumsOf(others, prices).values()].reduce((total, one) => total + one, 0);
    if (sum + price > limit)
      this.#changes.push(
        `the change of ${keyOf(holder)} passes the limit of ${limit}: ${sum} by its cache, and ${price} instead of ${present}`,
      );
  }

  #changesAwake(): readonly ServerChange[] {
    for (const change of this.#api.servers.changes.slice(this.#awake.length))
      this.#awake.push({ ...change, object: this.#asIfAwake(change.object) });
    return this.#awake;
  }

  /** Shows what the server cost awake; no price if the record has none, since it is not known then. */
  #asIfAwake(object: VirtualServer): VirtualServer {
    const { metadata, status } = object;
    if (status?.price === undefined) return object;
    if (!isPriceAsleep(status.price)) {
      this.#lastAwake.set(metadata.uid, status);
      return object;
    }
    const { price: _, ...unpriced } = status;
    const { amount, product, diskSize } = priceInRecord(object) ?? {};
    if (amount === undefined) return { ...object, status: unpriced };
    const kept = { product, specs: { ...status.specs, diskSize }, price: amount };
    // The record may be older than the last read, since etcd was restored.
    const last = isPriceAsleep(amount) ? this.#lastAwake.get(metadata.uid) : kept;
    return { ...object, status: { ...unpriced, ...last } };
  }

  /** The objects that exist, as if no server were dormant. */
  #present(): ServerChange[] {
    const awake = new Map(this.#changesAwake().map(({ object }) => [object.metadata.uid, object]));
    return this.#api.servers.list().map((object) => ({
      object: awake.get(object.metadata.uid) ?? object,
      type: 'MODIFIED',
      deleted: false,
    }));
  }

  get violations(): string[] {
    return [...this.#changes, ...this.#orders()];
  }

  #orders(): string[] {
    return this.#cases.flatMap(({ decision, name, limit, sum, price, before, unknown, isUnasked }) => {
      if (decision.isSent && limit > 0 && isUnasked)
        return [`${name} is ordered as the first of its model, and its process has not read the list of prices`];
      if (decision.isSent && limit > 0 && unknown.length > 0)
        return [
          `${name} is ordered within a limit, although the price of the server of ${unknown.join(', ')} is unknown`,
        ];
      const sent = before.filter((one) => one.decision.isSent).map((one) => one.price);
      const total = sent.reduce((most, one) => most + one, sum);
      const isRight = limit === 0 || (price === undefined ? total < limit : total + price <= limit);
      if (!decision.isSent || isRight) return [];
      return [
        `the order of ${name} passes the limit of ${limit}: ${sum} by its cache and [${sent.join(', ')}] on the way, and ` +
          `${price ?? 'an unknown price'} for this one`,
      ];
    });
  }

  /**
   * Without faults, whether the object may wait for money. Servers that outlived their objects are not known here. A process
   * remembers prices of servers that are gone, and the next one does not.
   */
  mayWait({ metadata, ...object }: VirtualServer, reason: string, hasLeft: boolean): boolean {
    const limit = this.#limitOf(metadata.namespace);
    const present = this.#present().map(withoutAsleep);
    const others = present.filter(
      ({ object: other }) => other.metadata.namespace === metadata.namespace && other.metadata.uid !== metadata.uid,
    );
    const known = pricesOf(present.map((one) => [one]));
    if (limit > 0 && hasLeft) return true;
    if (reason !== 'PriceLimit')
      return (
        limit > 0 &&
        // A change of unknown price may lead to another model than spec asks for by now.
        others.some((other) => isUnknown(other, known) || hasUnknownOrphan(other, known) || hasUnpriced(other.object))
      );
    const prices = pricesEver(this.#changesAwake());
    const sum = others.reduce((total, one) => total + leastOf([one], prices) + missingOf(one, prices), 0);
    const lastList = this.#readings.findLast(({ list }) => list !== undefined)?.list;
    const model = modelOf({ metadata, ...object });
    const listed = listedPrice(object, lastList);
    const costs = [prices.get(model) ?? listed];
    // Once the last server of a model has become another one, only the processes of then know what it cost.
    if (!known.has(model)) costs.push(listed);
    return limit > 0 && costs.some((price) => (price === undefined ? sum >= limit : sum + price > limit));
  }

  #limitOf(namespace: string): number {
    return this.#limits.namespaces[namespace] ?? this.#limits.usual;
  }
}

/** In the lives, each server costs between 3.5 and 31, and 11 % of that while it is dormant. */
const isPriceAsleep = (price: number): boolean => price < 3.5;

/** Every version that a process with this one in its cache may know; none if the cache has one that no log shows. */
function versionsSince(cached: VirtualServer | undefined, all: readonly ServerChange[]): ServerChange[] {
  const from = all.findIndex(({ object }) => object.metadata.resourceVersion === cached?.metadata.resourceVersion);
  return from === -1 ? [] : all.slice(from);
}

function modelOf(object: VirtualServer | undefined): string {
  const { product, diskSize, diskType = 'ssd', ipv4 = false, advanced } = object?.spec ?? {};
  return `${product} ${diskSize} ${diskType} ${ipv4} ${extrasOf(advanced)}`;
}

/** Product, disk in units of so many GB, and address; undefined if the list does not have the product. */
function listedPrice({ spec }: Pick<VirtualServer, 'spec'>, list: PriceList | undefined): number | undefined {
  const { product, diskSize, diskType = 'ssd', ipv4 = false } = spec;
  const [ofProduct, ofDisk] = [list?.products[product], list?.disk[diskType]];
  if (list === undefined || ofProduct === undefined || ofDisk === undefined) return undefined;
  return ofProduct + ofDisk.price * Math.ceil(diskSize / (1024 * ofDisk.extent)) + (ipv4 ? list.ipv4 : 0);
}

/**
 * What the server of an object is, as far as the object shows it. An address may be assigned late. While the server may not have
 * the extras yet that spec asks for, it is like no other.
 */
function modelOfServer(object: VirtualServer, product = '', diskSize = 0): string {
  const { specs, ipv4 = [] } = object.status ?? {};
  const ordered = recordOf(object)?.mode === 'adopt' ? undefined : object.spec;
  const diskType = specs?.diskType ?? ordered?.diskType ?? 'ssd';
  const { extraCores, extraMemory } = priceInRecord(object) ?? {};
  const asked = ordered?.advanced;
  const isShown = [
    [asked?.extraCores, extraCores],
    [asked?.extraMemory, extraMemory],
  ].every(([one, shown]) => one === undefined || shown !== undefined);
  if (!isShown && (object.spec.changePolicy ?? 'Never') !== 'Never') return `of ${object.metadata.uid}`;
  const extras = extrasOf({
    extraCores: extraCores ?? asked?.extraCores,
    extraMemory: extraMemory ?? asked?.extraMemory,
  });
  return `${product} ${diskSize} ${diskType} ${ipv4.length > 0 || ordered?.ipv4 === true} ${extras}`;
}

const extrasOf = ({ extraCores = 0, extraMemory = 0 }: VirtualServer['spec']['advanced'] = {}): string =>
  `${extraCores}+${extraMemory}`;

function holds({ object, deleted }: ServerChange): boolean {
  const { attempt, task, identifier, expiredAt } = recordOf(object) ?? {};
  const isNamed = attempt !== undefined || task !== undefined || identifier !== undefined;
  return !deleted && !isLetGo(object) && expiredAt === undefined && isNamed;
}

/**
 * The price of the very server that the object holds: the higher one while reads do not show an accepted change. Undefined also
 * if that is not known.
 */
function shownPrice({ object }: ServerChange): number | undefined {
  const identifier = identifierOf(object);
  const isShown = identifier !== undefined && mirrorIn(object.status)?.identifier === identifier;
  const shown = isShown && object.status?.serverStatus !== undefined ? object.status.price : undefined;
  const present = shown ?? priceInRecord(object)?.amount;
  if (hasUnpriced(object)) return undefined;
  const prices = [present, ...requestsOf(object).map(({ price }) => price)].filter((price) => price !== undefined);
  return prices.length === 0 ? undefined : Math.max(...prices);
}

/** What the record has of changes that were sent to the server that it names. Earlier versions noted the last one with the change. */
function requestsOf(object: VirtualServer): { price?: number | undefined; isUnpriced?: true | undefined }[] {
  const { identifier, change, changeRequests } = recordOf(object) ?? {};
  return [change, changeRequests].flatMap((note) => (note?.identifier === identifier ? [note ?? {}] : []));
}

const hasUnpriced = (object: VirtualServer): boolean =>
  requestsOf(object).some(({ isUnpriced }) => isUnpriced === true);

function priceInRecord(object: VirtualServer): ServerRecord['price'] {
  const { identifier, price } = recordOf(object) ?? {};
  return identifier !== undefined && price?.identifier === identifier ? price : undefined;
}

/** The provider states no price of the server, or never stated one of it or of another one like it. */
function isUnknown(change: ServerChange, ever: Prices): boolean {
  const { object } = change;
  if (!holds(change) || recordOf(object)?.missingAt !== undefined) return false;
  if (priceInRecord(object)?.unstatedSince !== undefined) return true;
  return shownPrice(change) === undefined && ever.get(modelHeld(object)) === undefined;
}

/** What the server of the object is, if it was only read dormant: that does not change before it is awake. Otherwise what spec orders. */
function modelHeld(object: VirtualServer): string {
  const { product, diskSize } = priceInRecord(object) ?? {};
  return isOnlyAsleep(object) && product !== undefined ? modelOfServer(object, product, diskSize) : modelOf(object);
}

function isOnlyAsleep(object: VirtualServer): boolean {
  const { isDormant, amount } = priceInRecord(object) ?? {};
  return isDormant === true && amount === undefined;
}

/** No price, if the server was only read dormant: it may cost more awake, whether or not this provider asks for more. */
function withoutAsleep(change: ServerChange): ServerChange {
  const { price: _, ...status } = change.object.status ?? {};
  return isOnlyAsleep(change.object) ? { ...change, object: { ...change.object, status } } : change;
}

/** Servers that the object reports. Another object may hold one with an identifier, or have taken over those of a deleted object. */
function orphansOf({ object, deleted }: ServerChange): object[] {
  if (deleted || object.metadata.deletionTimestamp !== undefined) return [];
  return recordOf(object)?.orphans?.filter(({ identifier }) => identifier === undefined) ?? [];
}

const hasUnknownOrphan = (change: ServerChange, ever: Prices): boolean =>
  orphansOf(change).length > 0 && ever.get(modelOf(change.object)) === undefined;

/** The highest price of each model that any object has ever shown. */
function pricesEver(changes: readonly ServerChange[]): Prices {
  const prices = new Map<string, number>();
  for (const { object } of changes) {
    const { product, specs, price } = object.status ?? {};
    const kept = priceInRecord(object);
    const shown = [
      { model: modelOfServer(object, product, specs?.diskSize), price },
      { model: modelOfServer(object, kept?.product, kept?.diskSize), price: kept?.amount },
    ];
    for (const one of shown)
      if (one.price !== undefined) prices.set(one.model, Math.max(one.price, prices.get(one.model) ?? 0));
  }
  return prices;
}

/** The least that the object counts for in any of its versions. */
function leastOf(versions: readonly ServerChange[], prices: Prices): number {
  if (versions.length === 0) return 0;
  /** A server that is gone and whose price no read has told holds up nothing, whatever it was to become. */
  const likeOthers = ({ object }: ServerChange): number =>
    recordOf(object)?.missingAt === undefined ? (prices.get(modelHeld(object)) ?? 0) : 0;
  const of = (change: ServerChange): number =>
    (holds(change) ? (shownPrice(change) ?? likeOthers(change)) : 0) +
    orphansOf(change).length * (prices.get(modelOf(change.object)) ?? 0);
  return Math.min(...versions.map(of));
}

/** What a missing server counts for beyond that, until its object is gone. */
function missingOf(change: ServerChange, prices: Prices): number {
  const isMissing = holds(change) && recordOf(change.object)?.missingAt !== undefined;
  return isMissing && shownPrice(change) === undefined ? (prices.get(modelHeld(change.object)) ?? 0) : 0;
}

/** By uid: the least that each object counts for. A server that was taken over counts for its taker, although its giver is there. */
function sumsOf(seen: readonly (readonly ServerChange[])[], prices: Prices): Map<string | undefined, number> {
  const takenFrom = (versions: readonly ServerChange[]): string[] => {
    const givers = new Set(versions.map(({ object }) => recordOf(object)?.takenFrom?.uid));
    return givers.size > 1 ? [] : [...givers].filter((giver) => giver !== undefined);
  };
  const taken = new Set<string | undefined>(seen.flatMap(takenFrom));
  const uids = seen.map(([first]) => first?.object.metadata.uid);
  return new Map(seen.map((all, index) => [uids[index], taken.has(uids[index]) ? 0 : leastOf(all, prices)]));
}

/** A server that is off because spec.power is Dormant may show what it costs asleep, if the provider shows no periods. */
function mayTellSleep(object: VirtualServer): boolean {
  const { period, otherPeriod, isDormant } = priceInRecord(object) ?? {};
  const isOff = object.spec.power === 'Dormant' && object.status?.serverStatus === 'shut down';
  return isOff && period === undefined && otherPeriod === undefined && isDormant === undefined;
}

/** The highest price of each model among the servers that all of their versions show. */
function pricesOf(seen: readonly (readonly ServerChange[])[]): Prices {
  const prices = new Map<string, number>();
  for (const versions of seen) {
    const taught = versions.map(({ object, deleted }) => {
      const { product, specs, price, serverStatus } = object.status ?? {};
      const isGone = deleted || isLetGo(object) || mirrorIn(object.status)?.missingAt !== undefined;
      const isRead = serverStatus !== undefined && !isGone && holds({ object, deleted, type: 'MODIFIED' });
      return isRead && price !== undefined && !mayTellSleep(object) && !isOnlyAsleep(object)
        ? { model: modelOfServer(object, product, specs?.diskSize), price }
        : undefined;
    });
    const [first] = taught;
    if (first === undefined || taught.some((one) => one?.model !== first.model)) continue;
    const least = Math.min(...taught.map((one) => one?.price ?? 0));
    prices.set(first.model, Math.max(least, prices.get(first.model) ?? 0));
  }
  return prices;
}
