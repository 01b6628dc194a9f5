/**
 * Sends an order and classifies the response: docs/concepts/design.md, "What an answer to the order means". What follows
 * for the object: virtual-server/decision/settle/create.ts.
 */
import type { Caller } from './caller.ts';
import { toTask } from './endpoints.ts';
import type { Endpoints } from './endpoints.ts';
import { ProviderError, withheldError } from './errors/provider-error.ts';
import { failure } from './failure.ts';
import { failed } from './operations.ts';
import { until } from '../base/until.ts';
import type { ProviderAnswer, Exchange } from './transport.ts';
import type { CreateOutcome, CreateServerRequest } from './types.ts';
import { objectIn } from './wire.ts';

/** The provider read the request and refused it. Without 408 and 409, which may follow a request that took effect. */
const REFUSALS = new Set([400, 402, 403, 404, 405, 413, 415, 422]);

/**
 * Sends the order at most once, except for one retry after a 401; never throws.
 * `timeoutMs` covers everything: waiting for the bucket, logins, the connection and both requests.
 */
export async function createServer(
  caller: Caller,
  endpoints: Endpoints,
  request: CreateServerRequest,
  timeoutMs: number,
  maySend: () => boolean,
): Promise<CreateOutcome> {
  // True while a request has been sent and its response is unknown.
  const post = { isOut: false };
  try {
    return await caller.transport.within(timeoutMs, async (signal) => {
      const send = async (exchange: Exchange): Promise<ProviderAnswer> => {
        signal.throwIfAborted();
        // Checked in the same tick that writes the request: nothing may be sent after the deadline.
        const connected = () => {
          signal.throwIfAborted();
          // A process that was suspended may resume here before its timers fire.
          if (!maySend()) throw withheldError();
          post.isOut = true;
        };
        const answer = await caller.transport.sendFresh(exchange, signal, connected);
        post.isOut = answer.status !== 401;
        if (!post.isOut) signal.throwIfAborted();
        return answer;
      };
      const call = caller.authorized(
        { operation: 'createServer', method: 'POST', target: endpoints.servers, body: bodyOf(request) },
        'low',
        send,
      );
      const waiting = until(signal, call).catch((error: unknown) => {
        // The same signal ends a request that was sent; `call` then has the part of the response received so far.
        if (post.isOut) return call;
        throw error;
      });
      return outcomeOf(await waiting, caller, endpoints);
    });
  } catch (fault) {
    const error = fault instanceof ProviderError ? fault : unexpected(fault, caller);
    return { kind: post.isOut ? 'unknown' : 'notCreated', error };
  }
}

function bodyOf(request: CreateServerRequest): string {
  const { product, image, sshKeys, diskSize } = request;
  return JSON.stringify({ product, image, ssh_keys: sshKeys, disk_size: diskSize });
}

function outcomeOf(answer: ProviderAnswer, caller: Caller, endpoints: Endpoints): CreateOutcome {
  const { status } = answer;
  if (status >= 200 && status < 300) return accepted(answer, endpoints);
  const error = failure(answer, 'createServer', caller.redactor);
  if (status === 429) return { kind: 'notCreated', error };
  if (REFUSALS.has(status)) return { kind: 'refused', status, error };
  return { kind: 'unknown', error };
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
      ...(task !== undefined && { task }),
    };
  }
  if (task !== undefined) return { kind: 'created', task };
  if (typeof body !== 'string') return { kind: 'unknown', error: body };
  return unknown('the provider accepted and named no task');
}

function unknown(what: string): Extract<CreateOutcome, { kind: 'unknown' }> {
  return { kind: 'unknown', error: new ProviderError('PROVIDER_PROTOCOL', failed('createServer', what)) };
}

function unexpected(fault: unknown, caller: Caller): ProviderError {
  return new ProviderError('PROVIDER_UNREACHABLE', failed('createServer', 'unexpected error'), {
    cause: caller.redactor.cause(fault),
  });
}
