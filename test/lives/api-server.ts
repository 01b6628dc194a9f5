/**
 * A model of the API server's storage, as far as the operator can tell: VirtualServers, VirtualServerSets,
 * ServerCatalogs, Secrets, the Lease, Events, the CRDs of servers and sets, and etcd, which can be restored.
 * test/integration/test-tools/sim-model.test.ts compares it with a real API server. It leaves out admission but for
 * one policy: rights, guards, and the rules of a schema besides the lock of an ordered server.
 */
import type * as z from 'zod';
import { API_VERSION, CATALOG_PLURAL, SERVER_PLURAL, SET_KIND, SET_PLURAL } from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { setSpecSchema, type VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { ConfigMap, Secret } from '../../src/kube/kinds.ts';
import type { Event } from '../../src/kube/kinds.ts';
import type { DefinitionState } from '../../src/virtual-server/kube.ts';
import { storedCatalog } from '../fixtures/server-catalog.ts';
import { lockedDifference } from '../fixtures/locked-fields.ts';
import { annotatedRecordOf } from '../fixtures/records.ts';
import type { Manifest } from '../fixtures/virtual-server.ts';
import { collectMembers } from './garbage-collector.ts';
import { invalid, ObjectStore, type Change } from './object-store.ts';
import { SecretStore } from './secret-store.ts';
import { POLICY_KEY } from './set-members.ts';

export type ServerChange = Change<VirtualServer>;
/** What a person writes of a set. */
export type SetSpecInput = z.input<typeof setSpecSchema>;

/** A Lease as stored in the API server. */
export interface StoredLease {
  metadata: { name: string; namespace: string; resourceVersion: string };
  spec: { holderIdentity?: string };
}

/** What a backup of etcd holds besides the VirtualServers. */
interface Backup {
  version: number;
  catalogs: number;
  sets: number;
  secrets: ReadonlyMap<string, Secret>;
  lease: StoredLease | undefined;
  definition: DefinitionState;
  hasSets: boolean;
}

const FIRST_VERSION = 100;

export class ApiServer {
  readonly servers: ObjectStore<VirtualServer>;
  readonly catalogs: ObjectStore<ServerCatalog>;
  readonly sets: ObjectStore<VirtualServerSet>;
  readonly secrets: SecretStore;
  readonly events: Event[] = [];
  /** By `namespace/name`. */
  readonly configMaps = new Map<string, ConfigMap>();
  /** Whether the operator has the right to read ConfigMaps. */
  readsConfigMaps = true;
  /** The operator's only Lease. */
  lease: StoredLease | undefined;
  /** Number of etcd restores so far. */
  restores = 0;
  /** When etcd was restored last (ms since the epoch); undefined: never. */
  restoredAt: number | undefined;
  definition: DefinitionState = 'kept';
  /** Whether the CRD of sets is installed. Without finalizers on its objects, it is gone at once when it is deleted. */
  hasSets = true;
  /** Whether a mutating admission policy adds `POLICY_KEY` to every member that a set creates. */
  hasPolicy = false;
  #version = FIRST_VERSION;
  #uids = 0;
  /** Entry `n` is the backup after the first `n` changes of VirtualServers. */
  readonly #backups: Backup[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    const newVersion = (): string => this.newVersion();
    const newUid = (): string => `uid-${++this.#uids}`;
    const kindOfServers = { plural: SERVER_PLURAL, admit: () => this.#admit(), validate };
    this.servers = new ObjectStore(kindOfServers, newVersion, newUid, now);
    this.catalogs = new ObjectStore({ plural: CATALOG_PLURAL }, newVersion, newUid, now);
    this.sets = new ObjectStore({ plural: SET_PLURAL }, newVersion, newUid, now);
    this.secrets = new SecretStore(newVersion);
    this.#backUp();
    this.servers.listeners.add(() => {
      // Deleting the last object removes the definition, which is then installed again.
      if (this.servers.list().length === 0) this.definition = 'kept';
      this.#backUp();
    });
  }

  /** Resource version of the latest write to any object. */
  get version(): string {
    return String(this.#version);
  }

  newVersion(): string {
    return String(++this.#version);
  }

  create(namespace: string, manifest: Manifest): VirtualServer {
    const isMember = manifest.metadata.ownerReferences !== undefined;
    const keys = isMember && this.hasPolicy ? [...(manifest.spec.sshKeys ?? []), POLICY_KEY] : manifest.spec.sshKeys;
    return this.servers.create({
      ...manifest,
      metadata: { ...manifest.metadata, namespace },
      spec: {
        apiKeySecretRef: { name: 'vps-api-key' },
        deletionPolicy: 'Delete',
        deletionProtection: false,
        sshCheck: 'None',
        ...manifest.spec,
        ...(keys && { sshKeys: keys }),
      } as VirtualServer['spec'],
      status: { observedGeneration: -1 },
    });
  }

  createCatalog(namespace: string, name: string, spec: ServerCatalog['spec']): ServerCatalog {
    const { apiVersion, kind } = storedCatalog(name);
    return this.catalogs.create({ apiVersion, kind, metadata: { name, namespace }, spec });
  }

  /** `spec` is completed with the defaults of the schema. Throws ZodError for what the schema does not allow. */
  createSet(namespace: string, name: string, spec: SetSpecInput): VirtualServerSet {
    if (!this.hasSets) throw notServed();
    const [apiVersion, kind] = [API_VERSION, SET_KIND];
    const status = { observedGeneration: -1 };
    return this.sets.create({
      apiVersion,
      kind,
      metadata: { name, namespace },
      spec: setSpecSchema.parse(spec),
      status,
    });
  }

  /** As `kubectl delete --cascade`: what happens to the members is up to the garbage collector. */
  deleteSet(namespace: string, name: string, cascade: 'background' | 'orphan' | 'foreground'): void {
    const finalizer = { background: [], orphan: ['orphan'], foreground: ['foregroundDeletion'] }[cascade];
    const set = this.sets.get(namespace, name);
    const isDeleting = set?.metadata.deletionTimestamp !== undefined;
    if (!isDeleting) this.sets.patch(namespace, name, { metadata: { finalizers: finalizer } });
    this.sets.delete(namespace, name);
  }

  wipeStatus(namespace: string, name: string): void {
    this.servers.replaceStatus(namespace, name, { observedGeneration: -1 });
  }

  /**
   * Restores etcd to its state after the first `toChange` changes of VirtualServers. Objects deleted since then exist
   * again; objects created since then, and everything else written since, are gone. Resource versions continue from
   * that state.
   */
  rollBack(toChange: number): void {
    const backup = this.#backups[toChange];
    if (backup === undefined) throw new Error(`there was no change ${toChange}`);
    this.restores += 1;
    this.restoredAt = this.#now();
    this.#version = backup.version;
    this.secrets.restore(backup.secrets);
    this.lease = backup.lease;
    this.definition = backup.definition;
    this.hasSets = backup.hasSets;
    this.servers.restore(toChange, backup.version);
    this.catalogs.restore(backup.catalogs, backup.version);
    this.sets.restore(backup.sets, backup.version);
    while (this.#backups.length <= this.servers.changes.length) this.#backUp();
    for (const store of this.#stores) for (const listener of store.listeners) listener();
  }

  /** Compacts etcd: no watch can start from an older version. */
  compact(): void {
    for (const store of this.#stores) store.history = { index: store.changes.length, version: this.#version };
  }

  /** Deletes every object; the definition is removed with the last one. */
  deleteDefinition(): void {
    if (this.definition !== 'kept' || this.servers.list().length === 0) return;
    this.definition = 'deleting';
    this.#deleteAll();
  }

  /** Deletes the CRD of sets, and with it every set. False if a set has a finalizer, for which a real one would wait. */
  deleteSetDefinition(): boolean {
    const sets = this.sets.list();
    if (sets.some(({ metadata }) => metadata.finalizers !== undefined)) return false;
    this.hasSets = false;
    for (const { metadata } of sets) this.sets.delete(metadata.namespace, metadata.name);
    return true;
  }

  #deleteAll(): void {
    for (const { metadata } of this.servers.list()) this.servers.delete(metadata.namespace, metadata.name);
  }

  allowDeletion(): void {
    if (this.definition === 'deleting') this.definition = 'deletionAllowed';
  }

  /** Collects what has lost its owner. In a cluster a separate controller does this some time later. */
  collectGarbage(): void {
    collectMembers(this);
    // A backup of etcd can have objects that the deletion of the definition had not reached.
    if (this.definition !== 'kept') this.#deleteAll();
    const living = new Set(this.servers.list().map(({ metadata }) => metadata.uid));
    this.secrets.collectGarbage((uid) => living.has(uid));
  }

  get #stores() {
    return [this.servers, this.catalogs, this.sets];
  }

  #admit(): void {
    if (this.definition === 'kept') return;
    const message = 'create not allowed while custom resource definition is terminating';
    throw new KubeError('Rejected', message, { status: 405 });
  }

  #backUp(): void {
    if (this.#backups.length > this.servers.changes.length) return;
    this.#backups.push({
      version: this.#version,
      catalogs: this.catalogs.changes.length,
      sets: this.sets.changes.length,
      secrets: this.secrets.backUp(),
      lease: this.lease,
      definition: this.definition,
      hasSets: this.hasSets,
    });
  }
}

/** The answer for a kind that is not installed, which is about no object. */
export function notServed(): KubeError {
  return new KubeError('NotFound', 'the server could not find the requested resource', { status: 404 });
}

/** The policy beside the CRD locks the ordered fields once a copy of the record has an attempt, but for changes in place. */
function validate(before: VirtualServer, { spec }: VirtualServer): void {
  const copies = [before.status?.record, annotatedRecordOf(before)];
  if (copies.every((record) => record?.attempt === undefined)) return;
  if (lockedDifference(before, spec).length > 0) throw invalid('locked');
}
