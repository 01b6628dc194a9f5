/** The service asks to send fewer requests; `retryAfterMs` says how long to wait, when the service said so. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class RateLimitedError extends ProviderError {
  override readonly name = 'RateLimitedError';

  constructor(message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_RATE_LIMITED', message, details);
  }
}
