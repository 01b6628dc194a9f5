/** Compares account names, which provider/account.ts creates. Pure. */

/** Separates the hash of the base URL from the hash of both; names from earlier versions have only the second one. */
const SEPARATOR = '-';

/** True if both name the same key ID at the same base URL. An unknown account equals no other. */
export function isSameAccount(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || ((providerOf(a) === undefined || providerOf(b) === undefined) && keyOf(a) === keyOf(b));
}

/**
 * True if both used the same base URL, whatever the key ID. A name without its first part identifies only its account.
 */
export function isSameProvider(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return isSameAccount(a, b) || (providerOf(a) !== undefined && providerOf(a) === providerOf(b));
}

function providerOf(account: string): string | undefined {
  const end = account.indexOf(SEPARATOR);
  return end === -1 ? undefined : account.slice(0, end);
}

function keyOf(account: string): string {
  return account.slice(account.indexOf(SEPARATOR) + 1);
}
