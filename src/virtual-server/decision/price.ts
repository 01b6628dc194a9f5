/**
 * What servers cost, as far as it can be known: the provider states the price of a server that exists, in a unit that it does
 * not state. A provider with a list of prices also lets the operator estimate what a server will cost. Pure.
 */
import { costsIn } from '../../api/change-requests.ts';
import { hasReadServer, isLetGo, isOffOnPurpose, powerStateOf } from '../../api/server-state.ts';
import { mirrorIn, type RecordedPrice, type ServerRecord, type Held } from '../../api/record.ts';
import {
  DEFAULT_DISK_TYPE,
  type Advanced,
  type VirtualServer,
  type VirtualServerSpec,
} from '../../api/virtual-server.ts';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { timestamp } from '../../base/duration.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import { isPrice } from '../../base/price.ts';
import { cut } from '../../base/text.ts';
import { without } from '../../base/without.ts';
import type { PriceList, Server } from '../../provider/types.ts';
import { isWanted } from './change-fields.ts';
import { knownRecord } from './known-record.ts';
import { isProvisioned, serverFields } from './server-status.ts';

/**
 * How old the lists of prices, zones and hosts may be. Few orders and changes need them, and an answer that there is none counts
 * as long (ms).
 */
export const FURTHER_AGE_MS = 10 * 60_000;

/** What the price of a server is looked up by. */
export interface Model {
  product: string;
  diskSize: number;
  /** By default ssd. */
  diskType?: string | undefined;
  /** Whether with an IPv4 address, which costs extra. */
  ipv4?: boolean | undefined;
  /** What is ordered in addition to the product. */
  advanced?: Pick<Advanced, 'extraCores' | 'extraMemory'> | undefined;
}

export interface PricedModel extends Model {
  price: number;
}

/** A server that a namespace has, or is about to order. */
export interface Place extends Model {
  /** Name of the object that has it, or reports it. */
  name?: string | undefined;
  identifier?: string | undefined;
  /** What the provider says, or last said, that this very server costs; of a dormant server, what it costs awake. */
  price?: number | undefined;
  /** In place of `price`: what it costs at least. */
  atLeast?: number | undefined;
  /** For which it is billed, if that is another one than that of an order. */
  period?: string | undefined;
  /**
   * `unstated`: it was read, and the provider states no price of it. `gone`: it is proven not to exist, so no order waits until its
   * price is known. `orphaned`: no object holds it, so only another server like it can tell its price. `unclear`: the same, because the
   * provider has shown the server only dormant, or bills it for a period that may be shorter than an order's.
   */
  state?: 'unstated' | 'gone' | 'orphaned' | 'unclear' | undefined;
  /** What this server, once it is read, teaches about the price of the next one like it. */
  teaches?: PricedModel | undefined;
}

/** In place of a product that is not known: no server has it, so none tells its price. */
export const NO_PRODUCT = '';

/** Text that is the same for two models with the same price. */
export function modelKey({ product, diskSize, diskType = DEFAULT_DISK_TYPE, ipv4 = false, advanced }: Model): string {
  const { extraCores = 0, extraMemory = 0 } = advanced ?? {};
  const extras = extraCores + extraMemory > 0 ? `${extraCores}+${extraMemory} ` : '';
  return `${diskSize} ${diskType} ${ipv4 ? 'ipv4 ' : ''}${extras}${product}`;
}

function extrasOf({ extraCores, extraMemory }: Advanced = {}): Model['advanced'] {
  if ((extraCores ?? extraMemory) === undefined) return undefined;
  return { ...(extraCores !== undefined && { extraCores }), ...(extraMemory !== undefined && { extraMemory }) };
}

/** What an order of this spec asks for, as far as it decides about the price. */
export const modelOf = ({ product, diskSize, diskType, ipv4, advanced }: VirtualServerSpec): Model => ({
  product,
  diskSize,
  diskType,
  ipv4,
  advanced: extrasOf(advanced),
});

/** What decides about the price, in words. */
export function partsOf({ product, diskSize, diskType, ipv4, advanced = {} }: Model): string[] {
  return [
    `product ${product}`,
    `diskSize ${diskSize}`,
    ...(diskType === undefined ? [] : [`diskType ${diskType}`]),
    ...(ipv4 === true ? ['ipv4'] : []),
    ...Object.entries(advanced).map(([field, value]) => `${field} ${value}`),
  ];
}

