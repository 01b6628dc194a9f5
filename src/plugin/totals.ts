/** Sums up servers and prices. Pure. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { hasRunningServer } from '../api/server-state.ts';
import { sumOf } from '../virtual-server/decision/price.ts';

export { priceText } from '../virtual-server/decision/price.ts';

interface Total {
  /** Running servers, as in the metric vps_operator_servers_price. */
  servers: number;
  /** Sum in the provider's own unit, which the provider does not state. */
  price: number;
  /** Running servers without a known price. */
  unpriced: number;
}

interface Totals {
  namespaces: ({ namespace: string } & Total)[];
  all: Total;
}

export function sumUp(objects: readonly VirtualServer[]): Totals {
  const running = objects.filter(hasRunningServer);
  const names = [...new Set(running.map(({ metadata }) => metadata.namespace))].sort();
  const inNamespace = (name: string) => running.filter(({ metadata }) => metadata.namespace === name);
  return {
    namespaces: names.map((namespace) => ({ namespace, ...total(inNamespace(namespace)) })),
    all: total(running),
  };
}

function total(objects: readonly VirtualServer[]): Total {
  const prices = objects.map(({ status }) => status?.price).filter((price) => price !== undefined);
  const sum = sumOf(prices);
  return { servers: objects.length, price: sum, unpriced: objects.length - prices.length };
}

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;
