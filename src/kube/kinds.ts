/** The kinds of other API groups that the operator reads or writes. */
import type { Client, NewObject } from './client.ts';
import { KubeError } from './error.ts';
import { requireIdentity, type ObjectVersion, type Resource } from './resource.ts';

/** The required fields of metav1.OwnerReference; other fields are kept. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/** The operator reads Secrets by name, and writes its own. It never lists, watches or deletes Secrets. */
export interface Secret {
  metadata: ObjectVersion & {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: OwnerReference[];
  };
  type: string;
  /** Values decoded as UTF-8. */
  data: Record<string, string>;
}

export type NewSecret = NewObject<Secret>;

/** A merge patch: the complete new list of owners, values to set, and `null` for a key to remove. */
export interface SecretChanges {
  metadata?: { ownerReferences: OwnerReference[] };
  data?: Record<string, string | null>;
}

export interface Secrets extends Pick<Client<Secret>, 'get' | 'create'> {
  /** As `Client.patch`. */
  patch(version: ObjectVersion, changes: SecretChanges): Promise<unknown>;
}

export const SECRETS: Resource<Secret> = {
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  parse(value) {
    const {
      metadata,
      type = '',
      data = {},
    } = requireIdentity(value, 'Secret') as Partial<Secret> & Pick<Secret, 'metadata'>;
    return { metadata, type, data: mapped(data, (text) => Buffer.from(text, 'base64').toString()) };
  },
  format: ({ data, ...rest }: { data?: Record<string, string | null> }) => ({
    ...rest,
    ...(data && { data: mapped(data, (text) => text && Buffer.from(text).toString('base64')) }),
  }),
};

/** What the operator uses of a Secret of a user. */
export interface ReadSecret {
  type?: string;
  uid?: string;
  data: Secret['data'];
  /** Changes with every write. */
  resourceVersion: string;
}

export interface SecretReader {
  /** Undefined if the Secret does not exist; KubeError `Forbidden` if the operator may not read it. */
  getSecret(namespace: string, name: string): Promise<ReadSecret | undefined>;
}

/** What the operator uses of a ConfigMap. It reads ConfigMaps by name only. */
export interface ConfigMap {
  metadata: ObjectVersion;
  data: Record<string, string>;
}

export const CONFIG_MAPS: Resource<ConfigMap> = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  parse(value) {
    const { metadata, data = {} } = requireIdentity(value, 'ConfigMap') as Partial<ConfigMap> &
      Pick<ConfigMap, 'metadata'>;
    return { metadata, data };
  },
};

function mapped<V>(data: Readonly<Record<string, V>>, map: (value: V) => V): Record<string, V> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, map(value)]));
}

export interface Lease {
  metadata: ObjectVersion & { annotations?: Record<string, string> };
  spec?: {
    /** Empty if the lease was released. */
    holderIdentity?: string;
    /** Changes with every renewal; as metav1.MicroTime. */
    renewTime?: string;
    /** When the current holder acquired the lease; as metav1.MicroTime. */
    acquireTime?: string;
    /** How long the holder may lead without renewing. */
    leaseDurationSeconds?: number;
    /** Number of times the holder has changed. */
    leaseTransitions?: number;
  };
}

export const LEASES: Resource<Lease> = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  parse(value) {
    const { metadata, spec = {} } = requireIdentity(value, 'Lease') as Lease;
    const { namespace, name, uid, resourceVersion } = metadata;
    return { metadata: { namespace, name, uid, resourceVersion }, spec };
  },
};

/** The operator only creates Events. */
export interface Event {
  metadata: { namespace: string; generateName: string };
  /** As metav1.MicroTime. */
  eventTime: string;
  reportingController: string;
  /** At most 128 characters. */
  reportingInstance: string;
  regarding: {
    apiVersion: string;
    kind: string;
    namespace: string;
    name: string;
    uid: string;
    resourceVersion: string;
  };
  type: 'Normal' | 'Warning';
  /** CamelCase, from api/conditions.ts. */
  reason: string;
  /** What the operator did or tried: a CamelCase verb of at most 128 characters. */
  action: string;
  /** At most 1024 bytes. */
  note: string;
}

export const EVENTS: Resource<Event> = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  plural: 'events',
  parse: (value) => value as Event,
};

/** The metadata of a CustomResourceDefinition. */
export interface Definition {
  metadata: { name: string; deletionTimestamp?: string; annotations?: Record<string, string> };
}

/** Accept header for the metadata of an object, without the rest. */
export const ONLY_METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

export const DEFINITIONS: Resource<Definition> = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  // Without its schema, which is large.
  accept: ONLY_METADATA,
  parse(value) {
    const object = value as Partial<Definition> | null | undefined;
    if (!object?.metadata?.name) throw new KubeError('BadResponse', 'the answer is not a CustomResourceDefinition');
    return object as Definition;
  },
};

/** As authentication.k8s.io names it. */
export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** Asks who a token belongs to. The API server answers a review when it is created, and stores nothing. */
export interface TokenReview {
  spec: { token: string };
  status?: { authenticated?: boolean; user?: UserInfo };
}

export const TOKEN_REVIEWS: Resource<TokenReview> = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  parse: (value) => value as TokenReview,
};

/** Asks whether RBAC, or another authorizer of the cluster, allows a request of this path (not an object). */
export interface AccessReview {
  spec: {
    user: string | undefined;
    uid: string | undefined;
    groups: string[] | undefined;
    extra: UserInfo['extra'];
    nonResourceAttributes: { path: string; verb: string };
  };
  status?: { allowed?: boolean };
}

export const ACCESS_REVIEWS: Resource<AccessReview> = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  parse: (value) => value as AccessReview,
};

/** A time as metav1.MicroTime, which has six fractional digits. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
