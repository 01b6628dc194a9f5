/**
 * What a namespace may order: so many servers (`--max-servers-per-namespace`), for so much money
 * (`--max-price-per-namespace`), and so many orders an hour.
 */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { identifierKey } from '../../base/identifier.ts';
import { OwnedIndex } from '../../base/owned-index.ts';
import { Recent } from '../../base/recent.ts';
import type { PriceList } from '../../provider/types.ts';
import { knownRecord, ordersIn, sourceKey } from '../decision/known-record.ts';
import type { Journal } from '../journal/journal.ts';
import { modelKey, NO_PRODUCT, sumOf, type Model, type Place, type PricedModel } from '../decision/price.ts';

const HOUR_MS = 60 * 60_000;

/** A place or an order that a visit reserves. The visit releases it at its end unless it keeps it. */
export interface Reservation {
  release: () => void;
}

/** The place of one order in the hour. */
export interface HourlyPlace extends Reservation {
  /** The order is about to be sent: it keeps its place for an hour, whatever becomes of its object. */
  sent: (attempt: string, now: number) => void;
}

/** What the limits have granted to one order. */
export interface OrderTerms {
  hourly: HourlyPlace;
  /** The provider's list of prices, if the limits needed it. */
  prices: PriceList | undefined;
  /** What the server will cost; undefined: unknown. */
  expectedPrice: number | undefined;
}

/** An order that may have been sent, in whichever process. */
export interface PastOrder {
  namespace: string;
  attempt: string;
  /** RFC 3339; when the order was claimed. */
  attemptedAt?: string | undefined;
}

/** Stops runaway loops: limits the orders of a namespace per hour. */
export class CreateLimit {
  readonly #perHour: number;
  /** Namespace -> attempt, or uid of an object that is about to order -> when that was (ms, on a clock that only moves forward). */
  readonly #places = new Map<string, Map<string, number>>();

