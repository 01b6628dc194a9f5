/** Collects the facts that a decision asks for, one kind at a time. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { readCatalog, type Accounts } from '../../accounts/accounts.ts';
import { callProblem, missing, reasonOf } from '../../accounts/decision/failure.ts';
import { inputsOf } from '../decision/inputs.ts';
import { holdsSomething } from '../decision/record.ts';
import type { CancellationFacts, GatheredFacts, GatherKind } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import { KubeError } from '../../kube/error.ts';
import type { DefinitionState } from '../../kube/types.ts';
import type { Kube } from '../kube.ts';
import { ProviderError } from '../../provider/error.ts';
import type { OpenOrder, Session } from '../../provider/types.ts';
import type { CreateLimit } from '../fleet/create-limit.ts';
import type { Objects } from '../fleet/objects.ts';
import type { ServerQuota } from '../fleet/server-quota.ts';
import { parsePublicKeys } from './public-keys.ts';
import { readServer } from './reads.ts';
import type { Timers } from '../../base/timers.ts';

/** How old the provider's lists may be when the operator decides on a create (ms). */
const CATALOG_AGE_MS = 5_000;

export interface GatherRooms {
  kube: Pick<Kube, 'getSecret' | 'getVirtualServer' | 'getDefinition' | 'getSetDefinition'>;
  accounts: Accounts;
  limit: CreateLimit;
  quota: ServerQuota;
  timers: Timers;
  objects: Pick<Objects, 'saw'>;
}

/** The facts of one visit; `session` belongs to the credentials, `opened` to the order. */
export interface VisitFacts extends GatheredFacts {
  session?: Session;
  opened?: OpenOrder;
}

/** Resolves with the object to decide on next; undefined if it is gone. */
export async function gather(
  what: GatherKind,
  view: View,
  into: VisitFacts,
  room: GatherRooms,
): Promise<VirtualServer | undefined> {
  const { object } = view;
  const { namespace, uid } = object.metadata;
  switch (what) {
    case 'credentials':
      await gatherCredentials(view, into, room);
      break;
    case 'sshKeys':
      into.sshKeys = await readSshKeys(object, room.kube);
      break;
    case 'catalog':
      into.catalog = await readCatalog(sessionOf(into), CATALOG_AGE_MS);
      break;
    case 'place':
      into.place = { free: room.quota.reserve(namespace, uid), limit: room.quota.perNamespace };
      break;
    case 'createDelay':
      into.createDelayMs = room.limit.reserve(namespace, uid, room.timers.monotonic());
      break;
    case 'order':
      await open(view, into, room);
      break;
    case 'server':
      into.cancellation = await showServer(view, sessionOf(into));
      break;
    case 'liveObject':
      return readLive(view, into, room);
    case 'definition':
      into.cancellation = { ...begunIn(into), definition: await stateOf(room.kube.getDefinition()) };
      break;
    case 'setDefinition':
      into.cancellation = { ...begunIn(into), setDefinition: await stateOf(room.kube.getSetDefinition()) };
      break;
  }
  return object;
}

function sessionOf({ session }: VisitFacts): Session {
  if (session === undefined) throw new Error('the provider is asked before the credentials');
  return session;
}

async function gatherCredentials({ object, own, inputs, deleting, facts }: View, into: VisitFacts, room: GatherRooms) {
  const { next } = facts.memo;
  // A plan no longer counts once you have changed something, above all the annotation.
  const asked = next !== undefined && next.inputs !== inputs;
  const use = { held: own !== undefined && holdsSomething(own), deleting, asked };
  const found = await room.accounts.get(object.metadata.namespace, object.spec.apiKeySecretRef.name, use);
  if (!found.ok) {
    into.credentials = found;
    return;
  }
  const { session, note } = found;
  into.session = session;
  into.credentials = { ok: true, account: session.account, ...(note !== undefined && { note }) };
}

async function open({ object }: View, into: VisitFacts, { limit }: GatherRooms): Promise<void> {
  try {
    into.opened = await sessionOf(into).openOrder();
    into.order = { ok: true };
  } catch (error) {
    const { namespace, uid } = object.metadata;
    limit.giveBack(namespace, uid);
    if (!(error instanceof ProviderError)) throw error;
    into.order = missing(reasonOf(error), `Nothing was ordered: ${callProblem(error)}`, error.retryAfterMs);
  }
}

/** Reads the server that may have to be cancelled. Discards what was read for an earlier DELETE. */
async function showServer({ object, own }: View, session: Session): Promise<CancellationFacts> {
  if (own?.identifier === undefined) throw new Error('no server is known that could be cancelled');
  const { identifier, account } = own;
  try {
    return { identifier, shown: await readServer(identifier, account, session, object) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { identifier, shown: { type: 'failed', error } };
  }
}

/** If you have changed the object since, the server is read again too: the decision starts over. */
async function readLive(view: View, into: VisitFacts, room: GatherRooms): Promise<VirtualServer | undefined> {
  const { namespace, name, uid } = view.object.metadata;
  const { cancellation } = into;
  if (cancellation === undefined) throw new Error('the object is read live before its server');
  const liveAt = room.timers.monotonic();
  const live = await room.kube.getVirtualServer(namespace, name);
  into.cancellation = undefined;
  if (live?.metadata.uid !== uid) return undefined;
  room.objects.saw(live);
  if (inputsOf(live) === view.inputs) into.cancellation = { ...cancellation, liveAt };
  return live;
}

/** A definition is read after the object: the API server marks it for deletion before it deletes any object. */
function begunIn({ cancellation }: VisitFacts): CancellationFacts {
  if (cancellation === undefined) throw new Error('the definition is asked for before the object');
  return cancellation;
}

async function stateOf(read: Promise<DefinitionState>): Promise<DefinitionState | 'forbidden'> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof KubeError && error.code === 'Forbidden') return 'forbidden';
    throw error;
  }
}

const FIX =
  '. The operator ordered nothing. Put SSH public keys there, or correct spec.sshKeysFrom; the operator retries automatically';

/** Inline keys first, then keys from Secrets, one per line. */
async function readSshKeys(
  object: VirtualServer,
  kube: Pick<Kube, 'getSecret'>,
): Promise<NonNullable<GatheredFacts['sshKeys']>> {
  const { sshKeys = [], sshKeysFrom = [] } = object.spec;
  const keys = sshKeys.map((key) => key.trim());
  for (const { name, key } of sshKeysFrom) {
    const where = `Secret ${object.metadata.namespace}/${name}, named in spec.sshKeysFrom,`;
    let text: string | undefined;
    try {
      const secret = await kube.getSecret(object.metadata.namespace, name);
      if (secret === undefined) return missing('SSHKeyNotFound', `${where} does not exist${FIX}`);
      text = secret.data[key]?.trim();
    } catch (error) {
      if (!(error instanceof KubeError && error.code === 'Forbidden')) throw error;
      return missing(
        'SecretForbidden',
        `${where} cannot be read: ${error.message}. Grant the operator this right, or name another Secret`,
      );
    }
    if (text === undefined || text === '') return missing('SSHKeyNotFound', `${where} has no key "${key}"${FIX}`);
    const found = parsePublicKeys(text);
    if (!found.ok) return missing('SSHKeyNotFound', `${where} key "${key}": ${found.problem}${FIX}`);
    keys.push(...found.keys);
  }
  return { ok: true, text: keys.join('\n') };
}
