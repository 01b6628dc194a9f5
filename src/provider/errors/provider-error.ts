/** What every error of the service's client has in common. */
import type { ProviderErrorLike } from '../types.ts';

export type ProviderErrorCode =
  | 'PROVIDER_UNREACHABLE'
  | 'PROVIDER_TIMEOUT'
  | 'PROVIDER_INVALID_CREDENTIALS'
  | 'PROVIDER_UNAUTHORIZED'
  | 'PROVIDER_NOT_FOUND'
  | 'PROVIDER_RATE_LIMITED'
  | 'PROVIDER_RESPONSE'
  | 'PROVIDER_PROTOCOL'
  | 'PROVIDER_WITHHELD';

export interface ProviderErrorDetails {
  /** How long the service asked to wait, in milliseconds. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

const MAX_MESSAGE = 512;

/** `message` carries no credential and is at most 512 characters; whoever creates an error redacts the service's words. */
export abstract class ProviderError extends Error implements ProviderErrorLike {
  readonly code: ProviderErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: ProviderErrorCode, message: string, details: ProviderErrorDetails = {}) {
    super(message.slice(0, MAX_MESSAGE).toWellFormed(), details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.retryAfterMs = details.retryAfterMs;
  }
}
