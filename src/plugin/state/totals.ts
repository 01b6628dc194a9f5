/** Sums up servers and prices. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { hasReadServer, isOffOnPurpose, isPaidFor } from '../../api/server-state.ts';
import { modelOf, pricesIn, recordedPrice, sumOf } from '../../virtual-server/decision/price.ts';
import { holdsSomething, knownRecord } from '../../virtual-server/decision/known-record.ts';
import { heldRecord } from '../../virtual-server/shared/objects.ts';
import { expectedPrice, type ListsOf } from './expected-price.ts';

export { priceText } from '../../virtual-server/decision/price.ts';

export interface CostTotal {
  /** Servers that run or are off on purpose, as in the metric vps_operator_servers_price. */
  servers: number;
  /** How many of them are off on purpose; left out if none is. */
  off?: number;
  /** Sum in the provider's own unit, which the provider does not state. */
  price: number;
  /** How many of them have no known price. */
  unpriced: number;
  /** The periods of those that are billed for another period than an order, such as `year`; left out if there are none. */
  otherPeriods?: string[];
  /** Servers that were ordered and not read yet, and those above without a known price; left out if there are none. */
  expected?: {
    servers: number;
    /** Sum of what they will cost, as far as it can be told. */
    price: number;
    /** Servers for which neither a server like them nor a list of prices tells. */
    unknown: number;
    estimated?: true;
  };
}

interface Totals {
  namespaces: ({ namespace: string } & CostTotal)[];
  all: CostTotal;
}

/** `lists`: what the catalogs show; without it, nothing is expected. */
export function sumUp(objects: readonly VirtualServer[], lists?: ListsOf): Totals {
  const known = pricesIn(objects);
  const counted = objects.filter((object) => isPaidFor(object) || (lists !== undefined && isOnItsWay(object)));
  const total = (some: readonly VirtualServer[]): CostTotal => {
    const paid = some.filter(isPaidFor);
    const off = paid.filter(isOffOnPurpose).length;
    const prices = paid.map(({ status }) => status?.price).filter((price) => price !== undefined);
    const otherPeriods = paid.flatMap((object) => recordedPrice(knownRecord(object))?.otherPeriod ?? []).sort();
    const sum = {
      servers: paid.length,
      ...(off > 0 && { off }),
      price: sumOf(prices),
      unpriced: paid.length - prices.length,
      ...(otherPeriods.length > 0 && { otherPeriods }),
    };
    const open = lists === undefined ? [] : some.filter((one) => !isPaidFor(one) || one.status?.price === undefined);
    if (open.length === 0) return sum;
    const costs = open.map(({ metadata, spec }) =>
      expectedPrice(modelOf(spec), known, lists?.(metadata.namespace, spec.apiKeySecretRef.name)),
    );
    const told = costs.flatMap(({ price }) => (price === undefined ? [] : [price]));
    const isEstimated = costs.some(({ estimated }) => estimated);
    const unknown = costs.length - told.length;
    const expected = {
      servers: open.length,
      price: sumOf(told),
      unknown,
      ...(isEstimated && { estimated: true as const }),
    };
    return { ...sum, expected };
  };
  const names = [...new Set(counted.map(({ metadata }) => metadata.namespace))].sort();
  const inNamespace = (name: string) => counted.filter(({ metadata }) => metadata.namespace === name);
  return {
    namespaces: names.map((namespace) => ({ namespace, ...total(inNamespace(namespace)) })),
    all: total(counted),
  };
}

/** Its order may have been sent, and its server was not read yet. */
function isOnItsWay(object: VirtualServer): boolean {
  const record = heldRecord(object);
  return record !== undefined && holdsSomething(record) && record.missingAt === undefined && !hasReadServer(object);
}

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;
