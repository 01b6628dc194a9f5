/** No whole answer within the deadline of the call. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class TimeoutError extends ProviderError {
  override readonly name = 'TimeoutError';

  constructor(message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_TIMEOUT', message, details);
  }
}
