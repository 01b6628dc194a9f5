/** Carries out one action at the service: the only place that calls it. Writes nothing to Kubernetes. */
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isSameAccount } from '../decision/account.ts';
import { decide } from '../decision/decide.ts';
import { cancelPurpose, isInDoubt, lookPurpose } from '../decision/doubt.ts';
import { asVouched, fingerprintOf, recognize } from '../decision/identity.ts';
import { isProvisioned } from '../decision/status.ts';
import { sshTarget } from '../decision/reach.ts';
import type { Action, Facts, Outcome } from '../decision/types.ts';
import type { Kube } from '../kube.ts';
import { ProviderError } from '../../provider/errors/provider-error.ts';
import { NotFoundError } from '../../provider/errors/not-found-error.ts';
import { ResponseError } from '../../provider/errors/response-error.ts';
import { WithheldError } from '../../provider/errors/withheld-error.ts';
import type { Session } from '../../provider/types.ts';
import type { ConnectionSecrets } from '../connection-secret/connection-secrets.ts';
import type { CreateLimit } from '../fleet/create-limit.ts';
import { definitionOf } from './definition.ts';
import { problemOf, unlessDenied } from './denial.ts';
import type { Holders } from '../fleet/holders.ts';
import type { Journal } from '../journal/journal.ts';
import type { SshProbe } from '../ssh/probe.ts';
import type { Timers } from '../../base/timers.ts';

/** How long a live read may be the reason for a DELETE (ms). */
const LIVE_READ_MS = 30_000;

export interface Performing {
  kube: Pick<Kube, 'getVirtualServer' | 'getDefinition'>;
  journal: Journal;
  holders: Holders;
  limit: CreateLimit;
  /** A new name for an attempt. */
  mint: () => string;
  /** True while no other process can be the active one; asked in the moment in which a create or a DELETE is sent. */
  leads: () => boolean;
  timers: Timers;
  probe: SshProbe;
  connections: ConnectionSecrets;
}

/** The object of a visit; `facts` looks at another version of it with all that the visit has gathered. */
export interface Target {
  object: VirtualServer;
  session: Session | undefined;
  facts: (object: VirtualServer) => Facts;
  /** A newer version of the object was read. */
  saw: (live: VirtualServer | undefined) => void;
}

export async function perform(action: Action, target: Target, room: Performing): Promise<Outcome> {
  try {
    return await call(action, target, room);
  } catch (error) {
    if (error instanceof ProviderError) return { type: 'failed', error };
    throw error;
  }
}

async function call(action: Action, target: Target, room: Performing): Promise<Outcome> {
  switch (action.type) {
    case 'wait':
    case 'record':
      return { type: 'done' };
    case 'park': {
      const connection = action.empties === true ? await room.connections.empty(target.object) : undefined;
      return { type: 'done', ...(connection && { connection }) };
    }
    case 'release':
      await room.connections.letGo(target.object);
      return { type: 'done' };
    case 'claim':
      return mint(action, target, room);
    case 'create':
      return create(action, target, room);
    case 'adopt':
      return adopt(action, target, room);
    case 'pollTask':
      return pollTask(action.task, action.record.account, sessionOf(target));
    case 'readServer':
      return lookedAt(await readServer(action.identifier, action.record.account, target), action.record, target, room);
    case 'deleteServer':
      return deleteServer(action, target, room);
    case 'gather':
      throw new Error('facts are gathered before anything is performed');
  }
}

function sessionOf({ session }: Target): Session {
  if (session === undefined) throw new Error('an action that calls the service was decided without credentials');
  return session;
}

async function mint(action: Extract<Action, { type: 'claim' }>, target: Target, room: Performing): Promise<Outcome> {
  const { namespace, name, uid } = target.object.metadata;
  const attempt = room.mint();
  const mintedAt = new Date(target.facts(target.object).now).toISOString();
  await room.journal.minted({ namespace, name, uid, attempt, account: action.account, mintedAt });
  return { type: 'minted', attempt };
}

async function create(action: Extract<Action, { type: 'create' }>, target: Target, room: Performing): Promise<Outcome> {
  const { namespace, uid } = target.object.metadata;
  const { attempt, request } = action;
  const session = sessionOf(target);
  await room.journal.sending(uid, attempt);
  const result = await session.createServer(request, room.leads);
  if (result.kind === 'created') await room.journal.task(uid, attempt, result.task);
  if (result.kind === 'notCreated' || result.kind === 'refused') {
    room.limit.giveBack(namespace, uid);
    await room.journal.createdNothing(uid, attempt);
  }
  return { type: 'sent', result };
}

async function pollTask(task: number, account: string | undefined, session: Session): Promise<Outcome> {
  const poll = async (): Promise<Outcome> => {
    const polled = await session.pollTask(task);
    if (polled.state === 'complete') return { type: 'complete', identifier: polled.identifier };
    return { type: 'pending', identifier: polled.identifier, status: polled.status };
  };
  const asked = await unlessDenied(poll, () => problemOf(session, account));
  return 'detail' in asked ? { type: 'taskNotFound', ...asked } : asked.found;
}

