/** Which reason stands for which error of the provider room. */
import type { ProviderErrorLike } from '../provider/types.ts';
import type { ReadyReason } from './verdict.ts';

const REASON_BY_CODE: Record<string, ReadyReason> = {
  PROVIDER_UNREACHABLE: 'ProviderUnavailable',
  PROVIDER_TIMEOUT: 'ProviderUnavailable',
  PROVIDER_RESPONSE: 'ProviderUnavailable',
  PROVIDER_WITHHELD: 'ProviderUnavailable',
  PROVIDER_RATE_LIMITED: 'ProviderRateLimited',
  PROVIDER_INVALID_CREDENTIALS: 'InvalidCredentials',
  PROVIDER_UNAUTHORIZED: 'Unauthorized',
  PROVIDER_PROTOCOL: 'ProviderProtocolError',
};

export function reasonOf(error: ProviderErrorLike): ReadyReason {
  return REASON_BY_CODE[error.code] ?? 'ProviderProtocolError';
}

const BASE_MS = 1_000;
const MAX_MS = 10 * 60_000;

/** Pause after the n-th failure in a row (n >= 1), in ms: doubling from one second to ten minutes, with jitter of a fifth. */
export function backoffMs(failures: number, jitter: number, atLeastMs = 0): number {
  const pause = Math.min(MAX_MS, BASE_MS * 2 ** Math.min(failures - 1, 20));
  return Math.max(atLeastMs, Math.round(pause * (0.9 + 0.2 * jitter)));
}

/**
 * As `backoffMs`, where the key is at fault: what looks at it again costs the provider nothing, and where the time of the
 * next try is known, the object is looked at soon after it, spread so that not all that share the key come at once.
 */
export function keyPauseMs(failures: number, jitter: number, untilNextTryMs = 0): number {
  if (untilNextTryMs === 0) return backoffMs(failures, jitter);
  return Math.max(BASE_MS, Math.round(untilNextTryMs * (1 + 0.1 * jitter)));
}
