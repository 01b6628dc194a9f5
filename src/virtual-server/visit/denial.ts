/** Whether a 404 of the provider says anything of the thing that was asked for. */
import { isSameAccount } from '../decision/account.ts';
import { NotFoundError } from '../../provider/errors/not-found-error.ts';
import { ResponseError } from '../../provider/errors/response-error.ts';
import type { Session } from '../../provider/types.ts';

/** What was found, or that it was denied twice: whether that counts as a hint that it is gone, and why not. */
type Asked<T> = { found: T } | { counts: boolean; detail: string };

/**
 * Asks once more after a look at what a 404 may come from otherwise: a fault may be over by then. `problem`: why a denial
 * proves nothing; undefined: it counts.
 */
export async function unlessDenied<T>(
  ask: () => Promise<T>,
  problem: () => Promise<string | undefined>,
): Promise<Asked<T>> {
  const attempt = async (): Promise<T | undefined> => {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  };
  const first = await attempt();
  if (first !== undefined) return { found: first };
  const detail = await problem();
  if (detail !== undefined) return { counts: false, detail };
  const second = await attempt();
  return second === undefined ? { counts: true, detail: 'the provider answers 404 for it' } : { found: second };
}

export async function problemOf(session: Session, account: string | undefined): Promise<string | undefined> {
  const isOther = account !== undefined && !isSameAccount(account, session.account);
  return isOther ? 'the API key or the base URL differs from the one it was last seen with' : listsProblem(session);
}

/** A key that sees no product may be one of a suspended account, and the provider be in trouble. */
async function listsProblem(session: Session): Promise<string | undefined> {
  try {
    return (await session.products()).length === 0 ? 'the provider lists no products either' : undefined;
  } catch (error) {
    if (!(error instanceof ResponseError && error.status < 500)) throw error;
    return `the provider answers ${error.status} for its list of products`;
  }
}
