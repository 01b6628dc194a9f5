/** Collects the facts that a decision asks for, one kind at a time. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { reasonOf } from '../../accounts/decision/failure.ts';
import { inputsOf } from '../decision/inputs.ts';
import { holdsSomething, viewRecord } from '../decision/record.ts';
import type { Facts, GatherKind, Missing } from '../decision/types.ts';
import { KubeError } from '../../kube/error.ts';
import type { Kube } from '../kube.ts';
import { ProviderError } from '../../provider/errors/provider-error.ts';
import type { Session } from '../../provider/types.ts';
import type { CreateLimit } from '../fleet/create-limit.ts';
import type { Credentials } from '../../accounts/credentials.ts';
import type { Places } from '../fleet/server-quota.ts';
import { parsePublicKeys } from './public-keys.ts';
import type { Timers } from '../../base/timers.ts';

/** How old the service's lists may be when a create is decided on them (ms). */
const CATALOG_AGE_MS = 5_000;

export interface Gathering {
  kube: Pick<Kube, 'getSecret'>;
  credentials: Credentials;
  limit: CreateLimit;
  places: Places;
  timers: Timers;
}

/** The facts of one visit; `session` is what the credentials stand for. */
export interface Gathered {
  credentials?: NonNullable<Facts['credentials']>;
  sshKeys?: NonNullable<Facts['sshKeys']>;
  catalog?: NonNullable<Facts['catalog']>;
  place?: NonNullable<Facts['place']>;
  createDelayMs?: number;
  session?: Session;
}

/** What this process remembers of the object. */
type Known = Pick<Facts, 'notes' | 'memo'>;

export async function gather(
  what: GatherKind,
  object: VirtualServer,
  known: Known,
  into: Gathered,
  room: Gathering,
): Promise<void> {
  switch (what) {
    case 'credentials':
      return gatherCredentials(object, known, into, room);
    case 'sshKeys':
      into.sshKeys = await readSshKeys(object, room.kube);
      return;
    case 'catalog':
      if (into.session === undefined) throw new Error('the lists are asked for before the credentials');
      into.catalog = await readCatalog(into.session, CATALOG_AGE_MS);
      return;
    case 'place':
      into.place = {
        free: room.places.reserve(object.metadata.namespace, object.metadata.uid),
        limit: room.places.perNamespace,
      };
      return;
    case 'createDelay':
      into.createDelayMs = room.limit.reserve(object.metadata.namespace, object.metadata.uid, room.timers.monotonic());
      return;
  }
}

async function gatherCredentials(object: VirtualServer, known: Known, into: Gathered, room: Gathering): Promise<void> {
  const { namespace, deletionTimestamp } = object.metadata;
  const record = viewRecord(object, known.notes);
  const held = record.kind === 'own' && holdsSomething(record.record);
  const { next } = known.memo;
  // What was planned for an object counts no more when a person has changed something since, the annotation above all.
  const asked = next !== undefined && next.inputs !== inputsOf(object);
  const use = { held, deleting: deletionTimestamp !== undefined, asked };
  const found = await room.credentials.get(namespace, object.spec.apiKeySecretRef.name, use);
  if (!found.ok) {
    into.credentials = found;
    return;
  }
  const { session, note } = found;
  into.session = session;
  into.credentials = { ok: true, account: session.account, ...(note !== undefined && { note }) };
}

/** A token in hand and the lists just answered: a service that is down costs no claim. */
export async function readCatalog(session: Session, maxAgeMs: number): Promise<NonNullable<Facts['catalog']>> {
  try {
    await session.ensureToken();
    return { ok: true, catalog: await session.catalog(maxAgeMs) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return missing(reasonOf(error), error.message, error.retryAfterMs);
  }
}

/** Inline keys first, then those of Secrets, one a line. */
async function readSshKeys(object: VirtualServer, kube: Gathering['kube']): Promise<NonNullable<Facts['sshKeys']>> {
  const { sshKeys = [], sshKeysFrom = [] } = object.spec;
  const keys = sshKeys.map((key) => key.trim());
  for (const { name, key } of sshKeysFrom) {
    const where = `Secret ${object.metadata.namespace}/${name}, named in spec.sshKeysFrom,`;
    let text: string | undefined;
    try {
      const secret = await kube.getSecret(object.metadata.namespace, name);
      if (secret === undefined) return missing('SSHKeyNotFound', `${where} does not exist`);
      text = secret.data[key]?.trim();
    } catch (error) {
      if (!(error instanceof KubeError && error.code === 'Forbidden')) throw error;
      return missing('SecretForbidden', `${where} cannot be read: ${error.message}`);
    }
    if (text === undefined || text === '') return missing('SSHKeyNotFound', `${where} has no key "${key}"`);
    const found = parsePublicKeys(text);
    if (!found.ok) return missing('SSHKeyNotFound', `${where} key "${key}": ${found.problem}`);
    keys.push(...found.keys);
  }
  return { ok: true, text: keys.join('\n') };
}

function missing(reason: Missing['reason'], message: string, retryAfterMs?: number): Missing {
  return { ok: false, reason, message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
