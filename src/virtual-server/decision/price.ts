/**
 * What servers cost, as far as it can be known: the provider states a price only of a server that exists, in a unit that it
 * does not state, and its lists have none. Pure.
 */
import { hasReadServer } from '../../api/server-state.ts';
import { mirrorIn, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isPrice, isProvisioned } from './status.ts';

/** What the price of a server is looked up by. */
export interface Model {
  product: string;
  diskSize: number;
}

export interface PricedModel extends Model {
  price: number;
}

/** A server that a namespace has, or is about to order. */
export interface Place extends Model {
  /** What the provider says that this very server costs. */
  price?: number | undefined;
  /** What this server, once it is read, teaches about the price of the next one like it. */
  teaches?: PricedModel | undefined;
}

/** Text that is the same for two models with the same price. */
export const modelKey = ({ product, diskSize }: Model): string => `${diskSize} ${product}`;

/** The model and price of the object's server; undefined if the provider does not show all of it. */
export function pricedModel(object: VirtualServer): PricedModel | undefined {
  const { product, specs, price } = object.status ?? {};
  if (!hasReadServer(object) || product === undefined || specs?.diskSize === undefined) return undefined;
  return isPrice(price) ? { product, diskSize: specs.diskSize, price } : undefined;
}

/**
 * Each model with its price, by `modelKey`. The highest counts, so that an old, cheaper tariff lets no order pass a limit,
 * and so that a restart finds the same.
 */
export function pricesIn(objects: readonly VirtualServer[]): ReadonlyMap<string, PricedModel> {
  const prices = new Map<string, PricedModel>();
  for (const model of objects.map(pricedModel)) {
    if (model !== undefined && model.price >= (prices.get(modelKey(model))?.price ?? 0))
      prices.set(modelKey(model), model);
  }
  return prices;
}

/** The place of an object that holds what the record names, or may come to hold it. */
export function placeOf(object: VirtualServer, record: ServerRecord | undefined): Place {
  const { spec, status } = object;
  const isShown = record?.identifier !== undefined && mirrorIn(status)?.identifier === record.identifier;
  const shown = isShown && isProvisioned(status) ? status?.price : undefined;
  const price = isPrice(shown) ? shown : undefined;
  return { product: spec.product, diskSize: spec.diskSize, price, teaches: pricedModel(object) };
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
