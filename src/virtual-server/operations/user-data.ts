/** The user data in the Secret that spec names, which an order sends. */
import { missing, type Missing } from '../../accounts/decision/failure.ts';
import { USER_DATA_SECRET_TYPE } from '../../api/names.ts';
import type { FromSecrets } from '../../api/ordered-fields.ts';
import { MAX_USER_DATA, type VirtualServer } from '../../api/virtual-server.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { KubeError } from '../../kube/error.ts';
import type { Session } from '../../provider/types.ts';
import type { Kube } from '../kube.ts';
import { readSecret } from './read-secret.ts';
import { readSshKeys } from './ssh-keys.ts';

type Reads = Pick<Kube, 'getSecret'>;

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
/** What decoding makes of bytes that are no UTF-8. */
const REPLACED = '\ufffd';

async function readUserData(
  { metadata: { namespace }, spec }: VirtualServer,
  kube: Reads,
): Promise<Result<{ text: string; hashKey: string } | undefined, Missing>> {
  if (spec.userDataFrom === undefined) return ok(undefined);
  const { name, key } = spec.userDataFrom.secretKeyRef;
  const where = `Secret ${namespace}/${name}, named in spec.userDataFrom,`;
  const secret = await readSecret(kube, { namespace, name, where });
  if (!secret.ok) return secret;
  const problem = (words: string): Result<never, Missing> =>
    err(missing('UserDataNotFound', `${where} ${words}${FIX}`));
  if (secret.value === undefined) return problem('does not exist');
  const { type = '', uid, data } = secret.value;
  if (type !== USER_DATA_SECRET_TYPE) {
    const message =
      `${where} is of the type ${JSON.stringify(type)}. The operator sends only Secrets of the type ${USER_DATA_SECRET_TYPE} as user ` +
      'data, and ordered nothing. The type of a Secret cannot be changed: delete it, and create it with this type';
    return err(missing('InvalidSpec', message));
  }
  const text = data[key];
  if (text === undefined || text === '') return problem(`has no key "${key}"`);
  if (text.includes(REPLACED)) return problem(`key "${key}" is no text in UTF-8`);
  if (text.length > MAX_USER_DATA)
    return problem(`key "${key}" has ${text.length} characters, more than ${MAX_USER_DATA}`);
  return ok({ text, hashKey: uid ?? '' });
}

/** What no text of the provider may quote; undefined if it cannot be read. */
export async function userDataText({ metadata, spec }: VirtualServer, kube: Reads): Promise<string | undefined> {
  if (spec.userDataFrom === undefined) return undefined;
  const { name, key } = spec.userDataFrom.secretKeyRef;
  try {
    return (await kube.getSecret(metadata.namespace, name))?.data[key];
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return undefined;
  }
}
