/** Compares JSON values. */

/** An `undefined` field counts as absent; the order of keys does not matter. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isDeepEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const isEqual = (key: string): boolean => isDeepEqual(a[key], b[key]);
  return Object.keys(a).every(isEqual) && Object.keys(b).every((key) => Object.hasOwn(a, key) || isEqual(key));
}

/** True for a JSON object, which a list is not. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
