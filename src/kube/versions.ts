/** Resource versions, which can be compared as numbers (KEP-5504). */

/** True when `version` is from before `other`; both are positive integers without leading zeros. */
export function isOlder(version: string, other: string): boolean {
  return version.length === other.length ? version < other : version.length < other.length;
}
