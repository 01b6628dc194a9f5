/**
 * Objects of one kind in the modeled API server: versions, conflicts, preconditions, finalizers, merge patches, JSON
 * patches of metadata, the status subresource, and the change log that watches read.
 */
import { isDeepStrictEqual } from 'node:util';
import { KubeError } from '../../src/kube/error.ts';
import type { OwnerReference } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/resource.ts';

export interface Stored extends KubeObject {
  spec: object;
  status?: object;
}

export interface Change<T> {
  /** The object after the change; for a deletion, its last state under a new version. */
  object: T;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  deleted: boolean;
  /** A restore of etcd made this change; watches do not report it. */
  restored?: true;
}

/** Body of a merge patch. */
export interface PatchBody {
  metadata?: {
    uid?: string;
    resourceVersion?: string;
    finalizers?: string[] | null;
    annotations?: Record<string, string | null>;
    labels?: Record<string, string | null>;
    ownerReferences?: OwnerReference[] | null;
  };
  spec?: object;
  status?: object;
}

/** The body of a DELETE: the version to delete. */
export interface Preconditions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
}

export interface KindRules<T> {
  /** Plural resource name, as in paths. */
  plural: string;
  /** Throws KubeError if objects of this kind cannot be created at present. */
  admit?: () => void;
  /** Throws KubeError if the schema forbids the change. */
  validate?: (before: T, after: T) => void;
}

export class ObjectStore<T extends Stored> {
  readonly plural: string;
  /** Every change since the beginning, oldest first. */
  readonly changes: Change<T>[] = [];
  /** Called after each change. */
  readonly listeners = new Set<() => void>();
  /** Oldest version that a watch can start from; later changes start at `index`. */
  history = { index: 0, version: 0 };
  readonly #objects = new Map<string, T>();
  readonly #rules: KindRules<T>;
  readonly #newVersion: () => string;
  readonly #newUid: () => string;
  readonly #now: () => number;