/** Disk sizes are in MB, and the list of prices has GB. */
const MB_PER_GB = 1024;

/** An estimate by the list of prices: product, disk and IPv4 address. Undefined unless the list has all that the server needs. */
export function listedPrice(
  { product, diskSize, diskType = DEFAULT_DISK_TYPE, ipv4 = false }: Model,
  { products, disks, ipv4: address }: PriceList,
): number | undefined {
  const [ofProduct, disk] = [own(products, product), own(disks, diskType)];
  const ofAddress = ipv4 ? address : 0;
  if (ofProduct === undefined || disk === undefined || ofAddress === undefined) return undefined;
  const units = Math.ceil(diskSize / MB_PER_GB / disk.extent);
  const price = sumOf([ofProduct, units * disk.price, ofAddress]);
  return isPrice(price) ? price : undefined;
}

const own = <T>(values: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(values, key) ? values[key] : undefined;

/**
 * The record with what this read of its server says about the price. While the provider states none, the last one stays, and while
 * the server is dormant, all that it was awake: it may cost less then, and be shown as another product.
 */
export function withPrice({ spec, status }: VirtualServer, record: Held, server: Server, now: number): Held {
  const { identifier, mode } = record;
  const known = recordedPrice(record);
  const shown = shownPrice(status, record);
  const isStated = isPrice(server.price);
  const isDormant = server.isDormant === true;
  const before = mayBeAsleep(known, server) ? undefined : known?.amount;
  // Status may show the price of the dormant server.
  const last = before ?? (isDormant || known?.isDormant === true ? undefined : shown);
  const amount = isStated && !isDormant ? server.price : last;
  const current: Server =
    isDormant && last !== undefined ? { ...server, product: undefined, specs: undefined } : server;
  const { product, specs } = serverFields(current);
  // What was ordered, if the provider does not say what it has made of the order.
  const ordered = mode === 'adopt' ? undefined : spec;
  // After the first read, spec may ask for extras that were not ordered.
  const extras = known === undefined ? ordered?.advanced : known;
  const price: RecordedPrice = {
    ...(known && without(known, ...OF_READ)),
    identifier,
    ...(amount !== undefined && { amount }),
    ...defined('product', product ?? known?.product ?? ordered?.product),
    ...defined('diskSize', specs?.diskSize ?? known?.diskSize ?? ordered?.diskSize),
    ...extrasIn(spec, current, extras),
    ...(isDormant && { isDormant }),
    ...periodIn(record, known, server),
    ...(!isStated && { unstatedSince: known?.unstatedSince ?? timestamp(now) }),
  };
  return isDeepEqual(price, known) ? record : { ...record, price };
}

/** What each read decides again. */
const OF_READ = ['amount', 'unstatedSince', 'isDormant', 'extraCores', 'extraMemory', 'period', 'otherPeriod'] as const;

/** Earlier versions wrote no period, nor that a server is dormant. A provider that shows no period looks the same. */
const isOfEarlier = ({ isDormant, period, otherPeriod }: RecordedPrice): boolean =>
  isDormant === undefined && period === undefined && otherPeriod === undefined;

/**
 * Whether the known price may be that of the dormant server: earlier versions kept it as the price of the server. Where servers show no
 * period, a record of this version looks the same, so the known price stays.
 */
const mayBeAsleep = (known: RecordedPrice | undefined, server: Server): boolean =>
  server.isDormant === true && known !== undefined && isOfEarlier(known) && periodOf(server) !== undefined;

const ON_DEMAND = 'on-demand';
/** As long as the period that orders are paid for, or longer: a server costs no more in that one than in these. */
const LONG = new Set(['month', 'monthly', 'quarter', 'quarterly', 'year', 'yearly', 'annual', 'annually']);
const MAX_PERIOD = 32;

const periodOf = ({ period }: Server): string | undefined => period && cut(period.trim().toLowerCase(), MAX_PERIOD);

/**
 * An order has the first period that its server shows, which may be only after some reads, or after an upgrade. No answer tells how an
 * adopted server was ordered. The plain default is kept too: another one after it is a change.
 */
function periodIn(
  { mode }: Held,
  known: RecordedPrice | undefined,
  server: Server,
): Pick<RecordedPrice, 'period' | 'otherPeriod'> {
  const { period, otherPeriod } = known ?? {};
  const shown = periodOf(server);
  if (shown === undefined) return { ...defined('period', period), ...defined('otherPeriod', otherPeriod) };
  const ordered = period ?? (mode === 'adopt' ? ON_DEMAND : shown);
  if (shown === ordered) return { period: shown };
  return { ...defined('period', period), otherPeriod: shown };
}

/** A read with nothing that the record needs to know about the price. */
export const isPricedPlainly = (server: Server): boolean =>
  isPrice(server.price) && server.isDormant !== true && (periodOf(server) ?? ON_DEMAND) === ON_DEMAND;

/**
 * Of the extras that spec asks for: a change in place may not have brought them yet. Extras that the provider does not show are not
 * changed either, so the server has the ones that it was ordered with.
 */
function extrasIn(
  { advanced = {} }: VirtualServerSpec,
  { specs = {} }: Server,
  before: Model['advanced'] = {},
): Model['advanced'] {
  const extra = <K extends 'extraCores' | 'extraMemory'>(field: K): Partial<Record<K, number>> =>
    advanced[field] === undefined ? {} : defined(field, specs[field] ?? before[field]);
  return { ...extra('extraCores'), ...extra('extraMemory') };
}

const defined = <K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> =>
  value === undefined ? {} : ({ [key]: value } as Record<K, V>);

/** What the record keeps of the price of the server that it names. */
export function recordedPrice(record: ServerRecord | undefined): RecordedPrice | undefined {
  const { identifier, price } = record ?? {};
  return identifier !== undefined && isSameIdentifier(price?.identifier, identifier) ? price : undefined;
}

/** The price that status shows of the server of the record. */
function shownPrice(status: VirtualServer['status'], record: ServerRecord): number | undefined {
  return isShown(status, record) && isPrice(status?.price) ? status.price : undefined;
}

/** An operator that only observes shows a server that the object's own mirror does not name yet. */
function isShown(status: VirtualServer['status'], { identifier, owner }: ServerRecord): boolean {
  const mirror = mirrorIn(status);
  const named = mirror?.identifier ?? (mirror?.owner === owner ? status?.identifier : undefined);
  return named !== undefined && isSameIdentifier(named, identifier) && isProvisioned(status);
}

/** The model and price of the object's server; undefined if not all of it is known. */
export function pricedModel(object: VirtualServer, record = knownRecord(object)): PricedModel | undefined {
  const { product, specs, price } = object.status ?? {};
  const further = furtherOf(object, record);
  if (further === undefined) return undefined;
  const kept = recordedPrice(record);
  if (kept?.otherPeriod !== undefined) return undefined;
  if (mayTellSleep(object, kept)) return undefined;
  // The record is written first: until status is, the price of one read and the model of another do not belong together.
  const mirrored = recordedPrice(mirrorIn(object.status));
  const isOfOneRead = kept === undefined || isDeepEqual(kept, mirrored);
  // What status shows of a dormant server is not what it costs awake.
  const isAwake = hasReadServer(object) && mirrored?.isDormant !== true;
  if (isOfOneRead && isAwake && product !== undefined && specs?.diskSize !== undefined && isPrice(price))
    return { product, diskSize: specs.diskSize, ...further, price };
  const isThere = record?.missingAt === undefined && record?.expiredAt === undefined && !isLetGo(object);
  if (!isThere || kept?.product === undefined || kept.diskSize === undefined || kept.amount === undefined)
    return undefined;
  return { product: kept.product, diskSize: kept.diskSize, ...further, price: kept.amount };
}

/**
 * Whether all that is known of the price may be that of the dormant server: an earlier version has read it last, or one that only
 * observes, which writes no record.
 */
function mayTellSleep(object: VirtualServer, kept: RecordedPrice | undefined): boolean {
  if (kept === undefined) return hasReadServer(object) && powerStateOf(object.status?.serverStatus) === 'off';
  return isOfEarlier(kept) && object.spec.power === 'Dormant' && isOffOnPurpose(object);
}

/**
 * Besides what the server shows counts what was ordered: an address may be assigned late. Of an adopted server, nothing was.
 * Undefined while the server may not have the extras yet that a change in place brings.
 */
function furtherOf(
  { spec, status }: VirtualServer,
  record: ServerRecord | undefined,
): Pick<Model, 'diskType' | 'ipv4' | 'advanced'> | undefined {
  const ordered = record?.mode === 'adopt' ? undefined : spec;
  const hasIpv4 = (status?.ipv4 ?? []).length > 0 || ordered?.ipv4 === true;
  const diskType = status?.specs?.diskType ?? ordered?.diskType ?? DEFAULT_DISK_TYPE;
  const [asked, shown] = [extrasOf(ordered?.advanced), extrasOf(recordedPrice(record))];
  const isShown = Object.keys(asked ?? {}).every((field) => shown !== undefined && Object.hasOwn(shown, field));
  if ((spec.changePolicy ?? 'Never') !== 'Never' && !isShown) return undefined;
  const advanced = asked || shown ? { ...asked, ...shown } : undefined;
  return {
    ...(diskType !== DEFAULT_DISK_TYPE && { diskType }),
    ...(hasIpv4 && { ipv4: true }),
    ...(advanced && { advanced }),
  };
}

/**
 * Each model with its price, by `modelKey`. The highest counts, so that an old, cheaper tariff lets no order pass a limit,
 * and so that a restart finds the same.
 */
export function pricesIn(objects: readonly VirtualServer[]): ReadonlyMap<string, PricedModel> {
  const prices = new Map<string, PricedModel>();
  for (const model of objects.map((object) => pricedModel(object))) {
    if (model !== undefined && model.price >= (prices.get(modelKey(model))?.price ?? 0))
      prices.set(modelKey(model), model);
  }
  return prices;
}

/** The place of an object that holds what the record names, or may come to hold it. */
export function placeOf(object: VirtualServer, record: ServerRecord | undefined): Place {
  const { metadata, spec, status } = object;
  const kept = recordedPrice(record);
  const shown = record && shownPrice(status, record);
  const costs = costsIn(record);
  // One of the first two may be outdated: the record after an earlier version was at work, the status after a crash.
  const prices = [kept?.amount, shown, ...costs.map((cost) => cost.price)].filter((price) => price !== undefined);
  const unpriced = costs.filter(({ isUnpriced }) => isUnpriced);
  // What was sent may be another model than the one that spec asks for by now, of which the price may be known.
  const isUnknown = unpriced.some(({ change }) => change === undefined || !isWanted(change, spec));
  const period = kept?.otherPeriod;
  const isAsleep = (kept?.isDormant === true && kept.amount === undefined) || mayTellSleep(object, kept);
  const isUnclear = isAsleep || (period !== undefined && !LONG.has(period));
  const most = prices.length > 0 && unpriced.length === 0 ? Math.max(...prices) : undefined;
  const price = isUnclear ? undefined : most;
  const isUnstated =
    kept === undefined
      ? record !== undefined && isShown(status, record) && prices.length === 0
      : kept.unstatedSince !== undefined;
  const isThere = record?.missingAt === undefined;
  const state = isThere ? (isUnstated ? 'unstated' : isUnclear ? 'unclear' : undefined) : 'gone';
  const { identifier } = record ?? {};
  const held = isUnclear ? modelShown(object, record) : modelOf(spec);
  const model = isUnknown ? { ...held, product: NO_PRODUCT } : held;
  const teaches = pricedModel(object, record);
  const least = isUnclear ? { atLeast: most } : {};
  return { name: metadata.name, identifier, ...model, price, ...least, ...(period && { period }), state, teaches };
}

/** What a server was shown as, whatever spec asks for: a dormant one becomes that. What spec orders, if nothing was shown. */
function modelShown(object: VirtualServer, record: ServerRecord | undefined): Model {
  const ordered = modelOf(object.spec);
  const kept = recordedPrice(record);
  if (kept === undefined) return ordered;
  const further = furtherOf(object, record);
  if (further === undefined) return { ...ordered, product: NO_PRODUCT };
  const { product = ordered.product, diskSize = ordered.diskSize } = kept;
  return { product, diskSize, ...further };
}

/** The servers that the object reports, and that no object holds. What was ordered is what the object orders. */
export function orphanPlacesOf({ metadata: { name }, spec }: VirtualServer, record: ServerRecord | undefined): Place[] {
  return (record?.orphans ?? []).map(({ identifier }) => ({ name, identifier, ...modelOf(spec), state: 'orphaned' }));
}

/** Enough for hourly prices. */
const DECIMALS = 6;

/** Binary sums of decimals: 0.1 and 0.2 are 0.3, not 0.30000000000000004. */
export function sumOf(prices: readonly number[]): number {
  return Number(prices.reduce((before, price) => before + price, 0).toFixed(DECIMALS));
}

/** With two decimals, or more if the price has more. */
export function priceText(price: number): string {
  return price.toFixed(DECIMALS).replace(/(\.\d\d\d*?)0+$/, '$1');
}
