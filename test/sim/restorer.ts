/** Backups, GitOps tools and clumsy hands in the simulation: they lose, roll back and copy what the operator has written. */
import { FINALIZER, RECORD_ANNOTATION } from '../../src/api/names.ts';
import { parseRecord } from '../../src/api/record.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { virtualServer, withAnnotations, withSpec } from '../gen/virtual-server.ts';
import type { ApiServer } from './api-server.ts';
import type { Random } from './random.ts';

export class Restorer {
  readonly #api: ApiServer;
  readonly #random: Random;
  /** Some object, if there is one. */
  readonly #any: () => VirtualServer | undefined;
  readonly #tell: (what: string) => void;

  constructor(api: ApiServer, random: Random, any: () => VirtualServer | undefined, tell: (what: string) => void) {
    this.#api = api;
    this.#random = random;
    this.#any = any;
    this.#tell = tell;
  }

  wipeStatus(): void {
    const object = this.#any();
    // Both copies lost at once is a documented limit.
    if (object?.metadata.annotations?.[RECORD_ANNOTATION] === undefined) return;
    this.#tell(`wipe status of ${object.metadata.namespace}/${object.metadata.name}`);
    this.#api.wipeStatus(object.metadata.namespace, object.metadata.name);
  }

  dropRecord(): void {
    const object = this.#any();
    if (object?.status?.record?.attempt === undefined && object?.status?.record?.identifier === undefined) return;
    const { namespace, name } = object.metadata;
    this.#tell(`drop record annotation of ${namespace}/${name}`);
    this.#api.annotate(namespace, name, { [RECORD_ANNOTATION]: null });
  }

  /** As a GitOps tool that has an older state of the object in Git. */
  rollRecordBack(): void {
    const object = this.#any();
    const mirror = object?.status?.record;
    if (object === undefined || mirror === undefined || mirror.owner !== object.metadata.uid) return;
    // While a create is on its way its attempt stands in the annotation only (and in the journal): a documented limit.
    const present = parseRecord(object.metadata.annotations?.[RECORD_ANNOTATION]);
    if (present.ok && present.record?.attempt !== mirror.attempt) return;
    const older = this.#api.changes
      .filter(({ object: { metadata } }) => metadata.uid === object.metadata.uid)
      .map(({ object: { metadata } }) => metadata.annotations?.[RECORD_ANNOTATION])
      .filter((text) => text !== undefined && isEarlier(text, mirror));
    if (older.length === 0) return;
    const { namespace, name } = object.metadata;
    const text = this.#random.pick(older) ?? null;
    this.#tell(`roll record of ${namespace}/${name} back to ${text ?? ''}`);
    this.#api.annotate(namespace, name, { [RECORD_ANNOTATION]: text });
  }

  /** As a restore into another namespace: same annotations and finalizers, another uid. True when there was one to copy. */
  copy(serial: number): boolean {
    const object = this.#any();
    const record = object?.metadata.annotations?.[RECORD_ANNOTATION];
    if (object === undefined || record === undefined) return false;
    const namespace = object.metadata.namespace === 'a' ? 'b' : 'a';
    const manifest = virtualServer(
      object.metadata.name,
      withSpec({ ...object.spec, sshKeys: [`ssh-ed25519 AAAA serial-${serial}`] }),
      withAnnotations({ [RECORD_ANNOTATION]: record }),
    );
    manifest.metadata.finalizers = [FINALIZER];
    this.#api.create(namespace, manifest);
    this.#tell(`copy ${object.metadata.namespace}/${object.metadata.name} to ${namespace}, serial ${serial}`);
    return true;
  }
}

/** True when the annotation was an earlier state of the attempt that the mirror speaks of. */
function isEarlier(text: string, mirror: { attempt?: string | undefined; identifier?: string | undefined }): boolean {
  const parsed = parseRecord(text);
  return (
    parsed.ok &&
    parsed.record !== undefined &&
    parsed.record.mode === 'create' &&
    parsed.record.attempt === mirror.attempt
  );
}
