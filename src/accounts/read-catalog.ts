/** The provider's lists, as the key of an object sees them, or why they cannot be had. */
import { missing, reasonOf, type Missing } from './decision/failure.ts';
import { ProviderError } from '../provider/errors/provider-error.ts';
import type { Catalog, Session } from '../provider/types.ts';

/** A token in hand and the lists just answered: a provider that is down costs no claim. */
export async function readCatalog(
  session: Session,
  maxAgeMs: number,
): Promise<{ ok: true; catalog: Catalog } | Missing> {
  try {
    await session.ensureToken();
    return { ok: true, catalog: await session.catalog(maxAgeMs) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return missing(reasonOf(error), error.message, error.retryAfterMs);
  }
}
