/** What the controller sees of Kubernetes. */
import type { KubeObject } from './resource.ts';

/** Names exactly one version of one object: every write carries uid and resourceVersion. */
export interface ObjectVersion {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
}

export interface MetadataPatch {
  /** The whole new list; left out: unchanged. */
  finalizers?: string[];
  /** Values to set; `null` removes. */
  annotations?: Record<string, string | null>;
}

/** Values of a Secret, decoded as UTF-8. */
export type SecretData = Record<string, string>;

/** A Secret as read; the version changes with every write, whatever it changes. */
export interface ReadSecret {
  data: SecretData;
  resourceVersion: string;
}

export interface SecretReader {
  /** Undefined when there is no such Secret; KubeError `Forbidden` where the operator may not read it. */
  getSecret(namespace: string, name: string): Promise<ReadSecret | undefined>;
}

/**
 * The deletion of the CustomResourceDefinition deletes every object, without anybody's word on a single one; it may have
 * been allowed by an annotation.
 */
export type DefinitionState = 'kept' | 'deleting' | 'deletionAllowed';

/** Kinds of failure of a call to the API server. */
export type KubeErrorCode =
  | 'Conflict' // 409: the version is stale
  | 'Invalid' // 422: a wrong uid, or refused by the schema
  | 'NotFound' // 404
  | 'Forbidden' // 401 and 403
  | 'Expired' // 410: the resourceVersion is too old
  | 'TooManyRequests' // 429
  | 'Rejected' // any other 4xx
  | 'ServerError' // 5xx
  | 'Unreachable' // no answer: connection, TLS, deadline
  | 'TooLarge' // an answer, or an event of a watch, with more bytes than the operator reads
  | 'RolledBack' // the version is older than one seen before: etcd was restored from a backup
  | 'BadResponse'; // an answer that is not what it should be

/** Called synchronously; must not throw. `key` is `namespace/name`. */
export interface InformerHandler<T extends KubeObject> {
  /** Added or updated. `previous` is the cached object of the same uid, if there was one. */
  onUpsert(key: string, object: T, previous: T | undefined): void;
  /** The object with this uid is gone: seen deleted, missing from a relist, or replaced by one with another uid. */
  onGone(key: string, last: T): void;
  /**
   * Called before a list is sent that shows every write answered until now. The returned function is called with the
   * version of the list and its objects, none where only the version was asked for, before the handler is told of them.
   */
  onList?(): (resourceVersion: string, listed: readonly T[]) => void;
}

/** A supervised reflector per watched namespace (or one for all), with a cache of what the operator uses of each object. */
export interface Informer<T extends KubeObject> {
  /** Tells this handler too, from now on; to be called before `start`. */
  subscribe(handler: InformerHandler<T>): void;
  /** Starts to list and watch; goes on through every error until `stop`. */
  start(): void;
  /** Resolves when the first list of every watched namespace is in the cache; rejects if it is stopped before that. */
  synced(): Promise<void>;
  get(key: string): T | undefined;
  list(): T[];
  /** For how long the most silent of its reflectors has shown no sign of life (ms): no answer, and no failure either. */
  silentForMs(): number;
  /** Resolves when nothing runs any more; no handler is called after that. */
  stop(): Promise<void>;
}
