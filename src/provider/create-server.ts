/**
 * Sends an order and classifies the response: docs/concepts/design.md, "What an answer to the order means". What follows
 * for the object: virtual-server/operations/order.ts.
 */
import { until } from '../base/deadline.ts';
import { elapsedMs, momentOf, type Clocks, type Moment } from '../base/timers.ts';
import type { Caller } from './caller.ts';
import { toTask } from '../base/exact-numbers.ts';
import type { Endpoints } from './endpoints.ts';
import { ProviderError, ResponseError, failureMessage, isRefusalStatus, withheldError } from './error.ts';
import { failure } from './failure.ts';
import type { Connection, ProviderAnswer } from './transport.ts';
import type { CreateOutcome, OpenOrder, OrderBody, OrderGate } from './types.ts';
import { objectIn } from './wire.ts';

/** Nothing is sent over a connection that has been open for longer, since the provider may be about to close it (ms). */
const FRESH_MS = 10_000;

interface OrderDeps {
  caller: Caller;
  endpoints: Endpoints;
  /** How long it may take to open an order, and then again to send it and to receive the answer (ms). */
  timeoutMs: number;
  clocks: Clocks;
}

/** All that an order needs before it can be sent without a wait. */
interface Ready {
  token: string;
  connection: Connection;
  openedAt: Moment;
  /** Lets another order be claimed. */
  endClaim: () => void;
  close: () => void;
}

/** Waits for a turn, a token and a connection. Throws ProviderError; nothing was sent then. */
export async function openOrder(deps: OrderDeps): Promise<OpenOrder> {
  const { caller, clocks, timeoutMs } = deps;
  let ready = await getReady(deps, timeoutMs);
  return {
    close: () => ready.close(),
    send: async (body, gate) => {
      const begun = momentOf(clocks);
      const leftMs = (): number => timeoutMs - elapsedMs(clocks, begun);
      const first = await post(deps, ready, body, gate, leftMs);
      if (first.kind !== 'unauthorized') return first;
      caller.tokens.drop(ready.token);
      await gate.unsent();
      try {
        ready = await getReady(deps, leftMs());
      } catch (error) {
        return { kind: 'notCreated', error: asProviderError(error, caller) };
      }
      const second = await post(deps, ready, body, gate, leftMs);
      return second.kind === 'unauthorized'
        ? { kind: 'notCreated', error: caller.unauthorized('createServer') }
        : second;
    },
  };
}

async function getReady({ caller, clocks, endpoints }: OrderDeps, timeoutMs: number): Promise<Ready> {
  const { transport, line, owner, redactor } = caller;
  return transport.within(timeoutMs, async (signal) => {
    const token = await until(signal, caller.turn('low'));
    const taking = line.claims.take(owner);
    const release = await until(signal, taking).catch((error: unknown) => {
      taking.then((late) => late()).catch(() => undefined);
      throw error;
    });
    try {
      const connection = await transport.connect(
        { operation: 'createServer', target: endpoints.servers, redactor },
        signal,
      );
      const close = (): void => {
        connection.close();
        release();
      };
      return { token, connection, openedAt: momentOf(clocks), endClaim: release, close };
    } catch (error) {
      release();
      throw error;
    }
  });
}

/** `unauthorized`: the provider refused the token, so that it created nothing. */
async function post(
  { caller, clocks, endpoints }: OrderDeps,
  { token, connection, openedAt, endClaim, close }: Ready,
  body: OrderBody,
  gate: OrderGate,
  leftMs: () => number,
): Promise<CreateOutcome | { kind: 'unauthorized' }> {
  await gate.sending();
  // True once the request has been written.
  const sent = { isOut: false };
  try {
    return await caller.transport.within(leftMs(), async (signal) => {
      // A process that was suspended may resume here before its timers fire.
      const isLate = (): boolean => leftMs() <= 0 || elapsedMs(clocks, openedAt) >= FRESH_MS;
      const mayWrite = (): void => {
        // To ask may take long: the log tells of the order first.
        if (isLate() || !gate.maySend() || isLate()) throw withheldError();
        sent.isOut = true;
        endClaim();
      };
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const { redactor } = caller;
      const exchange = { operation: 'createServer', method: 'POST', target: endpoints.servers, redactor } as const;
      const answer = await connection.send({ ...exchange, headers, body: JSON.stringify(body) }, signal, mayWrite);
      if (answer.status !== 401) {
        caller.refusals.tokenAccepted();
        return answeredOutcome(answer, caller, endpoints);
      }
      sent.isOut = false;
      signal.throwIfAborted();
      return { kind: 'unauthorized' };
    });
  } catch (fault) {
    return { kind: sent.isOut ? 'unknown' : 'notCreated', error: asProviderError(fault, caller) };
  } finally {
    close();
  }
}

/** The outcome that the answer to an order tells. */
export function answeredOutcome(answer: ProviderAnswer, caller: Caller, endpoints: Endpoints): CreateOutcome {
  const { status } = answer;
  if (status >= 200 && status < 300) return accepted(answer, endpoints);
  const error = refusal(answer, caller);
  if (status === 429) return { kind: 'notCreated', error };
  if (isRefusalStatus(status)) return { kind: 'refused', status, error };
  return { kind: 'unknown', error };
}

/** The provider's own text comes first: it says what you can change. */
function refusal(answer: ProviderAnswer, { redactor }: Caller): ProviderError {
  const error = failure(answer, 'createServer', redactor);
  if (!(error instanceof ResponseError) || error.said === '') return error;
  const { code, status, said, retryAfterMs } = error;
  const message = `${said} (the provider answered ${status} to the order)`;
  return new ResponseError(status, message, { code, said, retryAfterMs });
}

/** Only 202 is documented. A task in another 2xx response proves nothing, but helps to find the server. */
function accepted({ status, body, headers }: ProviderAnswer, endpoints: Endpoints): CreateOutcome {
  const inBody = toTask(objectIn(body).task);
  const inLocation = endpoints.taskOfLocation(headers.location);
  if (inBody !== undefined && inLocation !== undefined && inBody !== inLocation) {
    return unknown(`the body names task ${inBody}, the Location task ${inLocation}`);
  }
  const task = inBody ?? inLocation;
  if (status !== 202) {
    const named = task === undefined ? 'names no task' : `names task ${task}`;
    return {
      ...unknown(`the provider answered ${status} instead of 202 and ${named}`),
      task,
    };
  }
  if (task !== undefined) return { kind: 'created', task };
  if (typeof body !== 'string') return { kind: 'unknown', error: body };
  return unknown('the provider accepted and named no task');
}

function unknown(what: string): Extract<CreateOutcome, { kind: 'unknown' }> {
  return { kind: 'unknown', error: new ProviderError('PROVIDER_PROTOCOL', failureMessage('createServer', what)) };
}

/** What an order failed with. */
export function asProviderError(fault: unknown, caller: Caller): ProviderError {
  if (fault instanceof ProviderError) return fault;
  return new ProviderError('PROVIDER_UNREACHABLE', failureMessage('createServer', 'unexpected error'), {
    cause: caller.redactor.cause(fault),
  });
}
