/**
 * Simulates backups, GitOps tools and careless users, which lose, roll back and copy what the operator has written.
 */
import { FINALIZER, RECORD_ANNOTATION } from '../../src/api/names.ts';
import { parseRecord, mirrorIn } from '../../src/api/record.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { holdsSomething } from '../../src/virtual-server/decision/known-record.ts';
import { isDeepEqual } from '../../src/base/deep-equal.ts';
import { sshKeyOf, virtualServer, withAnnotations, withSpec } from '../fixtures/virtual-server.ts';
import type { ApiServer } from './api-server.ts';
import { abandon } from './caretaker.ts';
import type { Surroundings } from './connections.ts';
import { needsConditions } from './formats.ts';
import { isAlive, isContested, isUnconfirmed } from './ownership.ts';
import { recordOf } from '../fixtures/records.ts';
import type { Random } from './random.ts';

/** Fields of the record, and one that this version does not know. */
const SPOILED = [
  'owner',
  'mode',
  'format',
  'task',
  'identifier',
  'fingerprint',
  'readyAt',
  'missingAt',
  'orphans',
  'zone',
];

/** How many of the latest changes a backup of etcd may miss. */
const MISSED = 30;

export class Restorer {
  readonly #parts: Surroundings;
  readonly #api: ApiServer;
  readonly #random: Random;
  readonly #any: () => VirtualServer | undefined;
  readonly #tell: (what: string) => void;

  constructor(parts: Surroundings) {
    this.#parts = parts;
    this.#api = parts.api;
    this.#random = parts.random;
    this.#any = parts.any;
    this.#tell = parts.tell;
  }

  wipeStatus(): void {
    const object = this.#withoutNeedOfStatus();
    if (object === undefined) return;
    this.#tell(`wipe status of ${object.metadata.namespace}/${object.metadata.name}`);
    this.#api.wipeStatus(object.metadata.namespace, object.metadata.name);
  }

  /** The API server accepts any value in the mirror of the record, except for the attempt. */
  spoilMirror(): void {
    const object = this.#withoutNeedOfStatus();
    const { record, ...status } = object?.status ?? {};
    if (object === undefined || record === undefined) return;
    const field = this.#random.pick(SPOILED);
    // A text may be valid: another identifier is a conflict, and another mode a newer version's.
    const value = this.#random.pick<unknown>([-1, {}, ['x'], null, false]);
    // An empty fingerprint is valid: it would say that the provider has shown a server that may never have been ordered.
    if (field === 'fingerprint' && record.fingerprint === undefined && isDeepEqual(value, {})) return;
    const { namespace, name } = object.metadata;
    this.#tell(`${field} in the mirror of ${namespace}/${name} becomes ${JSON.stringify(value)}`);
    this.#api.servers.replaceStatus(namespace, name, { ...status, record: { ...record, [field]: value } });
  }

