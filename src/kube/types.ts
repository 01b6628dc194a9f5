/** The Kubernetes types and interfaces that the controllers use. */
import type { KubeObject } from './resource.ts';

/** Identifies exactly one version of one object: every write carries uid and resourceVersion. */
export interface ObjectVersion {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
}

export interface MetadataPatch {
  /** The complete new list; unchanged if left out. */
  finalizers?: string[];
  /** Values to set; `null` removes an annotation. */
  annotations?: Record<string, string | null>;
}

/** Values of a Secret, decoded as UTF-8. */
export type SecretData = Record<string, string>;

/** A Secret as read; its resourceVersion changes with every write. */
export interface ReadSecret {
  data: SecretData;
  resourceVersion: string;
}

export interface SecretReader {
  /** Undefined if the Secret does not exist; KubeError `Forbidden` if the operator may not read it. */
  getSecret(namespace: string, name: string): Promise<ReadSecret | undefined>;
}

/**
 * Deleting the CustomResourceDefinition deletes every object, although no user asked to delete any single one. An
 * annotation can allow it.
 */
export type DefinitionState = 'kept' | 'deleting' | 'deletionAllowed' | 'missing';

/** How a call to the API server can fail. */
export type KubeErrorCode =
  | 'Conflict' // 409: the version is stale
  | 'Invalid' // 422: a wrong uid, or rejected by the schema
  | 'NotFound' // 404
  | 'Forbidden' // 401 and 403
  | 'Expired' // 410: the resourceVersion is too old
  | 'TooManyRequests' // 429
  | 'Rejected' // any other 4xx
  | 'ServerError' // 5xx
  | 'Unreachable' // no response: connection, TLS, deadline
  | 'TooLarge' // a response or a watch event with more bytes than the operator reads
  | 'RolledBack' // the version is older than one seen before: etcd was restored from a backup
  | 'BadResponse'; // a response of an unexpected form

/** Called synchronously; must not throw. `key` is `namespace/name`. */
export interface InformerHandler<T extends KubeObject> {
  /** Added or updated. `previous` is the cached object of the same uid, if there was one. */
  onUpsert(key: string, object: T, previous: T | undefined): void;
  /** The object with this uid is gone: deleted, missing from a relist, or replaced by an object with another uid. */
  onGone(key: string, last: T): void;
  /**
   * Called before a list request; that list shows every write answered so far. The returned function is called with the
   * list's version and objects before the handler is notified of them. It gets no objects if only the version was read.
   */
  onList?(): (resourceVersion: string, listed: readonly T[]) => void;
}

/** One supervised reflector per watched namespace (or one for all), with a cache of the fields the operator uses. */
export interface Informer<T extends KubeObject> {
  /** Adds a handler; call it before `start`. */
  subscribe(handler: InformerHandler<T>): void;
  /** Starts to list and watch, and continues after every error until `stop`. */
  start(): void;
  /** Resolves when the first list of every watched namespace is in the cache; rejects if stopped before that. */
  synced(): Promise<void>;
  get(key: string): T | undefined;
  list(): T[];
  /** How long the most silent reflector has shown no sign of life (ms): neither a response nor a failure. */
  silentForMs(): number;
  /** Resolves when all work has ended; no handler is called after that. */
  stop(): Promise<void>;
}
