/** Reads the provider's lists with the key of an object, or returns why they are unavailable. */
import { callProblem, missing, reasonOf, type Missing } from './decision/failure.ts';
import { capitalized } from '../base/text.ts';
import { ProviderError } from '../provider/errors/provider-error.ts';
import type { Catalog, Session } from '../provider/types.ts';

/** Obtains a token and fresh lists, so that an order fails before its claim if the provider is down. */
export async function readCatalog(
  session: Session,
  maxAgeMs: number,
): Promise<{ ok: true; catalog: Catalog } | Missing> {
  try {
    await session.ensureToken();
    return { ok: true, catalog: await session.catalog(maxAgeMs) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return missing(reasonOf(error), capitalized(callProblem(error)), error.retryAfterMs);
  }
}
