/** The Events of an order that goes well: accepted by the provider, and its server ready. They say who ordered what. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { TaskNumber } from '../../base/exact-numbers.ts';
import type { Held } from '../../api/record.ts';
import { eventOf, type EventNote } from '../../controller/conditions.ts';
import type { Server } from '../../provider/types.ts';
import { modelOf, partsOf, priceText, recordedPrice } from './price.ts';
import { serverFields } from './server-status.ts';

/** What the provider has accepted. `expectedPrice`: if an earlier server or the provider's list of prices tells it. */
export interface Accepted {
  task: TaskNumber;
  identifier?: string;
  expectedPrice: number | undefined;
}

/** The provider has accepted the order. */
export function orderedEvent({ spec }: VirtualServer, { task, identifier, expectedPrice }: Accepted): EventNote {
  const server = identifier === undefined ? 'a server' : `server ${identifier}`;
  const what = [...partsOf(modelOf(spec)), `image ${spec.image}`].join(', ');
  const price = expectedPrice === undefined ? '' : `. Expected price: ${priceText(expectedPrice)}`;
  const message = `Ordered ${server} as task ${task} with the API key in Secret ${spec.apiKeySecretRef.name}: ${what}${price}`;
  return eventOf({ reason: 'ServerOrdered', message });
}

/**
 * The server that this object has ordered is ready for the first time. `before`: the record before the read that shows it. Undefined
 * for any other read: the record keeps the time of readiness, so no later process tells it again.
 */
export function readyEvent({ spec }: VirtualServer, before: Held, record: Held, server: Server): EventNote | undefined {
  if (record.mode === 'adopt' || record.readyAt === undefined || before.readyAt !== undefined) return undefined;
  const { product = spec.product } = serverFields(server);
  const amount = recordedPrice(record)?.amount;
  const price = amount === undefined ? '; the provider states no price' : ` and price ${priceText(amount)}`;
  const message = `Server ${record.identifier} is ready, with product ${product}${price}`;
  return { ...eventOf({ reason: 'ServerReady', message }), follows: 'ServerOrdered' };
}