  /** `perHour` 0: no limit. */
  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /** A new process counts what earlier ones have ordered within the last hour. */
  recall(orders: Iterable<PastOrder>, { now, monotonic }: { now: number; monotonic: number }): void {
    if (this.#perHour === 0) return;
    const recent = [...orders].flatMap(({ attemptedAt = '', ...order }) => {
      // The clock of another machine may be ahead.
      const ageMs = Math.max(0, now - Date.parse(attemptedAt));
      const isRecent = Math.abs(now - Date.parse(attemptedAt)) < HOUR_MS;
      return isRecent ? [{ ...order, at: monotonic - ageMs }] : [];
    });
    for (const { namespace, attempt, at } of recent.sort((a, b) => a.at - b.at)) this.#put(namespace, attempt, at);
  }

  /** Reserves one create for the object, or reserves nothing and returns the ms until one is free. */
  reserve(namespace: string, uid: string, now: number): HourlyPlace | { freeInMs: number } {
    let key = uid;
    const free = (): void => void this.#places.get(namespace)?.delete(key);
    if (this.#perHour === 0) return { release: free, sent: () => undefined };
    this.#forgetIdle(now);
    const places = this.#places.get(namespace) ?? new Map<string, number>();
    for (const [holder, at] of places) if (now - at >= HOUR_MS || holder === uid) places.delete(holder);
    const [leaving] = [...places.values()].sort((a, b) => a - b).slice(Math.max(0, places.size - this.#perHour));
    if (places.size >= this.#perHour && leaving !== undefined) return { freeInMs: leaving + HOUR_MS - now };
    this.#put(namespace, uid, now);
    const sent = (attempt: string, at: number): void => {
      free();
      key = attempt;
      this.#put(namespace, attempt, at);
    };
    return { release: free, sent };
  }

  /** This order is about to be sent again. It counts once, from now on. */
  again(namespace: string, attempt: string, now: number): void {
    if (this.#perHour > 0) this.#put(namespace, attempt, now);
  }

  /** Keeps the namespace with the latest order last. */
  #put(namespace: string, key: string, at: number): void {
    const places = this.#places.get(namespace) ?? new Map<string, number>();
    this.#places.delete(namespace);
    this.#places.set(namespace, places.set(key, at));
  }

  /** Namespaces come and go, so one without an order in the last hour is forgotten. */
  #forgetIdle(now: number): void {
    for (const [namespace, places] of this.#places) {
      if ([...places.values()].some((at) => now - at < HOUR_MS)) return;
      this.#places.delete(namespace);
    }
  }
}

/** What is stored about orders: in the records of the objects, and in the journal also of objects that are gone. */
export function pastOrders(
  objects: readonly VirtualServer[],
  journal: Pick<Journal, 'uids' | 'entries' | 'ended'>,
): PastOrder[] {
  const noted = journal.uids().flatMap((uid) => journal.entries(uid));
  const unsent = new Set(noted.filter(({ state }) => state === 'minted').map(({ attempt }) => attempt));
  const recorded = objects.flatMap((object) => {
    const { namespace } = object.metadata;
    return ordersIn(knownRecord(object)).map((order) => ({ ...order, namespace }));
  });
  const claimed = [...noted, ...journal.ended].map(({ mintedAt, ...entry }) => ({ ...entry, attemptedAt: mintedAt }));
  return [...claimed, ...recorded].filter(({ attempt }) => !unsent.has(attempt));
}

/** A sum in the provider's own unit; 0 means no limit. */
export interface PriceLimits {
  /** For each namespace that is not in `namespaces`. */
  usual: number;
  namespaces: Readonly<Record<string, number>>;
}

const NO_PRICE_LIMITS: PriceLimits = { usual: 0, namespaces: {} };

/** Why a namespace has no place for one more server. */
export type Full =
  | { full: 'servers'; maximum: number }
  /**
   * `sum`: of the known prices in the namespace. `price`: what one more server costs, if that is known. `isListed`: the price is
   * an estimate by the provider's list of prices. `otherPeriods`: names of the objects whose servers are billed for other periods.
   */
  | { full: 'price'; maximum: number; sum: number; price: number | undefined; isListed?: true; otherPeriods?: string[] }
  | NoSum;

/** The sum is not known, because the servers of the objects `names` have no known price. */
export interface NoSum {
  /**
   * `unstated`: the provider states none. `orphaned`: no object reads them. `unclear`: they were never read awake, or are billed for
   * another period. `unread`: the operator has not read them yet.
   */
  full: 'unstated' | 'orphaned' | 'unclear' | 'unread';
  maximum: number;
  names: string[];
}

/** What an order asks a place for. */
export interface Wanted extends Model {
  /** Name of its object. */
  name?: string;
  /** What it costs by the provider's list of prices, if there is one. Such a list can only hold an order back: its unit is not stated. */
  listed?: number | undefined;
}

/** What an object takes of the limits of its namespace. */
interface Taken {
  uid: string;
  place: Place | undefined;
  orphans: readonly Place[];
}

/** Counts the servers that each namespace has or is about to order, and what they cost. */
export class ServerQuota {
  readonly #perNamespace: number;
  readonly #prices: PriceLimits;
  readonly #isOff: boolean;
  readonly #learned = new LearnedPrices();
  /** By namespace: what its objects take. */
  readonly #taken = new OwnedIndex<string, Taken>();
  /** By `sourceKey` of an object whose server another one has taken over: that object no longer takes a place. */
  readonly #takers = new OwnedIndex<string, true>();
  /** By identifier: the servers that objects hold. */
  readonly #held = new OwnedIndex<string, true>();
  /** By uid: the place that a visit is about to fill with an order, or with a server that it changes. */
  readonly #reserved = new Map<string, Place & { namespace: string; isOfChange?: true }>();
  /** By identifier: servers without an object, in the namespace that ordered or adopted them. */
  readonly #left = new Map<string, Place & { namespace: string }>();

  /** `perNamespace` 0: no limit. */
  constructor(perNamespace: number, prices: PriceLimits = NO_PRICE_LIMITS) {
    this.#perNamespace = perNamespace;
    this.#prices = prices;
    this.#isOff = perNamespace === 0 && [prices.usual, ...Object.values(prices.namespaces)].every((most) => most === 0);
  }

  /**
   * `place`: what the newest version of the object holds, or may come to hold; undefined: nothing. `orphans`: servers that it
   * reports, and that no object holds. `takes`: the `sourceKey` of the object whose server this one has taken over.
   */
  set(
    namespace: string,
    uid: string,
    place: Place | undefined,
    { orphans = [], takes }: { orphans?: readonly Place[]; takes?: string | undefined } = {},
  ): void {
    if (this.#isOff) return;
    this.#learned.set(uid, place?.teaches);
    const isNone = place === undefined && orphans.length === 0;
    this.#taken.put(uid, isNone ? [] : [[namespace, { uid, place, orphans }]]);
    this.#takers.put(uid, takes === undefined ? [] : [[takes, true]]);
    const identifier = place?.identifier;
    this.#held.put(uid, identifier === undefined ? [] : [[identifierKey(identifier), true]]);
    if (identifier !== undefined) this.#left.delete(identifierKey(identifier));
  }

  /**
   * An object of the namespace was released without this server. The server keeps its place until an object holds it again.
   */
  left(namespace: string, name: string, place: Place): void {
    const { identifier } = place;
    if (this.#isOff || (identifier !== undefined && this.#held.has(identifierKey(identifier)))) return;
    this.#left.set(identifier === undefined ? name : identifierKey(identifier), { ...place, namespace });
  }

  /** Reserves a place for the object until it holds something, or returns why there is no place. */
  reserve(namespace: string, uid: string, { listed, ...wanted }: Wanted): Reservation | Full {
    const reservation = { release: () => this.#reserved.delete(uid) };
    if (this.#isOff) return reservation;
    const others = this.#others(namespace, uid);
    const full = this.#fullByNumber(others) ?? this.#fullByPrice(namespace, others, { ...wanted, listed });
    if (full !== undefined) return full;
    this.#reserved.set(uid, { ...wanted, namespace });
    return reservation;
  }

  /**
   * Reserves what the server of the object will cost after a change, or returns why there is no room. `present`: what it costs
   * now, as the provider states it and by the list of prices. A change that makes it no dearer needs no room.
   */
  reserveChange(
    namespace: string,
    uid: string,
    { listed, ...wanted }: Wanted,
    present: { price: number | undefined; listed?: number | undefined },
  ): (Reservation & { price: number | undefined }) | Full {
    const known = this.#learned.of(wanted);
    const price = known ?? listed;
    const reservation = { release: () => this.#reserved.delete(uid), price };
    // The unit of the list is not stated, so its prices are compared with each other only.
    const [before, after] = known === undefined ? [present.listed, listed] : [present.price, known];
    if (this.#isOff || (before !== undefined && after !== undefined && after <= before)) return reservation;
    const full = this.#fullByPrice(namespace, this.#others(namespace, uid), { ...wanted, listed });
    if (full !== undefined) return full;
    this.#reserved.set(uid, { ...wanted, price, namespace, isOfChange: true });
    return reservation;
  }

  /** Whether the provider's list of prices decides about such an order: the money is limited, and no server has told the price. */
  needsList(namespace: string, model: Model): boolean {
    return this.#maximumOf(namespace) > 0 && this.#learned.of(model) === undefined;
  }

  /** What such a server is expected to cost by those that were read; undefined if unknown, or if nothing is limited. */
  expectedPrice(model: Model): number | undefined {
    return this.#learned.of(model);
  }

  /** 0: no limit. */
  #maximumOf(namespace: string): number {
    const { usual, namespaces } = this.#prices;
    return Object.hasOwn(namespaces, namespace) ? (namespaces[namespace] ?? usual) : usual;
  }

  /** The places in the namespace that this object does not take. */
  #others(namespace: string, uid: string): Place[] {
    const isHere = (place: { namespace: string }): boolean => place.namespace === namespace;
    const reserved = [...this.#reserved].filter(([, place]) => isHere(place));
    const isTaken = (taken: Taken): boolean => this.#takers.has(sourceKey({ namespace, uid: taken.uid }));
    const taken = [...this.#taken.of(namespace).values()].filter((one) => !isTaken(one));
    const held = taken.flatMap((one) => (one.place === undefined ? [] : [[one.uid, one.place] as const]));
    const byUid = new Map<string, Place>([...reserved, ...held]);
    // A server that is about to be changed counts with the higher one of two prices, which may both be unknown.
    for (const [changed, place] of reserved.filter(([, { isOfChange }]) => isOfChange === true)) {
      const held = byUid.get(changed) ?? place;
      const [present, later] = [this.#priceOf(held), this.#priceOf(place)];
      const isKnown = present !== undefined && later !== undefined;
      const most = isKnown ? { price: Math.max(present, later) } : { price: undefined, product: NO_PRODUCT };
      byUid.set(changed, { ...held, ...place, ...most });
    }
    byUid.delete(uid);
    // They cost money besides what the object itself holds or orders.
    const orphans = taken.flatMap((one) => one.orphans).filter((orphan) => !this.#isHeld(orphan));
    return [...byUid.values(), ...orphans, ...[...this.#left.values()].filter(isHere)];
  }

  #isHeld({ identifier }: Place): boolean {
    return identifier !== undefined && this.#held.has(identifierKey(identifier));
  }

  #fullByNumber(others: readonly Place[]): Full | undefined {
    const isFull = this.#perNamespace > 0 && others.length >= this.#perNamespace;
    return isFull ? { full: 'servers', maximum: this.#perNamespace } : undefined;
  }

  /** Whether the prices of this namespace's servers count. */
  limitsPrices(namespace: string): boolean {
    return this.#maximumOf(namespace) > 0;
  }

  /** What the server of a place costs, or another one like it. */
  #priceOf(place: Place): number | undefined {
    return place.price ?? atLeast(place, this.#learned.of(place));
  }

  #fullByPrice(namespace: string, others: readonly Place[], { listed, ...wanted }: Wanted): Full | undefined {
    const maximum = this.#maximumOf(namespace);
    if (maximum === 0) return undefined;
    const sum = sumOf(others.map((other) => this.#priceOf(other) ?? other.atLeast ?? 0));
    const learned = this.#learned.of(wanted);
    const price = learned ?? listed;
    const isOver = price !== undefined && sumOf([sum, price]) > maximum;
    // The list never lets an order pass that would have to wait without it.
    const isFull = isOver || (learned === undefined && sum >= maximum);
    const isListed = learned === undefined && listed !== undefined;
    const otherPeriods = namesOf(others.filter(({ period }) => period !== undefined));
    const notes = { ...(isListed && { isListed }), ...(otherPeriods.length > 0 && { otherPeriods }) };
    if (isFull) return { full: 'price', maximum, sum, price, ...notes };
    // What is not known may cost anything. The first server of a model is ordered to learn its price.
    const unstated = others.filter(({ state }) => state === 'unstated');
    if (unstated.length > 0) return { full: 'unstated', maximum, names: namesOf(unstated) };
    const unknown = others.filter((other) => other.state !== 'gone' && this.#priceOf(other) === undefined);
    for (const full of ['orphaned', 'unclear'] as const) {
      const some = unknown.filter(({ state }) => state === full);
      if (some.length > 0) return { full, maximum, names: namesOf(some) };
    }
    return unknown.length > 0 ? { full: 'unread', maximum, names: namesOf(unknown) } : undefined;
  }
}

const atLeast = ({ atLeast: least = 0 }: Place, price: number | undefined): number | undefined =>
  price === undefined ? undefined : Math.max(price, least);

const namesOf = (places: readonly Place[]): string[] => [...new Set(places.flatMap(({ name }) => name ?? []))].sort();

/** How many models whose servers are all gone keep their price. */
const REMEMBERED = 1024;

/**
 * The highest price of each model among the servers that were read, in whichever namespace (like `pricesIn`). When the last of
 * them is gone, its price stays the expected one for the life of the process.
 */
class LearnedPrices {
  /** By model: the prices of servers that were read. */
  readonly #prices = new OwnedIndex<string, number>();
  /** By uid. */
  readonly #models = new Map<string, PricedModel>();
  /** By model; no entry: not looked up since it changed. */
  readonly #highest = new Map<string, number>();
  /** By model: the price of the server that was the last one. */
  readonly #last = new Recent<string, number>(REMEMBERED);

  set(uid: string, model: PricedModel | undefined): void {
    const before = this.#models.get(uid);
    const keyOf = (one: Model | undefined): string | undefined => one && modelKey(one);
    if (before?.price === model?.price && keyOf(before) === keyOf(model)) return;
    this.#prices.put(uid, model === undefined ? [] : [[modelKey(model), model.price]]);
    if (model === undefined) this.#models.delete(uid);
    else this.#models.set(uid, model);
    for (const changed of [before, model]) if (changed !== undefined) this.#highest.delete(modelKey(changed));
    if (before !== undefined && !this.#prices.has(modelKey(before))) this.#last.set(modelKey(before), before.price);
  }

  /** Undefined if the price of no server of this model is known. */
  of(model: Model): number | undefined {
    const key = modelKey(model);
    if (!this.#prices.has(key)) return this.#last.get(key);
    const known = this.#highest.get(key);
    const highest = known ?? [...this.#prices.of(key).values()].reduce((most, price) => Math.max(most, price), 0);
    this.#highest.set(key, highest);
    return highest;
  }
}
