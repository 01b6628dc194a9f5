/**
 * Carries out one action: provider calls, journal entries, the connection Secret, the SSH check. Never writes the
 * object itself. Outcomes are plain data; everything that an action needs to know was gathered before.
 */
import type { ServerRecord } from '../../api/record.ts';
import { isConfirmed } from '../decision/confirmation.ts';
import { recognizeFor } from '../decision/doubt.ts';
import { fingerprintOf } from '../decision/identity.ts';
import { sshTarget } from '../decision/reach.ts';
import type { Action, Outcome } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import { isProviderError, ProviderError, ResponseError } from '../../provider/error.ts';
import type { OpenOrder, Session } from '../../provider/types.ts';
import type { ConnectionSecrets } from '../connection-secret/connection-secrets.ts';
import type { CreateLimit } from '../fleet/create-limit.ts';
import { pollTask, readAgain, readServer } from './reads.ts';
import type { Holders } from '../fleet/holders.ts';
import type { Journal } from '../journal/journal.ts';
import type { SshProbe } from '../ssh/probe.ts';
import type { Timers } from '../../base/timers.ts';

/** How long a live read may justify a DELETE (ms). */
const LIVE_READ_MS = 30_000;

export interface PerformRooms {
  journal: Journal;
  holders: Holders;
  limit: CreateLimit;
  /** Returns a new name for an attempt. */
  mint: () => string;
  /** True while no other process can be the active one; checked at the moment a create or a DELETE is sent. */
  leads: () => boolean;
  timers: Timers;
  probe: SshProbe;
  connections: ConnectionSecrets;
}

/** What the action was decided on; `session` belongs to the credentials in its facts, `opened` to the order. */
export interface PerformTarget {
  view: View;
  session: Session | undefined;
  opened?: OpenOrder | undefined;
}

export async function perform(action: Action, target: PerformTarget, room: PerformRooms): Promise<Outcome> {
  try {
    return await call(action, target, room);
  } catch (error) {
    if (error instanceof ProviderError) return { type: 'failed', error };
    throw error;
  }
}

async function call(action: Action, target: PerformTarget, room: PerformRooms): Promise<Outcome> {
  switch (action.type) {
    case 'wait':
    case 'record':
      return { type: 'done' };
    case 'park': {
      const connection = action.empties === true ? await room.connections.empty(target.view.object) : undefined;
      return { type: 'done', ...(connection && { connection }) };
    }
    case 'release':
      await room.connections.letGo(target.view.object, action.why === 'cancelled' || action.why === 'gone');
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
      return lookedAt(await read(action.identifier, action.record.account, target), action.record, target.view, room);
    case 'deleteServer':
      return deleteServer(action, target, room);
    case 'gather':
      throw new Error('facts are gathered before anything is performed');
  }
}

function sessionOf({ session }: PerformTarget): Session {
  if (session === undefined) throw new Error('an action that calls the provider was decided without credentials');
  return session;
}

const read = (identifier: string, account: string | undefined, target: PerformTarget): Promise<Outcome> =>
  readServer(identifier, account, sessionOf(target), target.view.object);

async function mint(
  action: Extract<Action, { type: 'claim' }>,
  target: PerformTarget,
  room: PerformRooms,
): Promise<Outcome> {
  const { namespace, name, uid } = target.view.object.metadata;
  const attempt = room.mint();
  const mintedAt = new Date(room.timers.now()).toISOString();
  await room.journal.minted({ namespace, name, uid, attempt, account: action.account, mintedAt });
  return { type: 'minted', attempt };
}

async function create(
  action: Extract<Action, { type: 'create' }>,
  target: PerformTarget,
  room: PerformRooms,
): Promise<Outcome> {
  const { namespace, uid } = target.view.object.metadata;
  const { attempt, request } = action;
  if (target.opened === undefined) throw new Error('an attempt was claimed before its order was opened');
  const result = await target.opened.send(request, {
    maySend: room.leads,
    sending: () => room.journal.sending(uid, attempt),
    unsent: () => room.journal.createdNothing(uid, attempt),
  });
  if (result.kind === 'created') await room.journal.task(uid, attempt, result.task);
  if (result.kind === 'notCreated' || result.kind === 'refused') {
    room.limit.giveBack(namespace, uid);
    await room.journal.createdNothing(uid, attempt);
  }
  return { type: 'sent', result };
}