async function readServer(identifier: string, account: string | undefined, target: Target): Promise<Outcome> {
  const session = sessionOf(target);
  const { metadata, status } = target.object;
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

/** The identifier is reserved until the visit ends, so that of two adopters only one comes to hold it. */
async function adopt(action: Extract<Action, { type: 'adopt' }>, target: Target, room: Performing): Promise<Outcome> {
  const { metadata, spec } = target.object;
  const { namespace, name, uid } = metadata;
  const { account } = sessionOf(target);
  const { identifier } = action;
  const others = room.holders.others(uid);
  const before = others.withServer(identifier, { account });
  const holding = { namespace, name, secret: spec.apiKeySecretRef.name, account, identifier };
  if (before.length === 0) room.holders.reserve(uid, holding);
  const found = await readServer(identifier, undefined, target);
  // Only who can read the server is told whether others hold it.
  if (found.type !== 'server') return found;
  // Another key of the same account has another name: that it is one server shows only now. Who came later gives way.
  const fingerprint = fingerprintOf(found.server);
  const holders = before.length > 0 ? before : others.withServer(identifier, { account, fingerprint, held: true });
  return holders.length === 0 ? found : { type: 'held', holders };
}

/**
 * A server that was read: its SSH server is asked, and its connection Secret written, where spec wants that. Not for a server
 * that may be another one: its password is not for this object.
 */
async function lookedAt(
  outcome: Outcome,
  record: ServerRecord,
  { object, facts }: Target,
  room: Performing,
): Promise<Outcome> {
  if (outcome.type !== 'server') return outcome;
  const { memo } = facts(object);
  const { server, account } = outcome;
  const own = asVouched(record, account, memo);
  if (!recognize(object, own, server, account, lookPurpose(object, memo)).ok) return outcome;
  const where = sshTarget(object, outcome.server);
  const probed = where && (await room.probe(where, object.metadata.namespace));
  const connection = await room.connections.write(object, outcome.server);
  return { ...outcome, ...(probed && { probed }), ...(connection && { connection }) };
}

/**
 * The server is read and recognized first: it may be another one that was given the identifier. The object is read live and
 * decided on again: nothing is cancelled on the word of a cache.
 */
async function deleteServer(
  action: Extract<Action, { type: 'deleteServer' }>,
  target: Target,
  room: Performing,
): Promise<Outcome> {
  const { record, identifier } = action;
  const { namespace, name, uid } = target.object.metadata;
  const session = sessionOf(target);
  const shown = await readServer(identifier, record.account, target);
  if (shown.type === 'server') {
    const { object } = target;
    const { memo } = target.facts(object);
    const { server, account } = shown;
    const own = asVouched(record, account, memo);
    if (!recognize(object, own, server, account, cancelPurpose(object, memo)).ok) return shown;
  } else if (!mayBeUnseen(shown, record, session, target)) return shown;
  const askedAt = room.timers.monotonic();
  const live = await room.kube.getVirtualServer(namespace, name);
  const same = live?.metadata.uid === uid ? live : undefined;
  target.saw(same);
  if (same === undefined) return { type: 'changed' };
  const again = decide(same, target.facts(same));
  if (again.type !== 'deleteServer' || again.identifier !== identifier) return { type: 'changed' };
  const definition = await definitionOf(room.kube);
  if (definition !== 'kept' && definition !== 'deletionAllowed') return { type: 'heldBack', definition };
  try {
    // A process that was suspended since must not act on what was true before.
    const maySend = (): boolean => room.leads() && room.timers.monotonic() - askedAt < LIVE_READ_MS;
    await session.deleteServer(identifier, maySend);
    return { type: 'cancelled' };
  } catch (error) {
    if (!(error instanceof NotFoundError)) {
      if (error instanceof ProviderError && mayHaveActed(error)) return { type: 'failed', error, cancelAsked: true };
      throw error;
    }
    if (shown.type !== 'server') return shown;
    throw new ResponseError(404, 'deleteServer: the provider answered 404 for a server that it shows');
  }
}

/** The DELETE has left, and no answer of the provider says that it was refused. */
function mayHaveActed(error: ProviderError): boolean {
  const isAnswered = error instanceof ResponseError && error.status < 500;
  return !isAnswered && !(error instanceof WithheldError) && !REFUSED.has(error.code);
}

/** Codes of errors that come before a DELETE leaves, or that refuse it. */
const REFUSED = new Set(['PROVIDER_INVALID_CREDENTIALS', 'PROVIDER_UNAUTHORIZED', 'PROVIDER_RATE_LIMITED']);

/**
 * A DELETE may find a server that reads do not show yet. Not one that was read before: its identifier may have become another
 * server's since.
 */
function mayBeUnseen(shown: Outcome, record: ServerRecord, session: Session, { object, facts }: Target): boolean {
  const { account, fingerprint, mode, missingAt } = record;
  const wasRead = fingerprint !== undefined || mode === 'adopt' || missingAt !== undefined;
  const isOther = account !== undefined && !isSameAccount(account, session.account);
  const counts = shown.type === 'serverNotFound' && shown.counts;
  return counts && !wasRead && !isOther && !isInDoubt(object, facts(object).memo);
}