  constructor(rules: KindRules<T>, newVersion: () => string, newUid: () => string, now: () => number) {
    this.plural = rules.plural;
    this.#rules = rules;
    this.#newVersion = newVersion;
    this.#newUid = newUid;
    this.#now = now;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  /** Lists the objects as of the first `count` changes. */
  listAt(count: number): T[] {
    const objects = new Map<string, T>();
    for (const { object, deleted } of this.changes.slice(0, count)) {
      if (deleted) objects.delete(keyOf(object));
      else objects.set(keyOf(object), object);
    }
    return [...objects.values()];
  }

  /** `object` without the fields that the API server sets. */
  create(object: Omit<T, 'metadata'> & { metadata: Partial<T['metadata']> & { name: string; namespace: string } }): T {
    const { metadata } = object;
    if (this.get(metadata.namespace, metadata.name) !== undefined)
      throw new KubeError('Conflict', `${metadata.name} already exists`, { status: 409 });
    this.#rules.admit?.();
    const uid = this.#newUid();
    const creationTimestamp = new Date(this.#now()).toISOString();
    const whole = { ...object, metadata: { ...metadata, uid, generation: 1, creationTimestamp } };
    return this.#store(structuredClone(whole) as unknown as T, 'ADDED');
  }

  /** Applies a merge patch to spec; undefined removes a field. */
  editSpec(namespace: string, name: string, spec: Partial<T['spec']>): T {
    const removed = Object.entries(spec).map(([field, value]) => [field, value ?? null]);
    return this.patch(namespace, name, { spec: Object.fromEntries(removed) as object });
  }

  annotate(namespace: string, name: string, annotations: Record<string, string | null>): T {
    return this.patch(namespace, name, { metadata: { annotations } });
  }

  /** Applies a merge patch to the object; checks uid and version if the body contains them. */
  patch(namespace: string, name: string, body: PatchBody): T {
    const object = this.#existing(namespace, name);
    const { uid, resourceVersion, ...metadata } = body.metadata ?? {};
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) throw modified();
    if (uid !== undefined && uid !== object.metadata.uid) throw invalid('uid: precondition failed');
    const spec = merged(object.spec, body.spec) as object;
    const edited = !isDeepStrictEqual(spec, object.spec);
    const generation = object.metadata.generation + (edited ? 1 : 0);
    return this.#replace(object, { ...object, spec, metadata: patched({ ...object.metadata, generation }, metadata) });
  }

  /** A PUT of the status, which takes nothing else from the body. */
  putStatus(namespace: string, name: string, { metadata, status }: T): T {
    const { uid, resourceVersion } = this.#existing(namespace, name).metadata;
    if (metadata.uid !== uid || metadata.resourceVersion !== resourceVersion) throw modified();
    return this.replaceStatus(namespace, name, status);
  }

  /** Replaces the status, like `kubectl replace --subresource=status` or a backup without status. */
  replaceStatus(namespace: string, name: string, status: T['status']): T {
    return this.#replace(this.#existing(namespace, name), { ...this.#existing(namespace, name), status });
  }

  delete(namespace: string, name: string, { uid, resourceVersion }: Preconditions = {}): void {
    const object = this.#existing(namespace, name);
    const { metadata } = object;
    if (
      (uid ?? metadata.uid) !== metadata.uid ||
      (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion
    )
      throw new KubeError('Conflict', 'Precondition failed', { status: 409 });
    const { finalizers = [], deletionTimestamp, generation } = object.metadata;
    if (finalizers.length === 0) this.#remove(object);
    else if (deletionTimestamp === undefined) {
      const deleted = new Date(this.#now()).toISOString();
      const metadata = { ...object.metadata, deletionTimestamp: deleted, generation: generation + 1 };
      this.#store({ ...object, metadata }, 'MODIFIED');
    }
  }

  /** Restores the objects as of the first `count` changes, at that version; does not notify listeners. */
  restore(count: number, version: number): void {
    const old = new Map(this.listAt(count).map((object) => [keyOf(object), object]));
    const removed = this.list().filter((object) => old.get(keyOf(object))?.metadata.uid !== object.metadata.uid);
    const returned = [...old.values()].filter((object) => this.#objects.get(keyOf(object)) !== object);
    for (const object of removed) this.#objects.delete(keyOf(object));
    for (const object of returned) this.#objects.set(keyOf(object), object);
    const from = { restored: true } as const;
    for (const object of removed) this.changes.push({ object, type: 'DELETED', deleted: true, ...from });
    for (const object of returned) this.changes.push({ object, type: 'MODIFIED', deleted: false, ...from });
    this.history = { index: this.changes.length, version };
  }

  #existing(namespace: string, name: string): T {
    const object = this.get(namespace, name);
    if (object === undefined)
      throw new KubeError('NotFound', `${this.plural} "${name}" not found`, { status: 404, reason: 'NotFound' });
    return object;
  }

  #replace(before: T, after: T): T {
    const { finalizers = [], deletionTimestamp } = after.metadata;
    const added = finalizers.some((finalizer) => before.metadata.finalizers?.includes(finalizer) !== true);
    if (added && deletionTimestamp !== undefined) throw invalid('no new finalizers can be added');
    this.#rules.validate?.(before, after);
    if (deletionTimestamp !== undefined && finalizers.length === 0) return this.#remove(after);
    return isDeepStrictEqual(before, after) ? before : this.#store(after, 'MODIFIED');
  }

  #store(object: T, type: 'ADDED' | 'MODIFIED'): T {
    const stored = this.#versioned(object);
    this.#objects.set(keyOf(stored), stored);
    this.#changed({ object: stored, type, deleted: false });
    return stored;
  }

  #remove(object: T): T {
    const last = this.#versioned(object);
    this.#objects.delete(keyOf(last));
    this.#changed({ object: last, type: 'DELETED', deleted: true });
    return last;
  }

  #versioned(object: T): T {
    return frozen({ ...object, metadata: { ...object.metadata, resourceVersion: this.#newVersion() } });
  }

  #changed(change: Change<T>): void {
    this.changes.push(change);
    for (const listener of this.listeners) listener();
  }
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (patch === undefined) return target;
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(result, key);
    else result[key] = merged(result[key], value);
  }
  return result;
}

function patched<M extends KubeObject['metadata']>(metadata: M, changes: NonNullable<PatchBody['metadata']>): M {
  const { annotations, labels, finalizers, ownerReferences, ...rest } = metadata;
  const entries = (before: object = {}, patch: object = {}): object => merged(before, patch) as object;
  const [nextAnnotations, nextLabels] = [entries(annotations, changes.annotations), entries(labels, changes.labels)];
  const kept = changes.finalizers === undefined ? (finalizers ?? []) : (changes.finalizers ?? []);
  const owners = changes.ownerReferences === undefined ? (ownerReferences ?? []) : (changes.ownerReferences ?? []);
  return {
    ...rest,
    ...(Object.keys(nextAnnotations).length > 0 && { annotations: nextAnnotations }),
    ...(Object.keys(nextLabels).length > 0 && { labels: nextLabels }),
    ...(kept.length > 0 && { finalizers: [...kept] }),
    ...(owners.length > 0 && { ownerReferences: owners }),
  } as M;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function modified(): KubeError {
  return new KubeError('Conflict', 'the object has been modified', { status: 409 });
}

export function invalid(message: string): KubeError {
  return new KubeError('Invalid', message, { status: 422 });
}

/** Freezes stored objects: callers get them without a copy, and writing to one throws. */
export function frozen<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const entry of Object.values(value)) frozen(entry);
  }
  return value;
}
