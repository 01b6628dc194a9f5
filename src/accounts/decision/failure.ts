/** Which reason stands for which error of the provider room, and how long to wait after a failure. Pure. */
import { backoffDelay } from '../../base/backoff.ts';
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

const BASE_MS = 1_000;
const BACKOFF = { baseMs: BASE_MS, maxMs: 10 * 60_000, jitter: [0.9, 1.1] } as const;

/** Pause after the n-th failure in a row (n >= 1), in ms: doubling from one second to ten minutes, with jitter of a fifth. */
export function backoffMs(failures: number, jitter: number, atLeastMs = 0): number {
  return Math.max(atLeastMs, Math.round(backoffDelay(failures - 1, BACKOFF, jitter)));
}

/**
 * As `backoffMs`, where the key is at fault: a visit looks for a Secret that was fixed and costs the provider nothing, so
 * it waits no longer than until the next login (0: unknown), and a little more, lest all that share the key come at once.
 */
export function keyPauseMs(failures: number, jitter: number, untilLoginMs = 0): number {
  const pause = backoffMs(failures, jitter);
  if (untilLoginMs === 0) return pause;
  return Math.min(pause, Math.max(BASE_MS, Math.round(untilLoginMs * (1 + 0.1 * jitter))));
}
