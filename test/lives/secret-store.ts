/**
 * Secrets in the modeled API server: versions, conflicts, merge patches, and the garbage collector, which runs
 * separately at any time. test/integration/test-tools/sim-secrets.test.ts compares all but the garbage collector with a
 * real API server.
 */
import { KubeError } from '../../src/kube/error.ts';
import type { NewSecret, OwnerReference, SecretChanges, Secret } from '../../src/kube/kinds.ts';
import type { ObjectVersion } from '../../src/kube/resource.ts';

/** A person's change, as a merge patch. */
export interface SecretEdit {
  data?: Record<string, string | null>;
  annotations?: Record<string, string | null>;
  ownerReferences?: OwnerReference[];
}

/** `before` is undefined for a creation, `after` for a deletion. */
export interface SecretWrite {
  by: 'operator' | 'person';
  before: Secret | undefined;
  after: Secret | undefined;
}

export class SecretStore {
  /** Called after every write, but not for what the garbage collector deletes. */
  readonly listeners = new Set<(write: SecretWrite) => void>();
  /** By `namespace/name`; each write replaces the map, so an old map can serve as a backup. */
  #secrets: ReadonlyMap<string, Secret> = new Map();
  readonly #newVersion: () => string;
  #uids = 0;

  constructor(newVersion: () => string) {
    this.#newVersion = newVersion;
  }

  get(namespace: string, name: string): Secret | undefined {
    return this.#secrets.get(`${namespace}/${name}`);
  }

  list(): Secret[] {
    return [...this.#secrets.values()];
  }

  create(secret: NewSecret, by: SecretWrite['by'] = 'operator'): Secret {
    const { metadata, type, data } = secret;
    if (this.get(metadata.namespace, metadata.name) !== undefined)
      throw new KubeError('Conflict', `${metadata.name} already exists`, { status: 409 });
    const uid = `secret-uid-${++this.#uids}`;
    const after = this.#store({ metadata: { ...metadata, uid, resourceVersion: '' }, type, data });
    this.#tell({ by, before: undefined, after });
    return after;
  }

  patch(version: ObjectVersion, changes: SecretChanges): Secret {
    const before = this.#existing(version);
    if (before.metadata.resourceVersion !== version.resourceVersion)
      throw new KubeError('Conflict', 'the Secret has been modified', { status: 409 });
    if (before.metadata.uid !== version.uid)
      throw new KubeError('Invalid', 'metadata.uid: field is immutable', { status: 422 });
    return this.#change(before, { ...changes.metadata, ...(changes.data && { data: changes.data }) }, 'operator');
  }

  /** A person edits the Secret, regardless of its version. */
  edit(at: { namespace: string; name: string }, edit: SecretEdit): Secret {
    return this.#change(this.#existing(at), edit, 'person');
  }

  /** A person deletes the Secret; returns false if there is none. */
  delete(namespace: string, name: string): boolean {
    const before = this.get(namespace, name);
    if (before === undefined) return false;
    this.#remove(`${namespace}/${name}`);
    this.#tell({ by: 'person', before, after: undefined });
    return true;
  }

  /** Deletes Secrets whose owners are all gone; `lives` tells whether the object with a uid still exists. */
  collectGarbage(lives: (uid: string) => boolean): void {
    for (const [key, { metadata }] of this.#secrets) {
      const { ownerReferences = [] } = metadata;
      if (ownerReferences.length > 0 && !ownerReferences.some(({ uid }) => lives(uid))) this.#remove(key);
    }
  }

  backUp(): ReadonlyMap<string, Secret> {
    return this.#secrets;
  }

  /** Restores the Secrets without notifying listeners. */
  restore(backup: ReadonlyMap<string, Secret>): void {
    this.#secrets = backup;
  }

  #existing({ namespace, name }: { namespace: string; name: string }): Secret {
    const secret = this.get(namespace, name);
    if (secret === undefined) throw new KubeError('NotFound', `secrets "${name}" not found`, { status: 404 });
    return secret;
  }

  #change(before: Secret, { data, annotations, ownerReferences }: SecretEdit, by: SecretWrite['by']): Secret {
    const { annotations: present, ownerReferences: references = [], ...rest } = before.metadata;
    const owners = ownerReferences ?? references;
    const merged = merge(present, annotations);
    const metadata = {
      ...rest,
      ...(Object.keys(merged).length > 0 && { annotations: merged }),
      ...(owners.length > 0 && { ownerReferences: owners }),
    };
    const next = { ...before, metadata, data: merge(before.data, data) };
    const after = sorted(next) === sorted(before) ? before : this.#store(next);
    this.#tell({ by, before, after });
    return after;
  }

  #store(secret: Secret): Secret {
    const { namespace, name } = secret.metadata;
    const stored = structuredClone(secret);
    stored.metadata.resourceVersion = this.#newVersion();
    this.#secrets = new Map(this.#secrets).set(`${namespace}/${name}`, stored);
    return stored;
  }

  #remove(key: string): void {
    this.#secrets = new Map([...this.#secrets].filter(([other]) => other !== key));
  }

  #tell(write: SecretWrite): void {
    for (const listener of this.listeners) listener(write);
  }
}

function merge(
  present: Record<string, string> = {},
  changes: Record<string, string | null> = {},
): Record<string, string> {
  const entries = Object.entries({ ...present, ...changes }).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Serializes a Secret so that the order of keys makes no difference. */
function sorted({ metadata: { annotations = {}, ...metadata }, type, data }: Secret): string {
  return JSON.stringify([metadata, type, Object.entries(annotations).sort(), Object.entries(data).sort()]);
}
