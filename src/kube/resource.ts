/** Our kinds as the API server serves them: where they lie, and the check of what comes back. */
import { INPUT_ANNOTATIONS } from '../api/annotations.ts';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, GROUP, KIND, PLURAL, RECORD_ANNOTATION } from '../api/names.ts';
import type { ServerCatalog } from '../api/server-catalog.ts';
import type { ObjectMeta, VirtualServer } from '../api/virtual-server.ts';
import { KubeError } from './error.ts';

export interface KubeObject {
  metadata: ObjectMeta;
}

/** What has to be known of a kind to list, watch and patch it. */
export interface Resource<T extends KubeObject> {
  kind: string;
  plural: string;
  /** Throws KubeError `BadResponse` for anything that is no such object. */
  parse: (value: unknown) => T;
}

export const VIRTUAL_SERVERS: Resource<VirtualServer> = resource(KIND, PLURAL);
export const SERVER_CATALOGS: Resource<ServerCatalog> = resource(CATALOG_KIND, CATALOG_PLURAL);

/** As many owners are named; one is the rule. */
const MAX_OWNERS = 3;

/** An annotation has at most 317 characters in its name. */
const MAX_MISTYPED = 8;

/** The collection in a namespace, or in all of them. */
export function collectionOf({ plural }: Pick<Resource<KubeObject>, 'plural'>, namespace?: string): string {
  if (namespace === undefined) return `/apis/${API_VERSION}/${plural}`;
  return `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** The API server has enforced the schema, so only what identifies an object is looked at. */
function resource<T extends KubeObject>(kind: string, plural: string): Resource<T> {
  const parse = (value: unknown): T => {
    const object = value as T | null | undefined;
    const metadata = object?.metadata;
    if (!metadata?.name || !metadata.namespace || !metadata.uid || !metadata.resourceVersion) {
      throw new KubeError('BadResponse', `the answer is not a ${kind}`);
    }
    return { ...object, metadata: kept(metadata) } as T;
  };
  return { kind, plural, parse };
}

/**
 * Keeps only what the operator uses: labels, managedFields, many owners and other annotations can be large. Writes
 * are patches that do not mention what is dropped here, so they never remove it.
 */
function kept(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const { deletionTimestamp, finalizers, annotations = {}, ownerReferences = [] } = metadata;
  const known: readonly string[] = [RECORD_ANNOTATION, ...INPUT_ANNOTATIONS];
  // Of mistyped ones the names are enough to say so.
  const mistyped = Object.keys(annotations)
    .filter((annotation) => annotation.startsWith(`${GROUP}/`) && !known.includes(annotation))
    .slice(0, MAX_MISTYPED)
    .map((annotation) => [annotation, ''] as const);
  const ours = known.flatMap((annotation) => {
    const text = annotations[annotation];
    return text === undefined ? [] : [[annotation, bounded(text, boundOf(annotation))] as const];
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
      ownerReferences: ownerReferences.slice(0, MAX_OWNERS).map((owner) => ({ kind: owner.kind, name: owner.name })),
    }),
    ...(ours.length + mistyped.length > 0 && { annotations: Object.fromEntries([...ours, ...mistyped]) }),
  };
}

/** The longest record that the schema allows has about 34,000 characters; all other valid values are shorter than 4,096. */
function boundOf(annotation: string): number {
  return annotation === RECORD_ANNOTATION ? 40_000 : 4_096;
}

/** The mark at the end of a cut text makes it invalid, also the last name in a list of names. */
function bounded(text: string, bound: number): string {
  // A slice keeps the whole text in memory, a copy does not.
  return text.length <= bound ? text : `${Buffer.from(text.slice(0, bound)).toString()}…`;
}
