/** Compares resource versions, which are ordered as numbers (KEP-5504). */

/** True if `version` is older than `other`; both are positive integers without leading zeros. */
export function isOlder(version: string, other: string): boolean {
  return version.length === other.length ? version < other : version.length < other.length;
}
