/** No answer: no address, no connection, TLS refused, or the connection broke. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class TransportError extends ProviderError {
  override readonly name = 'TransportError';

  constructor(message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_UNREACHABLE', message, details);
  }
}
