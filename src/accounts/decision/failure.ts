/** Maps provider errors to condition reasons. Pure. */
import type { ProviderErrorLike } from '../../provider/types.ts';
import type { ReadyReason } from '../../api/conditions.ts';
import type { ProviderErrorCode } from '../../provider/errors/provider-error.ts';

/** A fact that could not be obtained, with the reason and message for the condition. */
export interface Missing {
  ok: false;
  reason: ReadyReason;
  message: string;
  /** Delay until the next attempt (ms); the usual backoff if left out. */
  retryAfterMs?: number | undefined;
}

export function missing(reason: ReadyReason, message: string, retryAfterMs?: number): Missing {
  return { ok: false, reason, message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

const REASON_BY_CODE: Record<ProviderErrorCode, ReadyReason> = {
  PROVIDER_UNREACHABLE: 'ProviderUnavailable',
  PROVIDER_TIMEOUT: 'ProviderUnavailable',
  PROVIDER_RESPONSE: 'ProviderUnavailable',
  PROVIDER_WITHHELD: 'ProviderUnavailable',
  PROVIDER_RATE_LIMITED: 'ProviderRateLimited',
  PROVIDER_INVALID_CREDENTIALS: 'InvalidCredentials',
  PROVIDER_UNAUTHORIZED: 'Unauthorized',
  PROVIDER_PROTOCOL: 'ProviderProtocolError',
  // Calls about a task or a server handle it as an outcome; in any other call it is a failure.
  PROVIDER_NOT_FOUND: 'ProviderProtocolError',
};

export function reasonOf(error: ProviderErrorLike): ReadyReason {
  return REASON_BY_CODE[error.code];
}
