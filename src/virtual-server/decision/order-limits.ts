/** What the object says while the limits of its namespace leave no room for its order. Pure. */
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import type { Verdict } from '../../controller/conditions.ts';
import type { PriceList } from '../../provider/types.ts';
import type { Full, NoSum, Wanted } from '../shared/limits.ts';
import { listedPrice, modelOf, partsOf, priceText } from './price.ts';
import type { Park } from './types.ts';
import type { View } from './view.ts';

/** What the order asks a place for. `prices`: the provider's list, if it has one and was asked for it. */
export function wantedBy({ metadata: { name }, spec }: VirtualServer, prices: PriceList | undefined): Wanted {
  const model = modelOf(spec);
  return { name, ...model, listed: prices && listedPrice(model, prices) };
}

/** Why the server of the object must not become what spec asks for. */
export function noRoomToChange({ metadata: { namespace }, spec }: VirtualServer, full: Full): string {
  const why = limitVerdict(namespace, spec, full, 'changes the server').message;
  return `The operator does not change the server while the price limit leaves no room. ${why}`;
}

const ORDERS = 'orders this server';

export function noPlace({ object, timing }: View, full: Full): Park {
  return {
    verdict: limitVerdict(object.metadata.namespace, object.spec, full, ORDERS),
    when: { operation: 'order', afterMs: timing.pollMs },
  };
}

/** `then`: what the operator does once there is room. */
function limitVerdict(namespace: string, spec: VirtualServerSpec, full: Full, then: string): Verdict {
  switch (full.full) {
    case 'servers':
      return { reason: 'ServerLimit', message: serverLimit(full) };
    case 'price':
      return { reason: 'PriceLimit', message: priceLimit(full, spec, then) };
    case 'orphaned':
      return { reason: 'PriceUnknown', message: orphanPriceUnknown(full) };
    case 'unstated':
      return { reason: 'PriceUnknown', message: priceUnknown(full, namespace) };
    case 'unclear':
      return { reason: 'PriceUnknown', message: priceUnclear(full) };
    case 'unread':
      return { reason: 'PricePending', message: pricePending(full, then) };
  }
}

function serverLimit({ maximum }: Extract<Full, { full: 'servers' }>): string {
  return (
    `The namespace has ${maximum} servers, the maximum that --max-servers-per-namespace allows; retained servers ` +
    'and those that an object reports as OrphanedServer count too. Delete a server, or ask an administrator for a higher limit. The operator then orders this server'
  );
}

/** Reveals only the price of a product, which the provider's price list shows too, about other namespaces. */
function priceLimit(
  { maximum, sum, price, isListed, otherPeriods = [] }: Extract<Full, { full: 'price' }>,
  spec: VirtualServerSpec,
  then: string,
): string {
  const parts = partsOf(modelOf(spec));
  const one = `A server with ${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
  const source = isListed === true ? " by the provider's list of prices" : '';
  const costs =
    price === undefined
      ? `What ${lowered(one)} costs is unknown, since none runs`
      : `${one} costs ${priceText(price)}${source}`;
  const periods =
    otherPeriods.length === 0
      ? ''
      : `The server of ${someOf(otherPeriods)} is billed for another period than an order, and counts with the whole price of that period. `;
  return (
    `The servers of the namespace cost ${priceText(sum)}, and --max-price-per-namespace allows ${priceText(maximum)}, in the ` +
    `provider's unit; servers on their way, retained servers and those that an object reports as OrphanedServer count too. ${costs}. ${periods}Delete a server, or ask an ` +
    `administrator for a higher limit. The operator then ${then}`
  );
}

function priceUnknown({ maximum, names }: NoSum, namespace: string): string {
  return (
    `The provider states no readable price for the server of ${someOf(names)}, so the operator cannot tell what the servers of ` +
    `the namespace cost. --max-price-per-namespace allows ${priceText(maximum)}, so the operator orders nothing in this namespace ` +
    'until the provider states the price. If it never does, delete that object, or ask an administrator to end the limit for ' +
    `this namespace: add ",${namespace}=0" to the value of --max-price-per-namespace`
  );
}

function orphanPriceUnknown({ maximum, names }: NoSum): string {
  return (
    `The operator cannot tell what the servers cost that ${someOf(names)} reports as OrphanedServer: no object holds them, and no ` +
    'server with the same product and disk size was read. --max-price-per-namespace allows ' +
    `${priceText(maximum)}, so the operator orders nothing in this namespace until you have resolved OrphanedServer there, ` +
    'or such a server was read'
  );
}

function priceUnclear({ maximum, names }: NoSum): string {
  return (
    `The operator cannot tell what the server of ${someOf(names)} costs like an order: the provider has shown it only dormant, or bills it ` +
    `for another period. --max-price-per-namespace allows ${priceText(maximum)}, so the operator orders nothing in this namespace until ` +
    'that server was awake once, or another one with the same product and disk size was read. Wake it with `kubectl vps start`, or delete its object'
  );
}

function pricePending({ maximum, names }: NoSum, then: string): string {
  return (
    `The operator does not know yet what the server of ${someOf(names)} costs, and --max-price-per-namespace allows ` +
    `${priceText(maximum)}. It ${then} after it has read that price, if there is room`
  );
}

/** How many objects a message names. */
const NAMED = 3;

function someOf(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${names.slice(0, NAMED).join(', ')}${more}`;
}

const lowered = (text: string): string => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;

export function createLimit(afterMs: number): Park {
  const message =
    'The namespace has reached --max-creates-per-hour. The operator orders the server as soon as the limit allows it';
  return { verdict: { reason: 'CreateLimit', message }, when: { operation: 'order', afterMs } };
}
