/** Compares the identifiers of servers: they are host labels, whose case does not count. */

export function isSameIdentifier(a: string | undefined, b: string | undefined): boolean {
  return a?.toLowerCase() === b?.toLowerCase();
}

/** The same text for every spelling of an identifier, as a key of a map. */
export function identifierKey(identifier: string): string {
  return identifier.toLowerCase();
}
