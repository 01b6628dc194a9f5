/**
 * A model of the API server, as far as the operator can tell: versions, conflicts, finalizers, the status subresource,
 * the lock of the CRD, a log of changes that watches follow. test/integration/test-tools/sim-model.test.ts holds it against the real one.
 */
import { KubeError } from '../../src/kube/error.ts';
import type { LeaseState } from '../../src/kube/leases.ts';
import type { SecretObject } from '../../src/kube/secrets.ts';
import type { DefinitionState, MetadataPatch, ObjectVersion } from '../../src/kube/types.ts';
import type { EventInput } from '../../src/kube/events.ts';
import type { VirtualServer, VirtualServerStatus } from '../../src/api/virtual-server.ts';
import type { Manifest } from '../gen/virtual-server.ts';
import { SecretStore } from './secret-store.ts';

export interface Change {
  /** The version after the change; for a deletion the last state with a version of its own. */
  object: VirtualServer;
  deleted: boolean;
  /** The change came from a restore of etcd: no watch tells of it. */
  restored?: true;
}

/** What a backup of etcd holds besides the objects. */
interface Backup {
  version: number;
  secrets: ReadonlyMap<string, SecretObject>;
  lease: LeaseState | undefined;
  definition: DefinitionState;
}

export type SpecPatch = Partial<VirtualServer['spec']>;

const LOCKED = ['product', 'image', 'diskSize', 'sshKeys', 'sshKeysFrom'] as const;

const FIRST_VERSION = 100;