  /** An object whose server the operator finds without anything of its status. */
  #withoutNeedOfStatus(): VirtualServer | undefined {
    const object = this.#any();
    // Losing both copies of the record at once is a documented limit.
    const annotated = parseRecord(object?.metadata.annotations?.[RECORD_ANNOTATION]);
    if (object === undefined || !annotated.ok || annotated.value === undefined || !holdsSomething(annotated.value))
      return undefined;
    // Without the identifier, the operator must find the server by its task.
    const isNamed = annotated.value.identifier !== undefined || mirrorIn(object.status)?.identifier === undefined;
    if (this.#parts.ownership.numbersRepeat && !isNamed) return undefined;
    // Without its status, a record does not stop other objects from adopting the server (documented).
    if (isContested(object, this.#api.servers.list())) return undefined;
    // A version with format 1 left some of it to the conditions.
    if (needsConditions(object)) return undefined;
    return this.#wouldForgetItsServer(object, annotated.value) ? undefined : object;
  }

  dropRecord(): void {
    const object = this.#any();
    const mirror = mirrorIn(object?.status);
    if (object === undefined || (mirror?.attempt === undefined && mirror?.identifier === undefined)) return;
    if (this.#wouldForgetItsServer(object, mirror)) return;
    const { namespace, name } = object.metadata;
    this.#tell(`drop record annotation of ${namespace}/${name}`);
    this.#api.servers.annotate(namespace, name, { [RECORD_ANNOTATION]: null });
  }

  /** Rolls the record back, like a GitOps tool that has an older state of the object in Git. */
  rollRecordBack(): void {
    const object = this.#any();
    const mirror = mirrorIn(object?.status);
    if (object === undefined || mirror === undefined || mirror.owner !== object.metadata.uid) return;
    // While a create is in flight, only the annotation (and the journal) has its attempt: a documented limit.
    const present = parseRecord(object.metadata.annotations?.[RECORD_ANNOTATION]);
    if (present.ok && present.value?.attempt !== mirror.attempt) return;
    if (this.#wouldForgetItsServer(object, mirror) || needsConditions(object)) return;
    const older = this.#api.servers.changes
      .filter(({ object: { metadata } }) => metadata.uid === object.metadata.uid)
      .map(({ object: { metadata } }) => metadata.annotations?.[RECORD_ANNOTATION])
      .filter((text) => text !== undefined && isEarlier(text, mirror));
    if (older.length === 0) return;
    const { namespace, name } = object.metadata;
    const text = this.#random.pick(older) ?? null;
    this.#tell(`roll record of ${namespace}/${name} back to ${text ?? ''}`);
    this.#api.servers.annotate(namespace, name, { [RECORD_ANNOTATION]: text });
  }

  /**
   * Whether the object's server is gone, and the copy of the record that remains cannot recognize it: a later server with
   * the same identifier is then taken for it (documented limit).
   */
  #wouldForgetItsServer(object: VirtualServer, remaining: { fingerprint?: unknown }): boolean {
    if (remaining.fingerprint !== undefined || recordOf(object)?.fingerprint === undefined) return false;
    // An expired object has no server anymore.
    const life = this.#parts.ownership.serverOf(object);
    return life === undefined || !isAlive(life);
  }

  /**
   * Copies an object into another namespace, as a restore does: same labels, annotations and finalizers, another uid. Returns
   * whether there was one to copy.
   */
  copy(serial: number): boolean {
    const object = this.#any();
    const record = object?.metadata.annotations?.[RECORD_ANNOTATION];
    if (object === undefined || record === undefined) return false;
    const namespace = object.metadata.namespace === 'a' ? 'b' : 'a';
    const manifest = virtualServer(
      object.metadata.name,
      withSpec({ ...object.spec, sshKeys: [sshKeyOf(`serial-${serial}`)] }),
      withAnnotations({ [RECORD_ANNOTATION]: record }),
    );
    manifest.metadata.finalizers = [FINALIZER];
    if (object.metadata.labels !== undefined) manifest.metadata.labels = object.metadata.labels;
    this.#api.create(namespace, manifest);
    this.#tell(`copy ${object.metadata.namespace}/${object.metadata.name} to ${namespace}, serial ${serial}`);
    return true;
  }

  /**
   * Restores etcd from a backup that knows every order of its objects but those whose servers have ended since; an older
   * backup is a documented limit.
   */
  restoreEtcd(): void {
    const { length } = this.#api.servers.changes;
    if (length > 0) this.restoreTo(this.#random.int(Math.max(0, length - MISSED), length - 1));
  }

  /** `to`: the number of changes that the backup has. */
  restoreTo(to: number): void {
    const { changes } = this.#api.servers;
    const backedUp = this.#api.servers.listAt(to);
    if (backedUp.some((object) => isUnconfirmed(object) && isContested(object, backedUp))) return;
    const newest = new Map(changes.map(({ object }) => [object.metadata.uid, object]));
    if (!backedUp.every((object) => changes.slice(to).every((later) => this.#hasItsOrder(object, later.object))))
      return;
    const { truth, ownership, now } = this.#parts;
    for (const { object } of changes.slice(to)) {
      const { uid } = object.metadata;
      const attempt = this.#endedSince(
        backedUp.find(({ metadata }) => metadata.uid === uid),
        recordOf(object)?.attempt,
      );
      if (attempt !== undefined) truth.again.set(uid, (truth.again.get(uid) ?? new Set()).add(attempt));
    }
    const kept = new Set(backedUp.map(({ metadata: { uid } }) => uid));
    // Nothing knows anymore what was ordered for these objects.
    for (const [uid, object] of newest) if (!kept.has(uid)) abandon(object, truth, ownership);
    this.#tell(`etcd is restored to its change ${to} of ${changes.length}`);
    this.#api.rollBack(to);
    truth.setDefinitionDeletedAt = now();
    // Calls in flight may be based on a state that no longer exists.
    for (const uid of newest.keys()) {
      for (const times of [truth.guardedAt, truth.pausedAt, truth.extendedAt, truth.delayedAt, truth.handedAt])
        times.set(uid, now());
    }
  }

  #hasItsOrder(object: VirtualServer, later: VirtualServer): boolean {
    const [then, last] = [recordOf(object), recordOf(later)];
    // The record is removed with the finalizer.
    if (later.metadata.uid !== object.metadata.uid || last === undefined) return true;
    if (this.#endedSince(object, last.attempt) !== undefined) return true;
    if (then?.attempt !== last.attempt || then?.mode !== last.mode) return false;
    // Without the fingerprint, the server counts as never read.
    if (!isDeepEqual(then.fingerprint, last.fingerprint)) return false;
    if (then.identifier !== undefined || then.attempt === undefined) return then.identifier === last.identifier;
    // Its task can name the server again, but only if the task number is unique and stays so.
    if (then.task === undefined) return last.identifier === undefined;
    const { simulation, ownership } = this.#parts;
    // An object that is gone was not asked when the numbers started over: another order may have its number since.
    const isPresent = this.#api.servers.list().some(({ metadata: { uid } }) => uid === object.metadata.uid);
    if (ownership.numbersRepeat) return isPresent && last.identifier === undefined;
    return simulation.ledger.creates().filter(({ task }) => task === then.task).length === 1;
  }

  /** The attempt, if the object had claimed none then, and each server of the attempt has ended since. */
  #endedSince(then: VirtualServer | undefined, attempt: string | undefined): string | undefined {
    const { attempt: claimed, identifier } = (then && recordOf(then)) ?? {};
    if (then === undefined || attempt === undefined || (claimed ?? identifier) !== undefined) return undefined;
    const { simulation, orders } = this.#parts;
    const ordered = simulation.fleet.history().filter(({ serial }) => orders.attemptOf(serial) === attempt);
    return ordered.length > 0 && !ordered.some(isAlive) ? attempt : undefined;
  }
}

/** Whether the annotation is an earlier state of the attempt in the mirror. */
function isEarlier(text: string, mirror: { attempt?: string | undefined; identifier?: string | undefined }): boolean {
  const parsed = parseRecord(text);
  return (
    parsed.ok && parsed.value !== undefined && parsed.value.mode === 'create' && parsed.value.attempt === mirror.attempt
  );
}
