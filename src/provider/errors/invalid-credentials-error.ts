/** The provider refuses the API key; `retryAfterMs` says when the next login with it may be sent. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class InvalidCredentialsError extends ProviderError {
  override readonly name = 'InvalidCredentialsError';

  constructor(message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_INVALID_CREDENTIALS', message, details);
  }
}