/** Reserves the identifier until the visit ends, so that only one of two adopters gets to hold it. */
async function adopt(
  action: Extract<Action, { type: 'adopt' }>,
  target: PerformTarget,
  room: PerformRooms,
): Promise<Outcome> {
  const { metadata, spec } = target.view.object;
  const { namespace, name, uid } = metadata;
  const { account } = sessionOf(target);
  const { identifier } = action;
  const others = room.holders.others(uid);
  const before = others.withServer(identifier, { account });
  const holding = { namespace, name, secret: spec.apiKeySecretRef.name, account, identifier };
  if (before.length === 0) room.holders.reserve(uid, holding);
  const found = await read(identifier, undefined, target);
  // Only an object whose key can read the server learns whether others hold it.
  if (found.type !== 'server') return found;
  // Another key of the same account has another account name, so only the read shows that it is the same server. The
  // later object gives way.
  const fingerprint = fingerprintOf(found.server);
  const holders = before.length > 0 ? before : others.withServer(identifier, { account, fingerprint, held: true });
  return holders.length === 0 ? found : { type: 'held', holders };
}

/**
 * For a server that was read: checks its SSH server and writes its connection Secret, if the spec asks for that. Skips
 * a server that may be another one, since its password does not belong to this object.
 */
async function lookedAt(outcome: Outcome, record: ServerRecord, view: View, room: PerformRooms): Promise<Outcome> {
  if (outcome.type !== 'server' || !recognizeFor('look', view, record, outcome).ok) return outcome;
  const { object } = view;
  const where = sshTarget(object, outcome.server);
  const probed = where && (await room.probe(where, object.metadata.namespace));
  const connection = await room.connections.write(object, outcome.server);
  return { ...outcome, ...(probed && { probed }), ...(connection && { connection }) };
}

/** Everything that a DELETE needs was checked before: see `cancellation` in decision/checks/cancellation.ts. */
async function deleteServer(
  action: Extract<Action, { type: 'deleteServer' }>,
  target: PerformTarget,
  room: PerformRooms,
): Promise<Outcome> {
  const { identifier, leave } = action;
  if (!leave.ok) return leave.outcome;
  const { shown, liveAt } = leave;
  let said: string;
  try {
    // A process that was suspended since the live read must not act on outdated facts.
    const maySend = (): boolean => room.leads() && room.timers.monotonic() - liveAt < LIVE_READ_MS;
    said = await sessionOf(target).deleteServer(identifier, maySend);
  } catch (error) {
    if (!isProviderError(error, 'PROVIDER_NOT_FOUND')) {
      if (error instanceof ProviderError && mayHaveActed(error)) return { type: 'failed', error, cancelAsked: true };
      throw error;
    }
    if (shown.type !== 'server') return shown;
    throw new ResponseError(404, 'Cancelling the server failed: the provider answered 404 for a server that it shows');
  }
  return confirm(action.record, shown, said, target);
}

/** Reads the server once more, since the provider's word alone proves nothing. `shown`: as read before the DELETE. */
async function confirm(record: ServerRecord, shown: Outcome, said: string, target: PerformTarget): Promise<Outcome> {
  if (shown.type !== 'server') {
    if (shown.type !== 'serverNotFound') throw new Error('a DELETE was sent for a server that was not looked for');
    return { type: 'unconfirmed', said, shown };
  }
  try {
    const after = await readAgain(shown.server.identifier, sessionOf(target));
    if (after === undefined || isConfirmed(target.view, record, shown.server, after)) return { type: 'cancelled' };
    return { type: 'unconfirmed', said, shown: after };
  } catch (error) {
    if (error instanceof ProviderError) return { type: 'failed', error, said };
    throw error;
  }
}

/** True if the DELETE was sent and no answer of the provider refuses it. */
function mayHaveActed(error: ProviderError): boolean {
  const isAnswered = error instanceof ResponseError && error.status < 500;
  return !isAnswered && !isProviderError(error, 'PROVIDER_WITHHELD') && !REFUSED.has(error.code);
}

/** Codes of errors that occur before a DELETE is sent, or that refuse it. */
const REFUSED = new Set(['PROVIDER_INVALID_CREDENTIALS', 'PROVIDER_UNAUTHORIZED', 'PROVIDER_RATE_LIMITED']);
