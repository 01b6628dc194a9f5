/**
 * One request over a separate connection. Uses node:http, because undici's Client connects again if it believes that a
 * request was not sent yet, and ends the connection at a `100 Continue`; an order must be sent at most once, and its
 * answer may follow any number of informational ones.
 */
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { bodyOf, type BodyLimits } from '../base/exchange.ts';
import type { Endpoint } from './endpoints.ts';

interface OwnRequest {
  method: string;
  target: Endpoint;
  headers: Record<string, string>;
  body?: string | undefined;
  limits: BodyLimits;
}

interface OwnAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
  /** Why `text` is only the beginning of the body. */
  cut?: Error;
}

/** True if the connection can carry a request, as far as this side knows. Unrequested data makes it unusable. */
export function isUsable(socket: Socket): boolean {
  return !socket.destroyed && socket.readable && socket.writable && socket.readableLength === 0;
}

/**
 * Writes the request at once, and only once. Rejects if no final answer begins: with the reason of the signal, or with
 * the error of the connection. Destroy the socket afterwards.
 */
export function requestOn(socket: Socket, options: OwnRequest, signal: AbortSignal): Promise<OwnAnswer> {
  const { method, target, headers, body } = options;
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      createConnection: () => socket,
      method,
      path: target.path,
      headers: { host: new URL(target.origin).host, ...headers },
    });
    let isAnswered = false;
    const abort = (): void => void request.destroy(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    request.once('response', (response) => {
      isAnswered = true;
      resolve(collect(response, options, signal));
    });
    request.once('error', (error) => reject(isHangUp(error) ? closedError() : error));
    request.once('close', () => {
      signal.removeEventListener('abort', abort);
      // Without the check, each order would create an unused error with its stack.
      if (!isAnswered) reject(closedError());
    });
    request.end(body);
  });
}

/** What node:http says of a connection that the other side closed before the answer. */
const isHangUp = (error: Error): boolean => error.message === 'socket hang up';

/** In the words of undici, which sends the other calls. */
const closedError = (): Error => new Error('other side closed');

function collect(response: IncomingMessage, { limits }: OwnRequest, signal: AbortSignal): Promise<OwnAnswer> {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve) => {
    const end = (cut?: Error): void =>
      resolve({ status, headers, ...bodyOf(chunks, { statusCode: status, headers }, limits, cut) });
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > limits.maxBytes) response.destroy(limits.tooLarge(status));
    });
    response.once('end', () => end());
    // A request that the signal ends reports that its connection was reset.
    response.once('error', (error) => end(signal.aborted ? (signal.reason as Error) : error));
  });
}
