/** Reads Secrets by name, and creates and patches the operator's own. It never lists, watches or deletes Secrets. */
import type { KubeHttp } from './http.ts';
import { FIELD_MANAGER, MERGE_PATCH } from './client.ts';
import { KubeError } from './error.ts';
import type { ObjectVersion } from './types.ts';

/** The required fields of metav1.OwnerReference; other fields are kept. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

export interface SecretObject {
  metadata: ObjectVersion & {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: OwnerReference[];
  };
  type: string;
  /** Values decoded as UTF-8. */
  data: Record<string, string>;
}

export type NewSecret = Omit<SecretObject, 'metadata'> & {
  metadata: Omit<SecretObject['metadata'], 'uid' | 'resourceVersion'>;
};

export interface SecretChanges {
  /** The complete new list; unchanged if left out. */
  ownerReferences?: OwnerReference[];
  /** Values to set; `null` removes a key; other keys stay unchanged. */
  data?: Record<string, string | null>;
}

/** Calls throw KubeError. */
export interface Secrets {
  /** Undefined if the Secret does not exist; `Forbidden` if the operator may not read it. */
  get(namespace: string, name: string): Promise<SecretObject | undefined>;
  /** `Conflict` if a Secret with this name exists. */
  create(secret: NewSecret): Promise<void>;
  /** Patches exactly one version of one Secret: 409 for a stale version, 422 for a wrong uid, 404 gone. */
  patch(version: ObjectVersion, changes: SecretChanges): Promise<void>;
}

export function createSecrets(http: KubeHttp): Secrets {
  return {
    get: (namespace, name) => getSecret(http, namespace, name),

    async create({ metadata, type, data }) {
      const encoded = Object.entries(data).map(([key, value]) => [key, encode(value)]);
      await http.call({
        method: 'POST',
        path: collection(metadata.namespace),
        query: { fieldManager: FIELD_MANAGER },
        body: { apiVersion: 'v1', kind: 'Secret', metadata, type, data: Object.fromEntries(encoded) as object },
      });
    },

    async patch({ namespace, name, uid, resourceVersion }, { ownerReferences, data }) {
      const encoded = Object.entries(data ?? {}).map(([key, value]) => [key, value === null ? null : encode(value)]);
      await http.call({
        method: 'PATCH',
        path: `${collection(namespace)}/${encodeURIComponent(name)}`,
        query: { fieldManager: FIELD_MANAGER },
        contentType: MERGE_PATCH,
        body: {
          metadata: { uid, resourceVersion, ...(ownerReferences && { ownerReferences }) },
          ...(data && { data: Object.fromEntries(encoded) as object }),
        },
      });
    },
  };
}

/** As `Secrets.get`. */
export async function getSecret(http: KubeHttp, namespace: string, name: string): Promise<SecretObject | undefined> {
  const path = `${collection(namespace)}/${encodeURIComponent(name)}`;
  const secret = (await http.call({ path, absent: name })) as Partial<SecretObject> | undefined;
  if (secret === undefined) return undefined;
  const { metadata, type = '', data = {} } = secret;
  if (metadata === undefined) throw new KubeError('BadResponse', 'the answer is not a Secret');
  const decoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]);
  return { metadata, type, data: Object.fromEntries(decoded) as Record<string, string> };
}

function collection(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
}

function encode(value: string): string {
  return Buffer.from(value).toString('base64');
}
