/** The change between two values, as the API server takes it. Pure. */
import { isDeepEqual, isObject } from '../base/deep-equal.ts';

/**
 * The JSON merge patch (RFC 7396) that turns `previous` into `next`: `null` removes a field, and lists are replaced as a
 * whole. An `undefined` field counts as absent; a merge patch cannot set a field to `null`.
 */
export function mergePatch(previous: object, next: object): Record<string, unknown> {
  const before = previous as Record<string, unknown>;
  const after = next as Record<string, unknown>;
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(before)) {
    if (before[key] !== undefined && after[key] === undefined) patch[key] = null;
  }
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined || isDeepEqual(before[key], value)) continue;
    patch[key] = isObject(value) && isObject(before[key]) ? mergePatch(before[key], value) : value;
  }
  return patch;
}
