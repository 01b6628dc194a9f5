/** The provider returned an HTTP error; `status` is the HTTP status, and the message quotes the provider's text. */
import { ProviderError } from './provider-error.ts';
import type { ProviderErrorDetails } from './provider-error.ts';

export class ResponseError extends ProviderError {
  override readonly name = 'ResponseError';
  readonly status: number;

  constructor(status: number, message: string, details: ProviderErrorDetails = {}) {
    super('PROVIDER_RESPONSE', message, details);
    this.status = status;
  }
}
