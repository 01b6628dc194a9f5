/** Reads tasks and servers at the provider, and tells whether a denial of the provider proves anything. */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import { callProblem, missing, reasonOf, type Missing } from '../../accounts/decision/failure.ts';
import { identifierKey, isSameIdentifier } from '../../base/identifier.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { saysCancelled } from '../../base/cancelled.ts';
import { ProviderError, ResponseError, isProviderError } from '../../provider/error.ts';
import { PagedList } from '../../provider/paged-list.ts';
import type { FailedOrder } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { fingerprintOf, isSameAccount, isSameProvider } from '../decision/identity.ts';
import { knownRecord } from '../decision/known-record.ts';
import { isUnguessable, namesOwner } from '../decision/named.ts';
import { isProvisioned, wasRead } from '../decision/server-status.ts';
import type { Unlisted } from '../decision/memo.ts';
import type { Failed, ServerAnswer, ShownServer, TaskAnswer } from '../decision/types.ts';
import { LISTED, OTHER_KEY, noProducts } from '../decision/sentences.ts';
import type { Priority, Server, Session } from '../../provider/types.ts';
import type { Visit } from '../visit.ts';
import type { LateOwner } from '../shared/holders.ts';

export async function pollTask(task: TaskNumber, account: string | undefined, session: Session): Promise<TaskAnswer> {
  const poll = async (): Promise<TaskAnswer> => {
    const polled = await session.pollTask(task);
    if (polled.state === 'complete') return { type: 'complete', identifier: polled.identifier };
    return { type: 'pending', identifier: polled.identifier, status: polled.status };
  };
  return orFailed(async () => {
    try {
      const asked = await unlessDenied(poll, () => problemOf(session, account));
      return 'detail' in asked ? { type: 'taskNotFound', ...asked } : asked.found;
    } catch (error) {
      if (!isAboutTask(error)) throw error;
      // Under another key, this number may be a different task, so the error proves as little as a denial.
      if (isOfOther(session, account)) return { type: 'taskNotFound', counts: false, detail: OTHER_KEY };
      // The whole provider may have an outage, which proves nothing about this task.
      if ((await problemOf(session, account)) !== undefined) throw error;
      return { type: 'taskFailed', error };
    }
  });
}

/** The request was incomplete or came too early, which is not about the task. */
const ABOUT_REQUEST = new Set([408, 425]);

function isAboutTask(error: unknown): error is ResponseError {
  if (!(error instanceof ResponseError) || error.code !== 'PROVIDER_RESPONSE') return false;
  return error.said !== '' && !ABOUT_REQUEST.has(error.status);
}

/** `account`: the account in the record that names the server, if any. */
export async function readServer(
  identifier: string,
  account: string | undefined,
  session: Session,
  object: VirtualServer,
): Promise<ServerAnswer> {
  const { metadata, status } = object;
  const isResync = metadata.deletionTimestamp === undefined && isProvisioned(status);
  const priority = isResync ? 'lowest' : 'high';
  return orFailed(async () => {
    let unlisted: Unlisted = 'no';
    const asked = await unlessDenied(
      () => show(identifier, priority, session),
      async (denial) => {
        const problem = await problemOf(session, account);
        if (problem !== undefined) return problem;
        const listed = await listOf(session, identifier, denial);
        unlisted = listed === undefined ? 'no' : unlistedIn(listed, object, session);
        return listed?.has(identifierKey(identifier)) === true ? LISTED : undefined;
      },
    );
    return 'detail' in asked ? { type: 'serverNotFound', ...asked, unlisted } : asked.found;
  });
}

/**
 * A key without rights may get an empty list, and a list may omit servers whose task still runs. `isShown`: a read shows the server
 * as the answer to a DELETE, so nothing is hidden.
 */
export function unlistedIn(
  listed: ReadonlySet<string>,
  object: VirtualServer,
  session: Session,
  isShown = false,
): Unlisted {
  const own = knownRecord(object);
  const isNew = own !== undefined && !wasRead(object, own);
  const isSilent = isNew ? !session.listsCreating() : listed.size === 0 && !isShown;
  return isSilent ? 'perhaps' : 'yes';
}

