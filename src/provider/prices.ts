/** The list of prices. A failure is an answer like any other. */
import { agedRead } from '../base/aged-read.ts';
import type { Caller } from './caller.ts';
import type { Endpoints } from './endpoints.ts';
import { ProviderError } from './error.ts';
import { NO_CALL, askOnce } from './further-list.ts';
import { wholeBody } from './transport.ts';
import type { PriceList, PricesRead, Session } from './types.ts';
import { parseJson, parsePrices } from './wire.ts';

/**
 * The list, read in one shared call and cached with its age, and so is a failure. `caller` belongs to no tenant: all tenants of
 * the key share the result.
 */
export function createPrices(caller: Caller, endpoints: Endpoints, now: () => number): Session['prices'] {
  let prices: PriceList | undefined;
  return agedRead(now, async () => {
    const found = await readPrices(caller, endpoints).catch((error: unknown): PricesRead => {
      if (!(error instanceof ProviderError)) throw error;
      return { state: 'Unknown' };
    });
    if (found.state === 'Unknown') return { ...found, prices };
    prices = found.prices;
    return found;
  });
}

async function readPrices(caller: Caller, endpoints: Endpoints): Promise<PricesRead> {
  const answer = await askOnce(caller, 'prices', endpoints.prices);
  if (answer.status === 200) return available(parsePrices(parseJson(wholeBody(answer), 'prices')));
  if (NO_CALL.has(answer.status)) return { state: 'Unavailable' };
  return { state: answer.status === 403 ? 'Forbidden' : 'Unknown' };
}

const available = (prices: PriceList): PricesRead => ({ state: 'Available', prices });
