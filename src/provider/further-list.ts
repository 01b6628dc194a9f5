/**
 * A list that the specification does not have, and that nothing depends on. So the API key counts as good whatever the provider
 * answers, a failure is an answer like any other, and nothing waits for the answer as long as for others.
 */
import { agedRead } from '../base/aged-read.ts';
import type { Caller } from './caller.ts';
import type { Endpoint } from './endpoints.ts';
import { ProviderError, type ProviderOperation } from './error.ts';
import { wholeBody, type ProviderAnswer } from './transport.ts';
import type { FurtherRead } from './types.ts';
import { parseJson } from './wire.ts';

/** The statuses by which a provider says that it has no such call. */
export const NO_CALL = new Set([404, 405, 501]);

const TIMEOUT_MS = 5_000;

/** Which list, and how its body is read; `parse` throws PROVIDER_PROTOCOL for anything else. */
interface FurtherList<T> {
  operation: ProviderOperation;
  target: Endpoint;
  parse: (body: unknown) => T;
}

/**
 * Reads the list in one shared call, and keeps the answer with its age. `caller` belongs to no tenant: all tenants of the key share
 * the result.
 */
export function furtherList<T>(
  caller: Caller,
  list: FurtherList<T>,
  now: () => number,
): (maxAgeMs: number) => Promise<FurtherRead<T>> {
  let last: T | undefined;
  return agedRead(now, async () => {
    const found = await readList(caller, list).catch((error: unknown): FurtherRead<T> => {
      if (!(error instanceof ProviderError)) throw error;
      return { state: 'Unknown' };
    });
    if (found.state === 'Unknown') return { ...found, list: last };
    last = found.list;
    return found;
  });
}

async function readList<T>(caller: Caller, { operation, target, parse }: FurtherList<T>): Promise<FurtherRead<T>> {
  const answer = await askOnce(caller, operation, target);
  if (answer.status === 200) return { state: 'Available', list: parse(parseJson(wholeBody(answer), operation)) };
  if (NO_CALL.has(answer.status)) return { state: 'Unavailable' };
  return { state: answer.status === 403 ? 'Forbidden' : 'Unknown' };
}

/** Sends one request, without a new login after a 401: a provider may answer so to what it does not offer. */
export async function askOnce(caller: Caller, operation: ProviderOperation, target: Endpoint): Promise<ProviderAnswer> {
  const { line, owner, redactor, transport } = caller;
  const token = await caller.turn('high');
  const release = await line.calls.take(owner);
  try {
    const headers = { authorization: `Bearer ${token}` };
    return await transport.send({ operation, method: 'GET', target, timeoutMs: TIMEOUT_MS, headers, redactor });
  } finally {
    release();
  }
}
