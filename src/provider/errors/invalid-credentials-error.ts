/** The service refuses the API key: final for this key. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class InvalidCredentialsError extends ProviderError {
  override readonly name = 'InvalidCredentialsError';

  constructor(message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_INVALID_CREDENTIALS', message, details);
  }
}
