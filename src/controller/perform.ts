/** Carries out one action at the service: the only place that calls it. Writes nothing to Kubernetes. */
import { decide } from '../decision/decide.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { isProvisioned } from '../decision/status.ts';
import { sshTarget } from '../decision/reach.ts';
import type { Action, Facts, Outcome } from '../decision/types.ts';
import type { Kube } from '../kube/types.ts';
import { ProviderError } from '../provider/errors/provider-error.ts';
import { NotFoundError } from '../provider/errors/not-found-error.ts';
import { ResponseError } from '../provider/errors/response-error.ts';
import type { Session } from '../provider/types.ts';
import type { ConnectionSecrets } from './connection-secrets.ts';
import type { CreateLimit } from './create-limit.ts';
import type { Holders } from './holders.ts';
import type { Journal } from './journal.ts';
import type { SshProbe } from './ssh-probe.ts';
import type { Timers } from './timers.ts';

/** How long a live read may be the reason for a DELETE (ms). */
const LIVE_READ_MS = 30_000;

export interface Performing {
  kube: Pick<Kube, 'getVirtualServer'>;
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
      return pollTask(action.task, sessionOf(target));
    case 'readServer':
      return lookedAt(await readServer(action.identifier, action.record.account, target), target, room);
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

async function pollTask(task: number, session: Session): Promise<Outcome> {
  try {
    const polled = await session.pollTask(task);
    if (polled.state === 'complete') return { type: 'complete', identifier: polled.identifier };
    return { type: 'pending', identifier: polled.identifier, status: polled.status };
  } catch (error) {
    if (error instanceof NotFoundError) return { type: 'taskNotFound' };
    throw error;
  }
}

async function readServer(identifier: string, account: string | undefined, target: Target): Promise<Outcome> {
  const session = sessionOf(target);
  // A server that was read before is only looked at again.
  const priority = isProvisioned(target.object.status) ? 'low' : 'high';
  try {
    const server = await session.readServer(identifier, priority);
    return { type: 'server', server, account: session.account };
  } catch (error) {
    if (error instanceof NotFoundError) return await notFound(session, account, identifier);
    throw error;
  }
}

/** The identifier is reserved until the visit ends, so that of two adopters only one comes to hold it. */
async function adopt(action: Extract<Action, { type: 'adopt' }>, target: Target, room: Performing): Promise<Outcome> {
  const { namespace, name, uid } = target.object.metadata;
  room.holders.reserve(uid, `${namespace}/${name}`, action.identifier);
  return readServer(action.identifier, undefined, target);
}

/** A server that was read: its SSH server is asked, and its connection Secret written, where spec wants that. */
async function lookedAt(outcome: Outcome, { object }: Target, room: Performing): Promise<Outcome> {
  if (outcome.type !== 'server') return outcome;
  const where = sshTarget(object, outcome.server);
  const probed = where && (await room.probe(where, object.metadata.namespace));
  const connection = await room.connections.write(object, outcome.server);
  return { ...outcome, ...(probed && { probed }), ...(connection && { connection }) };
}

/**
 * A 404 counts only with the account that the server was last seen with, and only while the service answers that key.
 * It is asked for once more after the list: the first one may have come from a fault that is over by then, and a 404 for
 * a DELETE says nothing of a server that can be read.
 */
async function notFound(session: Session, account: string | undefined, identifier: string): Promise<Outcome> {
  if (account !== session.account) {
    const detail = 'the API key or the base URL is another one than the server was last seen with';
    return { type: 'serverNotFound', proven: false, detail };
  }
  try {
    await session.products();
  } catch (error) {
    if (!(error instanceof ResponseError && error.status === 404)) throw error;
    return { type: 'serverNotFound', proven: false, detail: 'the service answers 404 for its list of products too' };
  }
  try {
    return { type: 'server', server: await session.readServer(identifier, 'high'), account: session.account };
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    return { type: 'serverNotFound', proven: true, detail: 'the service answers 404 for it' };
  }
}

/** The object is read live and decided on again: nothing is cancelled on the word of a cache. */
async function deleteServer(
  action: Extract<Action, { type: 'deleteServer' }>,
  target: Target,
  room: Performing,
): Promise<Outcome> {
  const { namespace, name, uid } = target.object.metadata;
  const askedAt = room.timers.monotonic();
  const live = await room.kube.getVirtualServer(namespace, name);
  const same = live?.metadata.uid === uid ? live : undefined;
  target.saw(same);
  if (same === undefined) return { type: 'changed' };
  const again = decide(same, target.facts(same));
  if (again.type !== 'deleteServer' || again.identifier !== action.identifier) return { type: 'changed' };
  const session = sessionOf(target);
  try {
    // A process that was suspended meanwhile must not act on what was true before.
    const maySend = (): boolean => room.leads() && room.timers.monotonic() - askedAt < LIVE_READ_MS;
    await session.deleteServer(action.identifier, maySend);
    return { type: 'cancelled' };
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const found = await notFound(session, action.record.account, action.identifier);
    if (found.type !== 'server') return found;
    throw new ResponseError(404, 'deleteServer: the service answered 404 for a server that it shows');
  }
}
