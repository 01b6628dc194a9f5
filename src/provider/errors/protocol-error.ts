/** An answer that cannot be understood or is not allowed: no JSON, wrong shape, too large, foreign Location, redirect. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class ProtocolError extends ProviderError {
  override readonly name = 'ProtocolError';

  constructor(message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_PROTOCOL', message, details);
  }
}
