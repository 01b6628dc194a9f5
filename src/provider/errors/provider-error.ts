/** An error of the provider client; `code` identifies it. */
import type { ProviderErrorLike } from '../types.ts';

export type ProviderErrorCode =
  /** No response: no address, no connection, a TLS failure, or a broken connection. */
  | 'PROVIDER_UNREACHABLE'
  /** No complete response within the deadline of the call. */
  | 'PROVIDER_TIMEOUT'
  /** The provider refuses the API key; `retryAfterMs` is the time until the next allowed login. */
  | 'PROVIDER_INVALID_CREDENTIALS'
  /** The provider refuses a token that it just issued. */
  | 'PROVIDER_UNAUTHORIZED'
  /** The provider does not know the requested task or server. */
  | 'PROVIDER_NOT_FOUND'
  /** The provider asks to send fewer requests. */
  | 'PROVIDER_RATE_LIMITED'
  /** The provider answered with an error status: a ResponseError. */
  | 'PROVIDER_RESPONSE'
  /** An invalid response: not JSON, of a wrong shape, too large, or a redirect. */
  | 'PROVIDER_PROTOCOL'
  /** The caller withdrew its permission before the request was written; nothing was sent. */
  | 'PROVIDER_WITHHELD';

export interface ProviderErrorDetails {
  /** How long the provider asked to wait, in milliseconds. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

const MAX_MESSAGE = 512;

/** `message` has at most 512 characters and no credential; the code that creates it redacts the provider's text. */
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
  return new ProviderError('PROVIDER_WITHHELD', 'the request was withheld: it may no longer be sent');
}
