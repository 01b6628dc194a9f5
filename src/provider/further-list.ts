/**
 * A list that the specification does not have, and that nothing depends on. So the API key counts as good whatever the provider
 * answers, and nothing waits for the answer as long as for others.
 */
import type { Caller } from './caller.ts';
import type { Endpoint } from './endpoints.ts';
import type { ProviderOperation } from './error.ts';
import type { ProviderAnswer } from './transport.ts';

/** The statuses by which a provider says that it has no such call. */
export const NO_CALL = new Set([404, 405, 501]);

const TIMEOUT_MS = 5_000;

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
