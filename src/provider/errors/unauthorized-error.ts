/** The service refuses a token that it has just issued. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class UnauthorizedError extends ProviderError {
  override readonly name = 'UnauthorizedError';

  constructor(message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_UNAUTHORIZED', message, details);
  }
}
