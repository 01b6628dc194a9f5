/** The user data in the Secret or ConfigMap that spec names, which an order sends. */
import { createHmac } from 'node:crypto';
import { missing, type Missing } from '../../accounts/decision/failure.ts';
import { USER_DATA_SECRET_TYPE } from '../../api/names.ts';
import type { FromSecrets } from '../../api/ordered-fields.ts';
import {
  subjectOf,
  unusableText,
  userDataProblem,
  userDataSourceOf,
  type UserDataSource,
} from '../../api/user-data.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { ended } from '../../base/text.ts';
import { KubeError } from '../../kube/error.ts';
import { isUnreadable, remedyOf } from '../../kube/failing-reads.ts';
import type { Session } from '../../provider/types.ts';
import type { Kube } from '../kube.ts';
import { readSecret } from './read-secret.ts';
import { readSshKeys } from './ssh-keys.ts';

type Reads = Pick<Kube, 'getSecret' | 'getConfigMap'>;

/** What an order sends from Secrets, and the session that quotes none of it. */
export interface OrderSecrets {
  values: FromSecrets;
  /** Keys the hash of what is sent, so that no reader of the hash can guess the user data by it. Undefined: no user data. */
  hashKey: string | undefined;
  session: Session;
}

export async function readSecrets(
  object: VirtualServer,
  kube: Reads,
  session: Session,
): Promise<Result<OrderSecrets, Missing>> {
  const sshKeys = await readSshKeys(object, kube);
  if (!sshKeys.ok) return sshKeys;
  const userData = await readUserData(object, kube);
  if (!userData.ok) return userData;
  const { text, hashKey } = userData.value ?? {};
  return ok({
    values: { sshKeysFrom: sshKeys.value, userDataFrom: text },
    hashKey,
    session: text === undefined ? session : session.hiding(text),
  });
}

const FIX =
  '. The operator ordered nothing. Put the user data there, or correct spec.userDataFrom; the operator retries automatically';

async function readUserData(
  { metadata: { namespace }, spec }: VirtualServer,
  kube: Reads,
): Promise<Result<{ text: string; hashKey: string } | undefined, Missing>> {
  if (spec.userDataFrom === undefined) return ok(undefined);
  const { kind, name, key } = userDataSourceOf(spec.userDataFrom);
  const where = whereOf(namespace, { kind, name });
  const found = await fromSource(kind, kube, { namespace, name, where });
  if (!found.ok) return found;
  const problem = (words: string, isThere: boolean): Result<never, Missing> =>
    err({ ...missing('UserDataNotFound', `${where} ${words}${FIX}`), subject: subjectOf({ name, key }, isThere) });
  if (found.value === undefined) return problem('does not exist', false);
  const { uid, data } = found.value;
  const text = data[key] ?? '';
  const broken = unusableText(key, text);
  if (broken !== undefined) return problem(broken, true);
  return ok({ text, hashKey: uid ?? '' });
}

const whereOf = (namespace: string, { kind, name }: Pick<UserDataSource, 'kind' | 'name'>): string =>
  `${kind} ${namespace}/${name}, named in spec.userDataFrom,`;

/**
 * Why no new order may send the user data that was read. An order that was sent with it is repeated all the same: it has to stay the
 * same.
 */
export function brokenUserData(
  { metadata: { namespace }, spec }: VirtualServer,
  { values }: OrderSecrets,
): Missing | undefined {
  const broken = values.userDataFrom === undefined ? undefined : userDataProblem(values.userDataFrom);
  if (broken === undefined || spec.userDataFrom === undefined) return undefined;
  const source = userDataSourceOf(spec.userDataFrom);
  const message = `${whereOf(namespace, source)} key "${source.key}" ${broken}${FIX}`;
  return { ...missing('UserDataNotFound', message), subject: subjectOf(source, true) };
}

interface Named {
  namespace: string;
  name: string;
  /** The object, and the field that names it. */
  where: string;
}

/** Undefined if there is none. */
type Found = Result<{ uid?: string; data: Readonly<Record<string, string>> } | undefined, Missing>;

const fromSource = (kind: 'Secret' | 'ConfigMap', ...asked: Parameters<typeof fromSecret>): Promise<Found> =>
  (kind === 'Secret' ? fromSecret : fromConfigMap)(...asked);

/** Only a Secret that is made for it: everyone who may create a VirtualServer could read any other one on the server. */
async function fromSecret(kube: Reads, { namespace, name, where }: Named): Promise<Found> {
  const secret = await readSecret(kube, { namespace, name, where });
  if (!secret.ok || secret.value === undefined) return secret;
  const { type = '', uid, data } = secret.value;
  if (type === USER_DATA_SECRET_TYPE) return ok({ ...(uid !== undefined && { uid }), data });
  const message =
    `${where} is of the type ${JSON.stringify(type)}. The operator sends only Secrets of the type ${USER_DATA_SECRET_TYPE} as user ` +
    'data, and ordered nothing. The type of a Secret cannot be changed: delete it, and create it with this type';
  return err(missing('InvalidSpec', message));
}

const ADD_RIGHT =
  'Ask an administrator to add the component user-data-config-maps (in the Helm chart: userDataConfigMaps.enabled), or use a ' +
  'Secret; the operator retries automatically';

async function fromConfigMap(kube: Reads, { namespace, name, where }: Named): Promise<Found> {
  try {
    const found = await kube.getConfigMap(namespace, name);
    return ok(found && { uid: found.metadata.uid, data: found.data });
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    const message = `${where} cannot be read: ${ended(error.message)} The operator ordered nothing. ${remedyOf(error, ADD_RIGHT)}`;
    return err(missing('UserDataForbidden', message));
  }
}

/** Hexadecimal digits. */
const DIGEST_LENGTH = 4;

/**
 * What the record keeps of user data; undefined if there is none. Everyone who may read the object can read it and try texts, so it has
 * only 16 bits: one text in 65,536 fits, so it gives away no secret that withstands guessing. For the same reason, one change in 65,536
 * goes unnoticed. The uid makes equal user data of two objects look different.
 */
export function userDataDigest({ metadata }: VirtualServer, text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  return createHmac('sha256', metadata.uid).update(text).digest('hex').slice(0, DIGEST_LENGTH);
}

/**
 * What no text of the provider may quote; undefined if it cannot be read, or if no order may send it: what is masked in a text would
 * tell what is in any Secret.
 */
export async function userDataText({ metadata, spec }: VirtualServer, kube: Reads): Promise<string | undefined> {
  if (spec.userDataFrom === undefined) return undefined;
  const { namespace } = metadata;
  const { kind, name, key } = userDataSourceOf(spec.userDataFrom);
  const where = `${kind} ${namespace}/${name}`;
  try {
    const found = await fromSource(kind, kube, { namespace, name, where });
    return found.ok ? found.value?.data[key] : undefined;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return undefined;
  }
}
