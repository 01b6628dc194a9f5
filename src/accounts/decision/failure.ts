/** Which reason stands for which error of the provider room. Pure. */
import type { ProviderErrorLike } from '../../provider/types.ts';
import type { ReadyReason } from '../../api/conditions.ts';
import type { ProviderErrorCode } from '../../provider/errors/provider-error.ts';

/** A fact that could not be had, with the words for the condition. */
export interface Missing {
  ok: false;
  reason: ReadyReason;
  message: string;
  /** How long to wait before the next try (ms); left out: the usual backoff. */
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
  // Where it says something of a task or a server it is an outcome, not a failure.
  PROVIDER_NOT_FOUND: 'ProviderProtocolError',
};

export function reasonOf(error: ProviderErrorLike): ReadyReason {
  return REASON_BY_CODE[error.code];
}
