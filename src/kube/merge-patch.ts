/** JSON merge patches (RFC 7396). */

type Json = Record<string, unknown>;

/**
 * The patch that turns `previous` into `next`: `null` removes a field, and lists are replaced as a whole.
 * An `undefined` field counts as absent; a merge patch cannot set a field to `null`.
 */
export function mergePatch(previous: object, next: object): Json {
  const before = previous as Json;
  const after = next as Json;
  const patch: Json = {};
  for (const key of Object.keys(before)) {
    if (before[key] !== undefined && after[key] === undefined) patch[key] = null;
  }
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined || isDeepEqual(before[key], value)) continue;
    patch[key] = isObject(value) && isObject(before[key]) ? mergePatch(before[key], value) : value;
  }
  return patch;
}

/** Compares JSON values; an `undefined` field counts as absent. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isDeepEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const isEqual = (key: string): boolean => isDeepEqual(a[key], b[key]);
  return Object.keys(a).every(isEqual) && Object.keys(b).every((key) => Object.hasOwn(a, key) || isEqual(key));
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
