/** JSON merge patches (RFC 7396). */
import { isDeepEqual, isObject } from '../base/deep-equal.ts';

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
