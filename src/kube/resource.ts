/** A kind as the API server serves it: where its objects lie, and the check of what comes back. */
import { GROUP } from '../api/names.ts';
import type { ObjectMeta } from '../api/meta.ts';
import { KubeError } from './error.ts';

export interface KubeObject {
  metadata: ObjectMeta;
}

/** What has to be known of a kind to list, watch, read and write it. */
export interface Resource<T extends KubeObject> {
  apiVersion: string;
  kind: string;
  plural: string;
  /** Throws KubeError `BadResponse` for anything that is no such object. */
  parse: (value: unknown) => T;
}

/** The annotations of a kind that are kept in memory, each with how many characters of it. */
export type KeptAnnotations = Readonly<Record<string, number>>;

/** As many owners are named; one is the rule. */
const MAX_OWNERS = 3;

/** An annotation has at most 317 characters in its name. */
const MAX_MISTYPED = 8;

/** The API server has enforced the schema, so only what identifies an object is looked at. */
export function resource<T extends KubeObject>(
  { apiVersion, kind, plural }: Pick<Resource<T>, 'apiVersion' | 'kind' | 'plural'>,
  annotations: KeptAnnotations = {},
): Resource<T> {
  const parse = (value: unknown): T => {
    const object = value as T | null | undefined;
    const metadata = object?.metadata;
    if (!metadata?.name || !metadata.namespace || !metadata.uid || !metadata.resourceVersion) {
      throw new KubeError('BadResponse', `the answer is not a ${kind}`);
    }
    return { ...object, metadata: kept(metadata, annotations) } as T;
  };
  return { apiVersion, kind, plural, parse };
}

type Place = Pick<Resource<KubeObject>, 'apiVersion' | 'plural'>;

/** The path of the collection in a namespace, or in all of them. */
export function collectionOf({ apiVersion, plural }: Place, namespace?: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

/** The path of one object. */
export function pathOf(place: Place, namespace: string, name: string): string {
  return `${collectionOf(place, namespace)}/${encodeURIComponent(name)}`;
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/**
 * Keeps only what the operator uses: labels, managedFields, many owners and other annotations can be large. Writes
 * are patches that do not mention what is dropped here, so they never remove it.
 */
function kept(metadata: ObjectMeta, bounds: KeptAnnotations): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const { deletionTimestamp, finalizers, annotations = {}, ownerReferences = [] } = metadata;
  // Of mistyped ones the names are enough to say so.
  const mistyped = Object.keys(annotations)
    .filter((annotation) => annotation.startsWith(`${GROUP}/`) && !Object.hasOwn(bounds, annotation))
    .slice(0, MAX_MISTYPED)
    .map((annotation) => [annotation, ''] as const);
  const ours = Object.entries(bounds).flatMap(([annotation, bound]) => {
    const text = annotations[annotation];
    return text === undefined ? [] : [[annotation, bounded(text, bound)] as const];
  });
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
      ownerReferences: ownerReferences
        .slice(0, MAX_OWNERS)
        .map(({ kind, name, uid, controller }) => ({ kind, name, uid, ...(controller === true && { controller }) })),
    }),
    ...(ours.length + mistyped.length > 0 && { annotations: Object.fromEntries([...ours, ...mistyped]) }),
  };
}

/** The mark at the end of a cut text makes it invalid, also the last name in a list of names. */
function bounded(text: string, bound: number): string {
  // A slice keeps the whole text in memory, a copy does not.
  return text.length <= bound ? text : `${Buffer.from(text.slice(0, bound)).toString()}…`;
}
