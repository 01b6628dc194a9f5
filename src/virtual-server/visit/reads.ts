/** Reads tasks and servers, and whether a 404 of the provider says anything of what was asked for. */
import { isProviderError } from '../../provider/errors/provider-error.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isSameAccount } from '../decision/account.ts';
import { isProvisioned } from '../decision/status.ts';
import type { Outcome } from '../decision/types.ts';
import { ResponseError } from '../../provider/errors/response-error.ts';
import type { Session } from '../../provider/types.ts';

export async function pollTask(task: number, account: string | undefined, session: Session): Promise<Outcome> {
  const poll = async (): Promise<Outcome> => {
    const polled = await session.pollTask(task);
    if (polled.state === 'complete') return { type: 'complete', identifier: polled.identifier };
    return { type: 'pending', identifier: polled.identifier, status: polled.status };
  };
  const asked = await unlessDenied(poll, () => problemOf(session, account));
  return 'detail' in asked ? { type: 'taskNotFound', ...asked } : asked.found;
}

/** `account`: the one of the record that names the server, where there is one. */
export async function readServer(
  identifier: string,
  account: string | undefined,
  session: Session,
  { metadata, status }: VirtualServer,
): Promise<Outcome> {
  // A server that was read before is only looked at again, unless it is to be cancelled.
  const priority = metadata.deletionTimestamp !== undefined ? 'high' : isProvisioned(status) ? 'low' : 'normal';
  // The spelling that works in calls is kept, however the provider spells it.
  const read = async (): Promise<Outcome> => ({
    type: 'server',
    server: { ...(await session.readServer(identifier, priority)), identifier },
    account: session.account,
  });
  const asked = await unlessDenied(read, () => problemOf(session, account));
  return 'detail' in asked ? { type: 'serverNotFound', ...asked } : asked.found;
}

/** What was found, or that it was denied twice: whether that counts as a hint that it is gone, and why not. */
type Answer<T> = { found: T } | { counts: boolean; detail: string };

/**
 * Asks once more after a look at what a 404 may come from otherwise: a fault may be over by then. `problem`: why a denial
 * proves nothing; undefined: it counts.
 */
async function unlessDenied<T>(ask: () => Promise<T>, problem: () => Promise<string | undefined>): Promise<Answer<T>> {
  const attempt = async (): Promise<T | undefined> => {
    try {
      return await ask();
    } catch (error) {
      if (isProviderError(error, 'PROVIDER_NOT_FOUND')) return undefined;
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

async function problemOf(session: Session, account: string | undefined): Promise<string | undefined> {
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