export class ApiServer {
  /** Every change since the beginning, oldest first. */
  readonly changes: Change[] = [];
  /** Told after each change. */
  readonly listeners = new Set<() => void>();
  readonly secrets = new SecretStore(() => String(++this.#version));
  readonly events: EventInput[] = [];
  /** The one Lease of the operator. */
  lease: LeaseState | undefined;
  /** How often etcd was restored. */
  restores = 0;
  definition: DefinitionState = 'kept';
  readonly #objects = new Map<string, VirtualServer>();
  readonly #now: () => number;
  #version = FIRST_VERSION;
  #uids = 0;
  /** At `n`: as of the first `n` changes. */
  readonly #backups: Backup[] = [{ version: FIRST_VERSION, secrets: new Map(), lease: undefined, definition: 'kept' }];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** That of the last write of anything. */
  get version(): string {
    return String(this.#version);
  }

  get(namespace: string, name: string): VirtualServer | undefined {
    const object = this.#objects.get(`${namespace}/${name}`);
    return object;
  }

  list(): VirtualServer[] {
    return [...this.#objects.values()];
  }

  /** The objects as they were after the first `count` changes. */
  listAt(count: number): VirtualServer[] {
    const objects = new Map<string, VirtualServer>();
    for (const { object, deleted } of this.changes.slice(0, count)) {
      if (deleted) objects.delete(keyOf(object));
      else objects.set(keyOf(object), object);
    }
    return [...objects.values()];
  }

  /**
   * Restores etcd as it was after the first `toChange` changes: objects that were deleted since are there again, and
   * those created since are gone, Secrets and the Lease too; versions go on from the one of then.
   */
  rollBack(toChange: number): void {
    const backup = this.#backups[toChange];
    if (backup === undefined) throw new Error(`there was no change ${toChange}`);
    const old = new Map(this.listAt(toChange).map((object) => [keyOf(object), object]));
    const removed = this.list().filter((object) => old.get(keyOf(object))?.metadata.uid !== object.metadata.uid);
    const returned = [...old.values()].filter((object) => this.#objects.get(keyOf(object)) !== object);
    this.restores += 1;
    this.#version = backup.version;
    this.secrets.restore(backup.secrets);
    this.lease = backup.lease;
    this.definition = backup.definition;
    for (const object of removed) this.#objects.delete(keyOf(object));
    for (const object of returned) this.#objects.set(keyOf(object), object);
    for (const object of removed) this.#changed({ object, deleted: true, restored: true });
    for (const object of returned) this.#changed({ object, deleted: false, restored: true });
    for (const listener of this.listeners) listener();
  }

  create(namespace: string, manifest: Manifest): VirtualServer {
    const key = `${namespace}/${manifest.metadata.name}`;
    if (this.#objects.has(key)) throw new KubeError('Conflict', 'already exists', { status: 409 });
    if (this.definition !== 'kept')
      throw new KubeError('Rejected', 'create not allowed while custom resource definition is terminating', {
        status: 405,
      });
    const object = structuredClone({
      ...manifest,
      metadata: {
        ...manifest.metadata,
        namespace,
        uid: `uid-${++this.#uids}`,
        resourceVersion: '',
        generation: 1,
        creationTimestamp: new Date(this.#now()).toISOString(),
      },
      spec: {
        apiKeySecretRef: { name: 'vps-api-key' },
        deletionPolicy: 'Delete',
        deletionProtection: false,
        sshCheck: 'None',
        ...manifest.spec,
      },
      status: { observedGeneration: -1 },
    }) as VirtualServer;
    return this.#store(object);
  }

  /** As a merge patch of spec; refused while the CRD's rule locks a field that it changes. */
  editSpec(namespace: string, name: string, patch: SpecPatch): VirtualServer {
    const object = this.#existing(namespace, name);
    const spec = { ...object.spec, ...structuredClone(patch) };
    const locked = object.status?.record?.attempt !== undefined;
    if (locked && LOCKED.some((field) => JSON.stringify(spec[field]) !== JSON.stringify(object.spec[field])))
      throw invalid('locked');
    if (JSON.stringify(spec) === JSON.stringify(object.spec)) return object;
    return this.#store({
      ...object,
      spec,
      metadata: { ...object.metadata, generation: object.metadata.generation + 1 },
    });
  }

  annotate(namespace: string, name: string, annotations: Record<string, string | null>): VirtualServer {
    return this.#patchMetadata(this.#existing(namespace, name), { annotations });
  }

  delete(namespace: string, name: string): void {
    const object = this.#existing(namespace, name);
    const { finalizers = [], deletionTimestamp, generation } = object.metadata;
    if (finalizers.length === 0) this.#remove(object);
    else if (deletionTimestamp === undefined) {
      const deleted = new Date(this.#now()).toISOString();
      this.#store({
        ...object,
        metadata: { ...object.metadata, deletionTimestamp: deleted, generation: generation + 1 },
      });
    }
  }

  /** Deletes every object; the definition goes with the last one, and is installed again then. */
  deleteDefinition(): void {
    if (this.definition !== 'kept' || this.#objects.size === 0) return;
    this.definition = 'deleting';
    for (const { metadata } of this.list()) this.delete(metadata.namespace, metadata.name);
  }

  allowDeletion(): void {
    if (this.definition === 'deleting') this.definition = 'deletionAllowed';
  }

  patchMetadata(version: ObjectVersion, patch: MetadataPatch): VirtualServer {
    return this.#patchMetadata(this.#checked(version), patch);
  }

  writeStatus(version: ObjectVersion, status: VirtualServerStatus): VirtualServer {
    const object = this.#checked(version);
    const next = structuredClone(status);
    return this.#same(object, { ...object, status: next }) ? object : this.#store({ ...object, status: next });
  }

  /** What `kubectl replace --subresource=status` or a backup without status does. */
  wipeStatus(namespace: string, name: string): void {
    this.#store({ ...this.#existing(namespace, name), status: { observedGeneration: -1 } });
  }

  writeLease(state: Omit<LeaseState, 'resourceVersion'>, resourceVersion: string | undefined): LeaseState {
    if (this.lease?.resourceVersion !== resourceVersion)
      throw new KubeError('Conflict', 'the lease has been modified', { status: 409 });
    return (this.lease = { ...state, resourceVersion: String(++this.#version) });
  }

  /** Takes the Secrets of objects that are gone, as a controller of its own does a while after. */
  collectGarbage(): void {
    const living = new Set(this.list().map(({ metadata }) => metadata.uid));
    this.secrets.collectGarbage((uid) => living.has(uid));
  }

  #patchMetadata(object: VirtualServer, patch: MetadataPatch): VirtualServer {
    const annotations = { ...object.metadata.annotations };
    for (const [name, value] of Object.entries(patch.annotations ?? {})) {
      if (value === null) Reflect.deleteProperty(annotations, name);
      else annotations[name] = value;
    }
    const before = object.metadata.finalizers ?? [];
    const finalizers = patch.finalizers ?? before;
    const adds = finalizers.some((finalizer) => !before.includes(finalizer));
    if (adds && object.metadata.deletionTimestamp !== undefined) throw invalid('no new finalizers can be added');
    const { annotations: _annotations, finalizers: _finalizers, ...rest } = object.metadata;
    const metadata = {
      ...rest,
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(finalizers.length > 0 && { finalizers: [...finalizers] }),
    };
    const next = { ...object, metadata };
    if (metadata.deletionTimestamp !== undefined && finalizers.length === 0) return this.#remove(next);
    return this.#same(object, next) ? object : this.#store(next);
  }

  #existing(namespace: string, name: string): VirtualServer {
    const object = this.#objects.get(`${namespace}/${name}`);
    if (object === undefined) throw new KubeError('NotFound', `${name} not found`, { status: 404 });
    return object;
  }

  #checked({ namespace, name, uid, resourceVersion }: ObjectVersion): VirtualServer {
    const object = this.#existing(namespace, name);
    if (object.metadata.resourceVersion !== resourceVersion) {
      throw new KubeError('Conflict', 'the object has been modified', { status: 409 });
    }
    if (object.metadata.uid !== uid) throw invalid('uid: precondition failed');
    return object;
  }

  #changed(change: Change): void {
    this.changes.push(change);
    this.#backups.push({
      version: this.#version,
      secrets: this.secrets.backUp(),
      lease: this.lease,
      definition: this.definition,
    });
    for (const listener of this.listeners) listener();
  }

  #same(a: VirtualServer, b: VirtualServer): boolean {
    return canonical(a) === canonical(b);
  }

  #store(object: VirtualServer): VirtualServer {
    const stored = frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } });
    this.#objects.set(keyOf(stored), stored);
    this.#changed({ object: stored, deleted: false });
    return stored;
  }

  #remove(object: VirtualServer): VirtualServer {
    const last = frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } });
    this.#objects.delete(keyOf(last));
    if (this.#objects.size === 0) this.definition = 'kept';
    this.#changed({ object: last, deleted: true });
    return last;
  }
}

export function keyOf({ metadata }: VirtualServer): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function invalid(message: string): KubeError {
  return new KubeError('Invalid', message, { status: 422 });
}

/** JSON with sorted keys, so that order makes no difference. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    entry !== null && typeof entry === 'object' && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}

/** Objects are handed out without a copy: who writes into one fails. */
function frozen<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const entry of Object.values(value)) frozen(entry);
  }
  return value;
}
