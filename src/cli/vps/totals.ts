/** Adds up servers and prices. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { recordOf } from './next-steps.ts';

export interface Total {
  /** Objects that hold a server. */
  servers: number;
  /** Sum in the service's own unit, which it does not name. */
  price: number;
  /** Servers whose price is not known. */
  unpriced: number;
}

export interface Totals {
  namespaces: ({ namespace: string } & Total)[];
  all: Total;
}

export function sumUp(objects: readonly VirtualServer[]): Totals {
  const held = objects.filter((object) => (object.status?.identifier ?? recordOf(object)?.identifier) !== undefined);
  const names = [...new Set(held.map(({ metadata }) => metadata.namespace))].sort();
  const inNamespace = (name: string) => held.filter(({ metadata }) => metadata.namespace === name);
  return { namespaces: names.map((namespace) => ({ namespace, ...total(inNamespace(namespace)) })), all: total(held) };
}

function total(objects: readonly VirtualServer[]): Total {
  const prices = objects.map(({ status }) => status?.price).filter((price) => price !== undefined);
  // Sums of decimals in binary: 0.1 + 0.2 is not to be shown as 0.30000000000000004.
  const sum = Number(prices.reduce((before, price) => before + price, 0).toFixed(6));
  return { servers: objects.length, price: sum, unpriced: objects.length - prices.length };
}