/** A key that has just lost its rights may get this answer too. */
const isUnclear = (denial: unknown): denial is ResponseError =>
  denial instanceof ResponseError && denial.status === 403;

/**
 * Undefined if the provider has no list of servers. After a documented denial (404), that is so too if one page of the list lacks the
 * server, or if the call fails and the provider has never shown a list: no document says how a provider without a list answers. A 403
 * is never taken for that.
 */
async function listOf(
  session: Session,
  identifier: string,
  denial: ProviderError,
): Promise<ReadonlySet<string> | undefined> {
  const ask = isUnclear(denial) ? listFor : proofFor;
  try {
    return await ask(identifier, session);
  } catch (error) {
    const isForbidden = isProviderError(error, 'PROVIDER_FORBIDDEN');
    if (!(error instanceof ProviderError) || isUnclear(denial) || isForbidden || session.listsServers()) throw error;
    return undefined;
  }
}

/**
 * The list of servers, or one page of it that has this server. Undefined if the provider has no list. Throws PagedList if one page lacks
 * the server, which proves nothing.
 */
async function listFor(identifier: string, session: Session): Promise<ReadonlySet<string> | undefined> {
  try {
    return await session.servers();
  } catch (error) {
    if (error instanceof PagedList && error.identifiers.has(identifierKey(identifier))) return error.identifiers;
    throw error;
  }
}

/** The same; undefined also if one page lacks the server: that is as if the provider had no list. */
export async function proofFor(identifier: string, session: Session): Promise<ReadonlySet<string> | undefined> {
  try {
    return await listFor(identifier, session);
  } catch (error) {
    if (error instanceof PagedList) return undefined;
    throw error;
  }
}

/** What the provider shows of the servers of failed orders. */
interface Late {
  /** The failed order whose server is shown, and that no object holds: the first one whose server is surely its own, else the first. */
  appeared?: { order: FailedOrder; owner: LateOwner };
  /** Why another one of them may exist all the same. */
  unclear?: string;
}

/** A server of another product was ordered by someone else, or by hand. */
const isOfAnother = ({ product }: FailedOrder, server: Server): boolean =>
  product !== undefined && server.product !== undefined && server.product.toLowerCase() !== product.toLowerCase();

/** Reads the servers of failed orders. */
export async function lookForFailed(
  { object, services: { holders, timers } }: Visit,
  orders: readonly FailedOrder[],
  session: Session,
): Promise<Late> {
  const { uid } = object.metadata;
  const others = holders.others(uid);
  const { account } = session;
  const held = knownRecord(object)?.identifier;
  const late: Late = {};
  for (const order of orders) {
    const isOwn = order.account === undefined || isSameAccount(order.account, account);
    // The provider may use an identifier again, or you have adopted the server.
    if (isSameIdentifier(order.identifier, held)) continue;
    const isNear = isOwn || isSameProvider(order.account, account);
    if (!isNear || others.withServer(order.identifier, { account }).length > 0) continue;
    const answer = await readServer(order.identifier, order.account, session, object);
    if (answer.type === 'server' && !saysCancelled(answer.server.status)) {
      // The provider may have given the identifier to another order since.
      const marked = namesOwner({ metadata: { uid: order.owner ?? uid } }, answer.server);
      if (marked === 'other' || (marked !== 'own' && (!isUnguessable(order) || isOfAnother(order, answer.server))))
        continue;
      // Nor one that another object holds, while it counts as missing there.
      const fingerprint = fingerprintOf(answer.server);
      if (marked !== 'own' && others.withServer(order.identifier, { account, fingerprint, missing: true }).length > 0)
        continue;
      const owner =
        marked === 'own' ? 'own' : holders.ownerOfLate(uid, answer.server, { account, now: timers.monotonic() });
      if (owner === 'own') return { appeared: { order, owner } };
      late.appeared ??= { order, owner };
      continue;
    }
    const isGone = answer.type === 'server' || (answer.type === 'serverNotFound' && answer.counts);
    if (isGone) holders.missedLate(uid, order.identifier);
    // Another key of the provider may show the server, but cannot deny it.
    if (!isOwn || isGone) continue;
    late.unclear ??=
      answer.type === 'failed' ? answer.error.message : `server ${order.identifier} is denied, but ${answer.detail}`;
  }
  return late;
}

