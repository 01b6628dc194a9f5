/**
 * Orders a server under an identifier that the client has chosen, as the public service offers it: 409 if the identifier is in
 * use. It goes over a shared connection. What follows for the object:
 * virtual-server/operations/order-named.ts.
 */
import type { Caller } from './caller.ts';
import { asProviderError, answeredOutcome } from './create-server.ts';
import type { Endpoints } from './endpoints.ts';
import { ResponseError, isUnsent, mayArriveLater, withheldError } from './error.ts';
import { NO_CALL } from './further-list.ts';
import type { ProviderAnswer } from './transport.ts';
import type { NamedOutcome, OrderBody } from './types.ts';

interface NamedDeps {
  caller: Caller;
  endpoints: Endpoints;
  timeoutMs: number;
}

/** Does not throw. */
export async function sendNamedOrder(
  { caller, endpoints, timeoutMs }: NamedDeps,
  identifier: string,
  body: OrderBody,
  maySend: () => boolean,
): Promise<NamedOutcome> {
  const request = { isOut: false };
  const check = (): void => {
    if (!maySend()) throw withheldError();
    request.isOut = true;
  };
  try {
    const target = endpoints.server(identifier);
    const call = { operation: 'createServer', method: 'POST', target, timeoutMs } as const;
    const answer = await caller.call({ ...call, body: JSON.stringify(body) }, 'low', check);
    return namedOutcome(answer, caller, endpoints);
  } catch (fault) {
    const error = asProviderError(fault, caller);
    return !request.isOut || isUnsent(error)
      ? { kind: 'notCreated', error }
      : { kind: 'unclear', error, isAnswered: false };
  }
}

function namedOutcome(answer: ProviderAnswer, caller: Caller, endpoints: Endpoints): NamedOutcome {
  const outcome = answeredOutcome(answer, caller, endpoints);
  const error = 'error' in outcome ? outcome.error : undefined;
  if (error instanceof ResponseError && NO_CALL.has(error.status)) return { kind: 'notOffered', error };
  if (error instanceof ResponseError && error.status === 409) return { kind: 'inUse', error };
  if (outcome.kind !== 'unknown') return outcome;
  // A page of a gateway may have the status 200 too, and a 202 may say that a gateway keeps the request.
  const isPage = answer.status < 300 && outcome.task === undefined;
  return { kind: 'unclear', error: outcome.error, isAnswered: !isPage && !mayArriveLater(answer.status) };
}
