/** Describes a kind to the client: the path of its objects, their versions, and the check of each response. */
import { GROUP, SET_LABEL } from '../api/names.ts';
import type { ObjectMeta } from '../api/meta.ts';
import { KubeError } from './error.ts';

export interface KubeObject {
  metadata: ObjectMeta;
}

/** Identifies exactly one version of one object: every write carries uid and resourceVersion. */
export type ObjectVersion = Pick<ObjectMeta, 'namespace' | 'name' | 'uid' | 'resourceVersion'>;

/** All that the client needs to list, watch, read and write a kind. */
export interface Resource<T> {
  apiVersion: string;
  kind: string;
  plural: string;
  /** Throws KubeError `BadResponse` for anything that is not an object of this kind. */
  parse: (value: unknown) => T;
  /** The body that is sent for an object or for a patch; default: unchanged. */
  format?: (body: object) => object;
  /** Accept header of a read, if the operator does not use whole objects. */
  accept?: string;
}

/** The annotations of a kind to keep in memory, each with its maximum number of characters. */
export type KeptAnnotations = Readonly<Record<string, number>>;

/** Maximum number of owners kept; usually there is one. A set recognizes its members by the one that is a controller. */
const MAX_OWNERS = 16;

const OURS = `${GROUP}/`;

/** Maximum number of mistyped annotations kept; a name has at most 317 characters. */
const MAX_MISTYPED = 8;

/** The API server enforces the schema, so `parse` checks only the fields that identify an object. */
export function resource<T extends KubeObject>(
  { apiVersion, kind, plural }: Pick<Resource<T>, 'apiVersion' | 'kind' | 'plural'>,
  annotations: KeptAnnotations = {},
): Resource<T> {
  const parse = (value: unknown): T => {
    const object = requireIdentity(value, kind) as T;
    return { ...object, metadata: kept(object.metadata, annotations) };
  };
  return { apiVersion, kind, plural, parse };
}

/** Throws KubeError `BadResponse` for anything without the fields that identify a version of an object. */
export function requireIdentity(value: unknown, kind: string): { metadata: ObjectVersion } {
  const object = value as { metadata: ObjectVersion } | null | undefined;
  const { namespace, name, uid, resourceVersion } = object?.metadata ?? {};
  if (object && namespace && name && uid && resourceVersion) return object;
  throw new KubeError('BadResponse', `the answer is not a ${kind}`);
}

type Place = Pick<Resource<unknown>, 'apiVersion' | 'plural'>;

/** The path of the collection in one namespace, in all namespaces, or of a kind without namespaces. */
export function collectionOf({ apiVersion, plural }: Place, namespace?: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

/** The path of one object; `namespace` is empty for a kind without namespaces. */
export function pathOf(place: Place, namespace: string, name: string): string {
  return `${collectionOf(place, namespace || undefined)}/${encodeURIComponent(name)}`;
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** True if the first resource version is older; versions are ordered as numbers, without leading zeros (KEP-5504). */
export function isOlder(version: string, other: string): boolean {
  return version.length === other.length ? version < other : version.length < other.length;
}

/**
 * Keeps only what the operator uses: managedFields, long owner lists, other labels and annotations can be large. Writes
 * never remove the dropped fields: metadata is patched without mentioning them, and a status is written apart from it.
 */
function kept(metadata: ObjectMeta, bounds: KeptAnnotations): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const { deletionTimestamp, finalizers, annotations = {}, labels = {}, ownerReferences = [] } = metadata;
  const set = labels[SET_LABEL];
  const ours = keptAnnotations(annotations, bounds);
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(finalizers !== undefined && { finalizers }),
    ...(ownerReferences.length > 0 && {
      ownerReferences: keptOwners(ownerReferences).map(({ kind, name, uid, controller }) => ({
        kind,
        name,
        uid,
        ...(controller === true && { controller }),
      })),
    }),
    ...(set !== undefined && { labels: { [SET_LABEL]: set } }),
    ...(ours !== undefined && { annotations: ours }),
  };
}

type Owners = NonNullable<ObjectMeta['ownerReferences']>;

/** The controller is among them: without it, a set would order another member in place of this one. */
function keptOwners(owners: Owners): Owners {
  if (owners.length <= MAX_OWNERS) return owners;
  const isController = ({ controller }: Owners[number]): boolean => controller === true;
  return [...owners.filter(isController), ...owners.filter((owner) => !isController(owner))].slice(0, MAX_OWNERS);
}

/** Undefined if none is kept. A loop, because this runs for each version of each object. */
function keptAnnotations(
  annotations: Readonly<Record<string, string>>,
  bounds: KeptAnnotations,
): Record<string, string> | undefined {
  let ours: Record<string, string> | undefined;
  let mistyped = 0;
  for (const annotation in annotations) {
    if (!annotation.startsWith(OURS)) continue;
    const bound = Object.hasOwn(bounds, annotation) ? bounds[annotation] : undefined;
    if (bound === undefined && (mistyped += 1) > MAX_MISTYPED) continue;
    ours ??= {};
    // For mistyped annotations, the names are enough to report them.
    ours[annotation] = bound === undefined ? '' : bounded(annotations[annotation] ?? '', bound);
  }
  return ours;
}

/** The ellipsis makes a cut text invalid, including the last name in a list of names. */
function bounded(text: string, bound: number): string {
  // Copy the slice: a slice would keep the whole text in memory.
  return text.length <= bound ? text : `${Buffer.from(text.slice(0, bound)).toString()}…`;
}
