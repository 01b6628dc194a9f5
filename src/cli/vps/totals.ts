/** Adds up servers and prices. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { hasRunningServer } from '../../virtual-server/decision/running.ts';

/** Enough for a price per hour. */
const DECIMALS = 6;

interface Total {
  /** Servers that run, as in the metric vps_operator_servers_price. */
  servers: number;
  /** Sum in the provider's own unit, which it does not name. */
  price: number;
  /** Servers whose price is not known. */
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
  // Sums of decimals in binary: 0.1 + 0.2 is not to be shown as 0.30000000000000004.
  const sum = Number(prices.reduce((before, price) => before + price, 0).toFixed(DECIMALS));
  return { servers: objects.length, price: sum, unpriced: objects.length - prices.length };
}

/** With two decimals, and more where there are. */
export function priceText(price: number): string {
  return price.toFixed(DECIMALS).replace(/(\.\d\d\d*?)0+$/, '$1');
}
