/** Names the account behind a key without showing the key: hashes of base URL and key ID, and how two names compare. */
import { createHash } from 'node:crypto';

/** Separates the hash of the base URL from the hash of both; names of earlier versions have only the second one. */
const SEPARATOR = '-';

/** `<hash of the base URL>-<hash of base URL and key ID>`; no secret is part of it. */
export function accountOf(base: string, keyId: string): string {
  return hash(base) + SEPARATOR + hash(`${base}\0${keyId}`);
}

/** True when both name one key ID at one base URL. An unknown account is the same as no other. */
export function isSameAccount(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || ((serviceOf(a) === undefined || serviceOf(b) === undefined) && keyOf(a) === keyOf(b));
}

/** True when both were used at one base URL, whatever the key ID. A name without its first part tells only its account. */
export function isSameService(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return isSameAccount(a, b) || (serviceOf(a) !== undefined && serviceOf(a) === serviceOf(b));
}

function serviceOf(account: string): string | undefined {
  const end = account.indexOf(SEPARATOR);
  return end === -1 ? undefined : account.slice(0, end);
}

function keyOf(account: string): string {
  return account.slice(account.indexOf(SEPARATOR) + 1);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
