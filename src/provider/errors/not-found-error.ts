/** The service does not know the task or the server that was asked for. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class NotFoundError extends ProviderError {
  override readonly name = 'NotFoundError';

  constructor(message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_NOT_FOUND', message, details);
  }
}
