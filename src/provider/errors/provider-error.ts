/** An error of the provider's client; the code says which. */
import type { ProviderErrorLike } from '../types.ts';

export type ProviderErrorCode =
  /** No answer: no address, no connection, TLS refused, or the connection broke. */
  | 'PROVIDER_UNREACHABLE'
  /** No whole answer within the deadline of the call. */
  | 'PROVIDER_TIMEOUT'
  /** The provider refuses the API key; `retryAfterMs` says when the next login with it may be sent. */
  | 'PROVIDER_INVALID_CREDENTIALS'
  /** The provider refuses a token that it has just issued. */
  | 'PROVIDER_UNAUTHORIZED'
  /** The provider does not know the task or the server that was asked for. */
  | 'PROVIDER_NOT_FOUND'
  /** The provider asks to send fewer requests. */
  | 'PROVIDER_RATE_LIMITED'
  /** The provider answered with an error status: a ResponseError. */
  | 'PROVIDER_RESPONSE'
  /** An answer that cannot be understood or is not allowed: no JSON, wrong shape, too large, a redirect. */
  | 'PROVIDER_PROTOCOL'
  /** The caller took back its leave before the request was written; nothing was sent. */
  | 'PROVIDER_WITHHELD';

export interface ProviderErrorDetails {
  /** How long the provider asked to wait, in milliseconds. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

const MAX_MESSAGE = 512;

/** `message` carries no credential and has at most 512 characters; its creator redacts the provider's words. */
export class ProviderError extends Error implements ProviderErrorLike {
  override readonly name: string = 'ProviderError';
  readonly code: ProviderErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: ProviderErrorCode, message: string, details: ProviderErrorDetails = {}) {
    super(message.slice(0, MAX_MESSAGE).toWellFormed(), details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.retryAfterMs = details.retryAfterMs;
  }
}

export function isProviderError(error: unknown, code: ProviderErrorCode): boolean {
  return error instanceof ProviderError && error.code === code;
}

export function withheldError(): ProviderError {
  return new ProviderError('PROVIDER_WITHHELD', 'the request was withheld: it may not be sent any more');
}
