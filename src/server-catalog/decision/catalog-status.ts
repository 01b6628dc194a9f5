/** Turns the provider's lists, or the reason why they are missing, into the status of a ServerCatalog. Pure. */
import type { Missing } from '../../accounts/decision/failure.ts';
import { durationMs, timestamp } from '../../base/duration.ts';
import { withVerdict } from '../../controller/conditions.ts';
import { hasTrait } from '../../api/conditions.ts';
import { RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import {
  CATALOG_BOUNDS,
  MAX_DISK_TYPES,
  MAX_ENTRIES,
  type ServerCatalog,
  type Orders,
  type ServerCatalogStatus,
  type ServerList,
} from '../../api/server-catalog.ts';
import { priceListIn } from '../../api/price-list.ts';
import { serversOf, type ServersRead } from './listed-servers.ts';
import type { Catalog, FurtherRead, OrdersGo, PriceList, Zone } from '../../provider/types.ts';
import { cut } from '../../base/text.ts';
import type { Result } from '../../base/result.ts';

type CatalogLists = {
  [K in 'products' | 'images' | 'diskSizes' | 'counts']: NonNullable<ServerCatalogStatus[K]>;
} & Pick<ServerCatalogStatus, 'zones' | 'prices'>;

/** What a read has found, or why it found nothing. */
export type Reading = Result<Read, Missing>;

interface Read {
  catalog: Catalog;
  serverList: ServerList;
  zones: FurtherRead<readonly Zone[]>;
  prices: FurtherRead<PriceList>;
  ordersGo: OrdersGo;
  /** With spec.listServers, if the list could be read. */
  servers?: ServersRead | undefined;
}

/** `now` in ms since the epoch. A status that equals the present one need not be written. */
export function catalogStatus(object: ServerCatalog, reading: Reading, now: number): ServerCatalogStatus {
  const { generation } = object.metadata;
  const present = object.status ?? {};
  const conditions = present.conditions ?? [];
  const request = requestOf(object) ?? present.lastHandledReconcileAt;
  const handled = request === undefined ? {} : { lastHandledReconcileAt: request };
  if (reading.ok) {
    const { catalog, serverList, servers, zones, ordersGo, prices } = reading.value;
    const { shapes } = catalog;
    const last = present.observedGeneration === generation ? present : {};
    const lists = withZones(listsOf(catalog, isLost(prices) ? priceListIn(last) : prices.list), zones, last);
    const same = present.observedAt !== undefined && textOf(present) === textOf(lists);
    return {
      ...lists,
      ...(shapes && {
        provider: {
          ...{ productList: shapes.products, imageList: shapes.images },
          ...{ serverList, zoneList: zones.state, priceList: prices.state, orders: ORDERS[ordersGo] },
        },
      }),
      ...serversIn(object, serverList, servers, now),
      observedAt: same ? present.observedAt : timestamp(now),
      ...handled,
      observedGeneration: generation,
      conditions: withVerdict(
        conditions,
        {
          reason: 'Available',
          message: summary(lists) + (serverList === 'Forbidden' ? UNLISTED : '') + (REMARKS[ordersGo] ?? ''),
        },
        generation,
        now,
      ),
    };
  }
  // Lists belong to the spec that they were read for: another spec may name another account.
  const current = present.observedGeneration === generation;
  // While the provider is unreachable, its last lists are still the best that is known. A failing key is another
  // matter.
  const keepsReady = current && !hasTrait(reading.error.reason, 'aboutKey') && !REFUSED.has(reading.error.reason);
  const before = keepsReady
    ? conditions
    : conditions.filter(({ type, status }) => type !== 'Ready' || status !== 'True');
  return {
    ...(current && listsIn(present)),
    ...(current && lastServersIn(present)),
    ...(current && present.provider !== undefined && { provider: present.provider }),
    ...(current && present.observedAt !== undefined && { observedAt: present.observedAt }),
    ...handled,
    observedGeneration: generation,
    conditions: withVerdict(before, reading.error, generation, now),
  };
}

/** The last list stays while only the read of it fails, so that its servers keep the times from which they were unheld. */
function serversIn(
  { metadata, spec, status = {} }: ServerCatalog,
  serverList: ServerList,
  servers: ServersRead | undefined,
  now: number,
): Pick<ServerCatalogStatus, 'servers' | 'serverCounts'> {
  if (spec.listServers !== true) return {};
  // Another spec may name another account.
  const isCurrent = status.observedGeneration === metadata.generation;
  const before = isCurrent ? status.servers : undefined;
  if (servers !== undefined) return serversOf(servers, { namespace: metadata.namespace, before, now });
  return isCurrent && serverList === 'Unknown' ? lastServersIn(status) : {};
}

const lastServersIn = ({
  servers,
  serverCounts,
}: ServerCatalogStatus): Pick<ServerCatalogStatus, 'servers' | 'serverCounts'> => ({
  ...(servers && { servers }),
  ...(serverCounts && { serverCounts }),
});

const UNLISTED = '. The API key may not list servers, so no list can confirm that a server is gone';

const ORDERS: Record<OrdersGo, Orders> = {
  named: 'Named',
  anonymous: 'Anonymous',
  refused: 'Anonymous',
  unknown: 'Unknown',
};

/** What the message of Ready adds. */
const REMARKS: Partial<Record<OrdersGo, string>> = {
  refused:
    '. The provider lists servers, but has refused an order under an identifier, so orders go without one: if an answer is lost, ' +
    'the object asks you',
  unknown:
    '. New orders wait: with --orders=auto, the list of servers decides which way orders go, and it cannot be read. If this ' +
    'persists, start the operator with --orders=anonymous',
};

/** The provider refuses the key's calls, so its last lists may no longer be for this key. */
const REFUSED = new Set<string>(['Unauthorized', 'PermissionDenied']);

/** True if you requested a read that has not been made since, before or after a restart. */
export function isRequested(object: ServerCatalog): boolean {
  const request = requestOf(object);
  return request !== undefined && request !== object.status?.lastHandledReconcileAt;
}

/** The request as status stores it once handled; undefined if there is none. */
function requestOf({ metadata }: ServerCatalog): string | undefined {
  const value = metadata.annotations?.[RECONCILE_AT_ANNOTATION];
  return value === undefined ? undefined : cut(value, CATALOG_BOUNDS.text);
}

/** Equal for equal lists; the API server returns fields in a different order. */
function textOf({
  products = [],
  images = [],
  diskSizes = [],
  zones = [],
  counts,
  prices,
}: ServerCatalogStatus): string {
  return JSON.stringify([
    products.map(({ code, ram, period, price }) => [code, ram, period, price]),
    [prices?.ipv4, prices?.disks.map(({ type, price, extent }) => [type, price, extent])],
    images.map(({ name, description }) => [name, description]),
    diskSizes.map(({ type, sizes }) => [type, sizes]),
    zones.map(({ code, description }) => [code, description]),
    [counts?.products, counts?.images, counts?.diskSizes, counts?.zones],
  ]);
}

function listsIn({ products, images, diskSizes, zones, counts, prices }: ServerCatalogStatus): Partial<CatalogLists> {
  return {
    ...(products && { products }),
    ...(images && { images }),
    ...(diskSizes && { diskSizes }),
    ...(zones && { zones }),
    ...(counts && { counts }),
    ...(prices && { prices }),
  };
}

/**
 * Sorts the lists, so that a provider that reorders them changes nothing, and so that the same entries are kept when
 * there are too many. Leaves out entries that cannot be stored unchanged, since they could not be ordered either.
 */
function listsOf(catalog: Catalog, prices: PriceList | undefined): CatalogLists {
  const products = catalog.products
    .filter(({ code }) => isName(code))
    .map(({ code, ram, period }) => {
      const price = prices && Object.hasOwn(prices.products, code) ? prices.products[code] : undefined;
      return {
        code,
        ...(ram !== undefined && { ram }),
        ...(period !== undefined && isName(period) && { period }),
        ...(price !== undefined && { price }),
      };
    })
    .sort((a, b) => (a.ram ?? 0) - (b.ram ?? 0) || byText(a.code, b.code));
  const images = catalog.images
    .filter(({ name }) => isName(name))
    .map(({ name, description }) => ({
      name,
      ...(description !== undefined && { description: cut(description, CATALOG_BOUNDS.text) }),
    }))
    .sort((a, b) => byText(a.name, b.name) || byText(a.description ?? '', b.description ?? ''));
  const diskSizes = Object.entries(catalog.diskSizes)
    .filter(([type]) => isName(type, CATALOG_BOUNDS.diskType))
    .map(([type, sizes]) => ({ type, sizes: ascending(sizes.filter((size) => size > 0)) }))
    .sort((a, b) => byText(a.type, b.type));
  return {
    products: products.slice(0, MAX_ENTRIES),
    images: images.slice(0, MAX_ENTRIES),
    diskSizes: diskSizes
      .slice(0, MAX_DISK_TYPES)
      .map(({ type, sizes }) => ({ type, sizes: sizes.slice(0, MAX_ENTRIES) })),
    counts: { products: products.length, images: images.length, diskSizes: sizesIn(diskSizes) },
    ...(prices && { prices: shownPrices(prices) }),
  };
}

/** The read failed, and none before it has succeeded: what the status had stays. */
const isLost = ({ state, list }: FurtherRead<unknown>): boolean => state === 'Unknown' && list === undefined;

function withZones(
  lists: CatalogLists,
  read: Read['zones'],
  last: Pick<ServerCatalogStatus, 'zones' | 'counts'>,
): CatalogLists {
  const { zones, counts } = isLost(read) ? last : zonesOf(read.list);
  if (zones === undefined) return lists;
  return { ...lists, zones, counts: { ...lists.counts, zones: counts?.zones } };
}

function zonesOf(read: readonly Zone[] | undefined): Pick<CatalogLists, 'zones'> & { counts?: { zones: number } } {
  if (read === undefined) return {};
  const zones = read
    .filter(({ code }) => isName(code))
    .map(({ code, description }) => ({
      code,
      ...(description !== undefined && { description: cut(description, CATALOG_BOUNDS.text) }),
    }))
    .sort((a, b) => byText(a.code, b.code));
  return { zones: zones.slice(0, MAX_ENTRIES), counts: { zones: zones.length } };
}

function shownPrices({ disks, ipv4 }: PriceList): NonNullable<ServerCatalogStatus['prices']> {
  const shown = Object.entries(disks)
    .filter(([type]) => isName(type, CATALOG_BOUNDS.diskType))
    .map(([type, { price, extent }]) => ({ type, price, extent }))
    .sort((a, b) => byText(a.type, b.type))
    .slice(0, MAX_DISK_TYPES);
  return { ...(ipv4 !== undefined && { ipv4 }), disks: shown };
}

/** Each size once. A typed array sorts a very long list much faster, because it calls no function per comparison. */
function ascending(sizes: readonly number[]): number[] {
  const sorted = [...Float64Array.from(sizes).sort()];
  return sorted.filter((size, index) => size !== sorted[index - 1]);
}

/** The message of Ready: how many entries there are, and how many of them are in status if those are fewer. */
function summary({ products, images, diskSizes, zones, counts }: CatalogLists): string {
  const part = (what: string, total: number, here: number): string =>
    `${total} ${what}${here < total ? ` (status lists the first ${here})` : ''}`;
  return [
    part('products', counts.products, products.length),
    part('images', counts.images, images.length),
    part('disk sizes', counts.diskSizes, sizesIn(diskSizes)),
    ...(zones === undefined ? [] : [part('zones', counts.zones ?? zones.length, zones.length)]),
  ].join(', ');
}

const sizesIn = (types: readonly { sizes: readonly number[] }[]): number =>
  types.reduce((sum, { sizes }) => sum + sizes.length, 0);

const isName = (text: string, bound: number = CATALOG_BOUNDS.text): boolean => text !== '' && cut(text, bound) === text;

/** Compares code units: the order must not depend on where the operator runs. */
function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const SHORTEST_MS = 5 * 60_000;

/** spec.refreshInterval in ms; the CRD has checked its format and its minimum. */
export function refreshMs({ spec }: ServerCatalog): number {
  return Math.max(SHORTEST_MS, durationMs(spec.refreshInterval));
}