/** One read right after the documented answer to a DELETE; undefined if the provider denies the server. */
export function readAgain(identifier: string, session: Session): Promise<ShownServer | Failed | undefined> {
  return orFailed(async () => {
    try {
      return await show(identifier, 'high', session);
    } catch (error) {
      if (!isProviderError(error, 'PROVIDER_NOT_FOUND')) throw error;
      // The list of servers tells, where there is one.
      if (isUnclear(error) && (await isListed(identifier, session)) === true) throw stillListed(error);
      return undefined;
    }
  });
}

/** Undefined if the provider has no list of servers. Throws like `listFor`, and PROVIDER_FORBIDDEN if the key may not list servers. */
async function isListed(identifier: string, session: Session): Promise<boolean | undefined> {
  return (await listFor(identifier, session))?.has(identifierKey(identifier));
}

const stillListed = ({ status }: ResponseError): ResponseError =>
  new ResponseError(status, `Reading the server failed: the provider answered ${status}, but ${LISTED}`);

/** Keeps the spelling that works in calls, however the provider spells it. */
async function show(identifier: string, priority: Priority, session: Session): Promise<ShownServer> {
  const server = await session.readServer(identifier, priority);
  return { type: 'server', server: { ...server, identifier }, account: session.account };
}

/** Turns an error of the provider client into what an order lacks; rejects with any other error. */
export async function orLacking<T>(ask: () => Promise<T>): Promise<Result<T, Missing>> {
  try {
    return ok(await ask());
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return err(lackIn(error));
  }
}

/** What an order lacks by this error. */
export const lackIn = (error: ProviderError): Missing =>
  missing(reasonOf(error), `Nothing was ordered: ${callProblem(error)}`, error.retryAfterMs);

/** Turns an error of the provider client into an answer; rejects with any other error. */
export async function orFailed<T>(ask: () => Promise<T>): Promise<T | Failed> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ProviderError) return { type: 'failed', error };
    throw error;
  }
}

/**
 * What was found, or a double denial: whether it counts as a hint that the server or task is gone, and why not, with
 * what you can do about that.
 */
type Reading<T> = { found: T } | { counts: boolean; detail: string };

/**
 * After a denial, checks for other causes, then asks once again, since a fault may have ended by then. `problem`: why a
 * denial proves nothing; undefined if it counts.
 */
async function unlessDenied<T>(
  ask: () => Promise<T>,
  problem: (denial: ProviderError) => Promise<string | undefined>,
): Promise<Reading<T>> {
  let denial: ProviderError;
  try {
    return { found: await ask() };
  } catch (error) {
    if (!(error instanceof ProviderError) || error.code !== 'PROVIDER_NOT_FOUND') throw error;
    denial = error;
  }
  const detail = await problem(denial);
  if (detail !== undefined) return { counts: false, detail };
  const second = await unlessNotFound(ask);
  return second === undefined
    ? { counts: true, detail: 'the provider answers that it does not exist' }
    : { found: second };
}

async function unlessNotFound<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isProviderError(error, 'PROVIDER_NOT_FOUND')) return undefined;
    throw error;
  }
}

export async function problemOf(session: Session, account: string | undefined): Promise<string | undefined> {
  return isOfOther(session, account) ? OTHER_KEY : listsProblem(session);
}

function isOfOther(session: Session, account: string | undefined): boolean {
  return account !== undefined && !isSameAccount(account, session.account);
}

/** A key that sees no products may belong to a suspended account, or the provider may be in trouble. */
async function listsProblem(session: Session): Promise<string | undefined> {
  try {
    return (await session.products()).length === 0 ? noProducts('no products either') : undefined;
  } catch (error) {
    // A key without rights has a separate reason.
    if (!(error instanceof ResponseError && error.status < 500) || error.code === 'PROVIDER_FORBIDDEN') throw error;
    return noProducts(`HTTP status ${error.status} instead of its products`);
  }
}
