/** Tells what an order will cost, before it is made. */
import type { ServerCatalogStatus } from '../../api/server-catalog.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { modelOf, priceText, pricesIn } from '../../virtual-server/decision/price.ts';
import type { ClusterView } from '../cluster/cluster.ts';
import { ESTIMATE, expectedPrice } from './expected-price.ts';

/** How long a command waits for prices, without which it works too. */
const PRICES_MS = 3000;

/** The servers whose prices are known: those of all namespaces, if you may list them. */
export async function pricedServers(cluster: ClusterView): Promise<readonly VirtualServer[]> {
  const signal = AbortSignal.timeout(PRICES_MS);
  const everywhere = await cluster.list(true, undefined, signal).catch(() => undefined);
  return everywhere ?? cluster.list(false, undefined, signal).catch(() => []);
}

/** `lists`: of the catalog for the server's Secret. */
export function priceInWords(
  spec: VirtualServerSpec,
  servers: readonly VirtualServer[],
  lists: ServerCatalogStatus | undefined,
): string {
  const { price, estimated } = expectedPrice(modelOf(spec), pricesIn(servers), lists);
  if (price === undefined) return 'unknown, because you see no server like it, and no catalog has a list of prices';
  const source = estimated === true ? ESTIMATE : 'as a server like it';
  return `${estimated === true ? 'about ' : ''}${priceText(price)}, ${source} (in the provider's unit)`;
}
