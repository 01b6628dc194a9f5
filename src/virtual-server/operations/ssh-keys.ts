/** The SSH keys that an order sends: those in spec, and those in the Secrets that spec names. */
import { missing, type Missing } from '../../accounts/decision/failure.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { KubeError } from '../../kube/error.ts';
import type { Kube } from '../kube.ts';

const FIX =
  '. The operator ordered nothing. Put SSH public keys there, or correct spec.sshKeysFrom; the operator retries automatically';

/** Inline keys first, then keys from Secrets, one per line. */
export async function readSshKeys(
  object: VirtualServer,
  kube: Pick<Kube, 'getSecret'>,
): Promise<{ ok: true; text: string } | Missing> {
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

/** Type, base64 body, and an optional comment. Options before the type are not allowed. */
const KEY_LINE = /^((?:ssh|ecdsa|sk)-[^\s"]+)[ \t]+(AAAA[A-Za-z0-9+/]+={0,2})(?:[ \t].*)?$/;

/**
 * The public keys in a text of several lines, as in authorized_keys. The content of a Secret goes to the provider only if
 * every line has the structure of a public key: anything else could be another secret. `problem` never quotes the text.
 */
export type PublicKeys = { ok: true; keys: string[] } | { ok: false; problem: string };

export function parsePublicKeys(text: string): PublicKeys {
  if (text.includes('PRIVATE KEY')) return refused('it holds a private key; only public keys are sent');
  const keys: string[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const key = line.trim();
    if (key === '' || key.startsWith('#')) continue;
    if (!isPublicKey(key)) return refused(`line ${index + 1} is not an SSH public key such as "ssh-ed25519 AAAA..."`);
    keys.push(key);
  }
  return keys.length === 0 ? refused('it holds no SSH public key') : { ok: true, keys };
}

function refused(problem: string): PublicKeys {
  return { ok: false, problem };
}

/** RFC 4253, 6.6: the body starts with the length and the name of its type, then comes the key. */
function isPublicKey(line: string): boolean {
  const [, type = '', body = ''] = KEY_LINE.exec(line) ?? [];
  const bytes = Buffer.from(body, 'base64');
  const start = 4 + type.length;
  if (type === '' || bytes.length <= start) return false;
  return bytes.readUInt32BE(0) === type.length && bytes.subarray(4, start).equals(Buffer.from(type));
}
