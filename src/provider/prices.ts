/**
 * The list of prices, which the specification does not have. Nothing depends on it, so a failure is an answer like any other, and
 * the API key counts as good all the same.
 */
import type { Caller } from './caller.ts';
import type { Endpoints } from './endpoints.ts';
import { ProviderError } from './error.ts';
import { wholeBody } from './transport.ts';
import type { PriceList, PricesRead, Session } from './types.ts';
import { parseJson, parsePrices } from './wire.ts';

/** The statuses by which a provider says that it has no such list. */
export const NO_LIST = new Set([404, 405, 501]);

/** An order may wait for the answer, so it is not waited for as long as for others (ms). */
const TIMEOUT_MS = 5_000;

/**
 * The list, read in one shared call and cached with its age, and so is a failure. `caller` belongs to no tenant: all tenants of
 * the key share the result.
 */
export function createPrices(caller: Caller, endpoints: Endpoints, now: () => number): Session['prices'] {
  let last: { answer: PricesRead; at: number } | undefined;
  let call: Promise<PricesRead> | undefined;

  async function read(): Promise<PricesRead> {
    const found = await readPrices(caller, endpoints).catch((error: unknown): PricesRead => {
      if (!(error instanceof ProviderError)) throw error;
      return { state: 'Unknown' };
    });
    const answer = found.state === 'Unknown' ? { ...found, prices: last?.answer.prices } : found;
    last = { answer, at: now() };
    return answer;
  }

  return async (maxAgeMs) => {
    if (last && now() - last.at <= maxAgeMs) return last.answer;
    call ??= read().finally(() => (call = undefined));
    return call;
  };
}

/** Sends one request, without a new login after a 401: a provider may answer so to what it does not offer. */
async function readPrices(caller: Caller, endpoints: Endpoints): Promise<PricesRead> {
  const { line, owner, redactor, transport } = caller;
  const token = await caller.turn('high');
  const release = await line.calls.take(owner);
  try {
    const headers = { authorization: `Bearer ${token}` };
    const call = { operation: 'prices', method: 'GET', target: endpoints.prices, timeoutMs: TIMEOUT_MS } as const;
    const answer = await transport.send({ ...call, headers, redactor });
    if (answer.status === 200) return available(parsePrices(parseJson(wholeBody(answer), 'prices')));
    if (NO_LIST.has(answer.status)) return { state: 'Unavailable' };
    return { state: answer.status === 403 ? 'Forbidden' : 'Unknown' };
  } finally {
    release();
  }
}

const available = (prices: PriceList): PricesRead => ({ state: 'Available', prices });
