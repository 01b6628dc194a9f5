/** The SSH keys in the Secrets that spec names, which an order sends. */
import { missing, type Missing } from '../../accounts/decision/failure.ts';
import { publicKeysIn } from '../../api/public-key.ts';
import { subjectOf } from '../../api/user-data.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Kube } from '../kube.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { readSecret } from './read-secret.ts';

const FIX =
  '. The operator ordered nothing. Put SSH public keys there, or correct spec.sshKeysFrom; the operator retries automatically';

/** The content of a Secret goes to the provider only if every line is a public key: anything else could be another secret. */
export async function readSshKeys(
  object: VirtualServer,
  kube: Pick<Kube, 'getSecret'>,
): Promise<Result<string[], Missing>> {
  const keys: string[] = [];
  for (const { name, key } of object.spec.sshKeysFrom ?? []) {
    const where = `Secret ${object.metadata.namespace}/${name}, named in spec.sshKeysFrom,`;
    const secret = await readSecret(kube, { namespace: object.metadata.namespace, name, where });
    if (!secret.ok) return secret;
    const problem = (words: string, isThere: boolean): Result<never, Missing> =>
      err({ ...missing('SSHKeyNotFound', `${where} ${words}${FIX}`), subject: subjectOf({ name, key }, isThere) });
    if (secret.value === undefined) return problem('does not exist', false);
    const text = secret.value.data[key]?.trim();
    if (text === undefined || text === '') return problem(`has no key "${key}"`, true);
    const found = publicKeysIn(text);
    if (!found.ok) return problem(`key "${key}": ${found.error}`, true);
    keys.push(...found.value);
  }
  return ok(keys);
}
