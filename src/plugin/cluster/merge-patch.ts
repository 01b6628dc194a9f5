/** The change between two values, as the API server takes it. Pure. */
import type { ObjectMeta } from '../../api/meta.ts';
import { isDeepEqual, isObject } from '../../base/deep-equal.ts';

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

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** What a JSON merge patch makes of a value. */
export function mergePatched(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const next = new Map(Object.entries(isObject(value) ? value : {}));
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) next.delete(key);
    else next.set(key, mergePatched(next.get(key), change));
  }
  return Object.fromEntries(next);
}

/**
 * The merge patch of `kubectl apply` for an object without a schema for strategic merges: the manifest, and `null` for each
 * field that the last apply set and the manifest leaves out.
 */
export function applyPatch(present: unknown, manifest: object): object {
  return withRemovals(lastApplied(present), manifest);
}

/** True if kubectl has applied the object, so that `kubectl apply --prune` may delete it, whatever the annotation says. */
export const wasApplied = ({
  metadata: { annotations = {} },
}: {
  metadata: Pick<ObjectMeta, 'annotations'>;
}): boolean => Object.hasOwn(annotations, LAST_APPLIED);

function lastApplied(present: unknown): object {
  const { metadata } = present as { metadata?: { annotations?: Record<string, string> } };
  try {
    const value: unknown = JSON.parse(metadata?.annotations?.[LAST_APPLIED] ?? '{}');
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function withRemovals(last: object, next: object): object {
  const after = next as Record<string, unknown>;
  const entries = Object.entries(last).flatMap(([key, before]): [string, unknown][] => {
    const value = after[key];
    if (value === undefined) return [[key, null]];
    return isObject(before) && isObject(value) ? [[key, withRemovals(before, value)]] : [];
  });
  return { ...next, ...Object.fromEntries(entries) };
}
