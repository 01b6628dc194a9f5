/** The caller took back its leave before the request was written; nothing was sent. */
import { ProviderError } from './provider-error.ts';

export class WithheldError extends ProviderError {
  override readonly name = 'WithheldError';

  constructor() {
    super('PROVIDER_WITHHELD', 'the request was withheld: it may not be sent any more');
  }
}
