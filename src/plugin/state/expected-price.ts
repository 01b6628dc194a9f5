/** What a server will cost, as far as servers like it or the provider's list of prices tell. Pure. */
import { priceListIn } from '../../api/price-list.ts';
import type { ServerCatalog, ServerCatalogStatus } from '../../api/server-catalog.ts';
import { listedPrice, modelKey, type Model, type PricedModel } from '../../virtual-server/decision/price.ts';

/** Where estimates come from, for notes. */
export const ESTIMATE = "an estimate by the provider's list of prices: product, disk and IPv4 address";

/** The lists of the catalog for this Secret; undefined: unknown. */
export type ListsOf = (namespace: string, secret: string) => ServerCatalogStatus | undefined;

/** `catalogs`: all that the user may list. */
export const listsFrom =
  (catalogs: readonly Pick<ServerCatalog, 'metadata' | 'spec' | 'status'>[]): ListsOf =>
  (namespace, secret) =>
    catalogs.find(
      ({ metadata, spec, status }) =>
        metadata.namespace === namespace && spec.apiKeySecretRef.name === secret && status?.products !== undefined,
    )?.status;

export interface Expected {
  price: number | undefined;
  /** By the list of prices, because no server like it was read. */
  estimated?: true;
}

/** `lists`: of the catalog for the server's Secret. */
export function expectedPrice(
  model: Model,
  prices: ReadonlyMap<string, PricedModel>,
  lists: ServerCatalogStatus | undefined,
): Expected {
  const known = prices.get(modelKey(model))?.price;
  if (known !== undefined) return { price: known };
  const list = lists && priceListIn(lists);
  const price = list && listedPrice(model, list);
  return price === undefined ? { price } : { price, estimated: true };
}
