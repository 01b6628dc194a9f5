/** The provider's list of prices, as the status of a ServerCatalog shows it. Pure. */
import type { ServerCatalogStatus } from './server-catalog.ts';

/** What each part of a server costs, as in `PriceList` of the provider's client. */
interface ShownPrices {
  products: Record<string, number>;
  disks: Record<string, { price: number; extent: number }>;
  ipv4?: number | undefined;
}

/** Undefined if the catalog shows no prices. */
export function priceListIn({ products = [], prices }: ServerCatalogStatus): ShownPrices | undefined {
  if (prices === undefined) return undefined;
  return {
    products: Object.fromEntries(products.flatMap(({ code, price }) => (price === undefined ? [] : [[code, price]]))),
    disks: Object.fromEntries(prices.disks.map(({ type, price, extent }) => [type, { price, extent }])),
    ipv4: prices.ipv4,
  };
}
