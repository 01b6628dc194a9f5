/** Names the account of an API key by hashes, without revealing the key; see virtual-server/decision/account.ts. */
import { createHash } from 'node:crypto';

/** `<hash of the base URL>-<hash of base URL and key ID>`; contains no secret. */
export function accountOf(base: string, keyId: string): string {
  return `${hash(base)}-${hash(`${base}\0${keyId}`)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
