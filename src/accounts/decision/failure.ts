/** What a failed call to the provider means: the reason and the message for the condition, and how long to wait. Pure. */
import type { ProviderError, ProviderErrorCode } from '../../provider/error.ts';
import type { ReadyReason } from '../../api/conditions.ts';
import { backoffDelay } from '../../base/backoff.ts';
import { ended } from '../../base/text.ts';

/** A fact that could not be obtained, with the reason and message for the condition. */
export interface Missing {
  reason: ReadyReason;
  message: string;
  /** What the reason is about, for programs. */
  subject?: string;
  /** What you can do, if that takes a command. */
  advice?: string;
  /** Delay until the next attempt (ms); the usual backoff if left out. */
  retryAfterMs?: number | undefined;
}

/** What happens next, and what you can do. The message of a refused key says when the operator tries it again. */
const NEXT: Partial<Record<ReadyReason, string>> = {
  ProviderUnavailable:
    'The operator retries automatically. If this persists, check --base-url, the network and the provider',
  ProviderRateLimited:
    'The operator waits as long as the provider asks, then retries. If this persists, lower --provider-qps',
  ProviderProtocolError:
    'The operator retries automatically. Check --base-url and --auth-url: a proxy or a login page may be answering instead of the provider',
  Unauthorized:
    'The operator retries automatically. Send all requests from one IP address, and check that --base-url and --auth-url belong together',
  PermissionDenied:
    'The operator retries automatically. Give the API key the permission to provision servers in the control panel of the provider, or put another key into the Secret',
  InvalidCredentials: 'If the key is wrong, put a valid one into the Secret that spec.apiKeySecretRef names',
};

/** Why a call failed, and what happens next. */
export function callProblem(error: ProviderError): string {
  return `${ended(error.message)} ${NEXT[reasonOf(error)] ?? ''}`.trim();
}

export function missing(reason: ReadyReason, message: string, retryAfterMs?: number): Missing {
  return { reason, message, retryAfterMs };
}

const REASON_BY_CODE: Record<ProviderErrorCode, ReadyReason> = {
  PROVIDER_UNREACHABLE: 'ProviderUnavailable',
  PROVIDER_TIMEOUT: 'ProviderUnavailable',
  PROVIDER_RESPONSE: 'ProviderUnavailable',
  PROVIDER_WITHHELD: 'ProviderUnavailable',
  PROVIDER_RATE_LIMITED: 'ProviderRateLimited',
  PROVIDER_INVALID_CREDENTIALS: 'InvalidCredentials',
  PROVIDER_UNAUTHORIZED: 'Unauthorized',
  PROVIDER_FORBIDDEN: 'PermissionDenied',
  PROVIDER_PROTOCOL: 'ProviderProtocolError',
  // Calls about a task or a server handle it as an outcome; in any other call it is a failure.
  PROVIDER_NOT_FOUND: 'ProviderProtocolError',
};

export function reasonOf(error: ProviderError): ReadyReason {
  return REASON_BY_CODE[error.code];
}

/** Visits that throw use the backoff of controller/queue.ts instead. */
const BASE_MS = 1_000;
const BACKOFF = { baseMs: BASE_MS, maxMs: 10 * 60_000, jitter: [0.9, 1.1] } as const;

/** Delay in ms after the n-th consecutive failure (n >= 1): doubles from one second to ten minutes, with ±10% jitter. */
export function backoffMs(failures: number, jitter: number, atLeastMs = 0): number {
  return Math.max(atLeastMs, Math.round(backoffDelay(failures - 1, BACKOFF, jitter)));
}

/**
 * Like `backoffMs`, for a failing key. A visit only checks whether the Secret was fixed and makes no provider call, so
 * it waits at most until the next login (0 if unknown), plus jitter to spread the objects that share the key.
 */
export function keyPauseMs(failures: number, jitter: number, untilLoginMs = 0): number {
  const pause = backoffMs(failures, jitter);
  if (untilLoginMs === 0) return pause;
  return Math.min(pause, Math.max(BASE_MS, Math.round(untilLoginMs * (1 + 0.1 * jitter))));
}
