/** The SSH keys in the Secrets that spec names, which an order sends. */
import { missing, type Missing } from '../../accounts/decision/failure.ts';
import { publicKeysIn } from '../../api/public-key.ts';
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
    if (secret.value === undefined) return err(missing('SSHKeyNotFound', `${where} does not exist${FIX}`));
    const text = secret.value.data[key]?.trim();
    if (text === undefined || text === '') return err(missing('SSHKeyNotFound', `${where} has no key "${key}"${FIX}`));
    const found = publicKeysIn(text);
    if (!found.ok) return err(missing('SSHKeyNotFound', `${where} key "${key}": ${found.error}${FIX}`));
    keys.push(...found.value);
  }
  return ok(keys);
}
