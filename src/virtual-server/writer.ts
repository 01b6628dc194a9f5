/**
 * How the steps of a visit are written. The writer of an operator that acts writes metadata and status. The writer of
 * `--observe-only` writes the status only, and the rest of the visit supposes that the record was written too.
 */
import { FINALIZER, RECORD_ANNOTATION, SERVER_KIND, SERVER_SINGULAR } from '../api/names.ts';
import { formatRecord, type ServerRecord, mirrorIn } from '../api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../api/virtual-server.ts';
import { isDeepEqual } from '../base/deep-equal.ts';
import type { Logger } from '../base/logger.ts';
import { histogram, type Metrics } from '../base/metrics.ts';
import type { Timers } from '../base/timers.ts';
import type { EventNote } from '../controller/conditions.ts';
import { REFUSED_WRITES } from '../controller/controller.ts';
import type { EventRecorder } from '../controller/event-recorder.ts';
import type { Observer } from '../controller/observer.ts';
import type { MetadataPatch } from '../kube/client.ts';
import { isRefusal, refusalOf } from '../kube/error.ts';
import { keyOf, type ObjectVersion } from '../kube/resource.ts';
import { inThisFormat } from './decision/format-1.ts';
import { withoutPlan } from './decision/memo.ts';
import { isNow } from './decision/next.ts';
import { knownRecord } from './decision/known-record.ts';
import { refusedStatus, withMirrorOf, type RefusedWrite } from './decision/refused.ts';
import { isProvisioned } from './decision/server-status.ts';
import type { Outcome } from './decision/types.ts';
import type { View } from './decision/view.ts';
import type { Journal } from './journal/journal.ts';
import type { Kube } from './kube.ts';
import type { Objects } from './shared/objects.ts';

export const PROVISIONING = histogram(
  'vps_operator_provisioning_duration_seconds',
  'Time from the decision to order a server until it was first read at the provider.',
  [10, 30, 60, 120, 180, 240, 300, 420, 600, 900, 1800, 3600, 7200],
);

/** What writers work with. */
export interface WriterServices {
  kube: Pick<Kube, 'patchMetadata' | 'writeStatus'>;
  journal: Journal;
  objects: Objects;
  timers: Timers;
  recorder: EventRecorder;
  log: Logger;
  metrics?: Metrics;
}

/** What a step writes, under the name that its log line and its Events have. */
export interface Step {
  name: string;
  next: Outcome;
  /** Every attempt in the journal that the new record does not name is resolved, by a definite answer or by you. */
  resolves?: boolean;
}

/** Called before the error of a write of metadata is thrown. */
export type OnRefused = (patch: MetadataPatch, error: unknown) => Promise<void>;

/** Writes the steps of one visit. */
export interface Writer {
  /** The object as the next step sees it. */
  readonly object: VirtualServer;
  /** A read of the API server has returned this version. */
  saw(live: VirtualServer): void;
  /** Remembers and writes what a step has found out. Returns the Events that it has recorded. Throws KubeError. */
  write(step: Step, onRefused: OnRefused): Promise<readonly EventNote[]>;
}

/** `first`: the version with which the visit begins. */
export type BeginWriting = (first: VirtualServer, services: WriterServices) => Writer;

export const writesEverything: BeginWriting = (first, services) => new RecordWriter(first, services);

export const writesStatusOnly =
  (observer: Observer): BeginWriting =>
  (first, services) =>
    new StatusWriter(first, services, observer);

class RecordWriter implements Writer {
  readonly #services: WriterServices;
  #object: VirtualServer;

  constructor(first: VirtualServer, services: WriterServices) {
    this.#object = first;
    this.#services = services;
  }

  get object(): VirtualServer {
    return this.#object;
  }

  saw(live: VirtualServer): void {
    this.#services.objects.saw(live);
    this.#object = live;
  }

  async write({ name, next: found, resolves = false }: Step, onRefused: OnRefused): Promise<readonly EventNote[]> {
    const { objects, recorder } = this.#services;
    const next = inThisFormat(found);
    const object = this.#object;
    const { uid } = object.metadata;
    // Findings are remembered even if the write fails. A plan holds only once it is written, unless an earlier call would repeat one
    // that the provider has refused.
    const { plan } = next.memo;
    objects.remember(uid, { ...next.memo, plan: plan?.isFirm ? plan : objects.memo(uid).plan });
    this.#object = await this.#written(object, next, onRefused);
    objects.remember(uid, next.memo);
    if (next.record) await this.#forgetResolved(next.record, resolves);
    if (next.status !== undefined) this.#observeProvisioned(object, next.status);
    recorder.record(SERVER_KIND, object, name, next.events);
    return next.events;
  }

  /** The newest version. Whatever was written before an error stays written. */
  async #written(object: VirtualServer, next: Outcome, onRefused: OnRefused): Promise<VirtualServer> {
    const { kube, objects } = this.#services;
    let newest = object;
    const patch = next.record === undefined ? undefined : metadataPatch(object, next.record);
    if (patch !== undefined) {
      newest = await kube.patchMetadata(versionOf(newest), patch).catch(async (error: unknown) => {
        await onRefused(patch, error);
        throw error;
      });
      objects.saw(newest);
    }
    if (next.status !== undefined && !isDeepEqual(newest.status, next.status)) {
      newest = await kube.writeStatus(versionOf(newest), next.status);
      objects.saw(newest);
    }
    return newest;
  }

  /** Forgets attempts that the record no longer names and that a definite answer, or you, have resolved. */
  async #forgetResolved({ attempt }: ServerRecord, resolves: boolean): Promise<void> {
    const { journal } = this.#services;
    const { uid } = this.#object.metadata;
    const others = journal.entries(uid).filter((entry) => entry.attempt !== attempt);
    const resolved = others.filter((entry) => resolves || entry.state === 'minted');
    await Promise.all(resolved.map((entry) => journal.settle(uid, entry.attempt)));
  }

  /** Counts a server that this step has read for the first time. */
  #observeProvisioned(before: VirtualServer, after: VirtualServerStatus): void {
    const { attemptedAt, mode } = mirrorIn(after) ?? {};
    if (knownRecord(before)?.fingerprint !== undefined || isProvisioned(before.status) || !isProvisioned(after)) return;
    if (mode === 'adopt' || attemptedAt === undefined) return;
    const durationMs = Math.max(0, this.#services.timers.now() - Date.parse(attemptedAt));
    this.#services.metrics?.observe(PROVISIONING, {}, durationMs / 1000);
  }
}

/** Writes the status at the end of the visit. Both copies of the record stay as they are. */
class StatusWriter implements Writer {
  readonly #services: WriterServices;
  readonly #observer: Observer;
  /** The newest version as the API server has it. */
  #stored: VirtualServer;
  /** The record that an operator that acts would have written by now. */
  #supposed: ServerRecord | undefined;

  constructor(first: VirtualServer, services: WriterServices, observer: Observer) {
    this.#stored = first;
    this.#services = services;
    this.#observer = observer;
  }

  get object(): VirtualServer {
    return this.#supposed === undefined ? this.#stored : supposing(this.#stored, this.#supposed);
  }

  saw(live: VirtualServer): void {
    this.#services.objects.saw(live);
    this.#stored = live;
  }

  async write({ name, next }: Step): Promise<readonly EventNote[]> {
    const { objects, recorder, kube } = this.#services;
    const { reports } = this.#observer;
    const stored = this.#stored;
    const { uid } = stored.metadata;
    if (!isNow(next.when))
      this.#observer.withholds(SERVER_KIND, keyOf(stored), ...(next.withheld === undefined ? [] : [next.withheld]));
    objects.remember(uid, withoutPlan(next.memo));
    this.#supposed = next.record ?? this.#supposed;
    // What an earlier step of the visit has found would be forgotten with this process.
    const status =
      isNow(next.when) || next.status === undefined
        ? stored.status
        : withMirrorOf(stored, next.status, this.#supposed, knownRecord(stored));
    const isNews = !isDeepEqual(stored.status, status);
    const isWritten = isNews && reports && status !== undefined;
    if (isWritten) {
      this.#stored = await kube.writeStatus(versionOf(stored), status);
      objects.saw(this.#stored);
      recorder.record(SERVER_KIND, stored, name, next.events);
    }
    // As for any operator, a plan holds only once it is written.
    if (!isNews || reports) objects.remember(uid, next.memo);
    return isWritten ? next.events : [];
  }
}

/**
 * Reports in the status that the API server refused a write of the object, if `error` is a refusal. A caller of
 * it throws the error: the visit has failed, and is repeated.
 */
export async function tellRefused(
  view: () => View,
  services: WriterServices,
  step: string,
  { error, ...write }: Omit<RefusedWrite, 'refusal'> & { error: unknown },
  kind: 'metadata' | 'secret',
): Promise<void> {
  if (!isRefusal(error)) return;
  const { objects, recorder, kube, metrics, log } = services;
  const at = view();
  const { object } = at;
  const { namespace, name, uid } = object.metadata;
  metrics?.add(REFUSED_WRITES, { controller: SERVER_SINGULAR, write: kind });
  // An earlier plan would skip the object once the write is accepted.
  const memo = objects.memo(uid);
  objects.remember(uid, { ...(memo.plan?.isFirm ? memo : withoutPlan(memo)), toldAt: undefined });
  const { status, event } = refusedStatus(at, { ...write, refusal: refusalOf(error) });
  try {
    if (!isDeepEqual(object.status, status)) objects.saw(await kube.writeStatus(versionOf(object), status));
  } catch (failure) {
    log.warn({ namespace, name, uid, step, err: failure }, 'the status cannot say which write was refused');
    // The object may have changed, or the refused write was applied.
    if (!isRefusal(failure)) return;
    metrics?.add(REFUSED_WRITES, { controller: SERVER_SINGULAR, write: 'status' });
  }
  recorder.record(SERVER_KIND, object, step, [event]);
}

/** Undefined if metadata already matches. An object that is being deleted cannot get a new finalizer. */
function metadataPatch(object: VirtualServer, record: ServerRecord | null): MetadataPatch | undefined {
  const { finalizers = [], annotations, deletionTimestamp } = object.metadata;
  const present = finalizers.includes(FINALIZER);
  if (record === null) {
    return {
      finalizers: finalizers.filter((other) => other !== FINALIZER),
      annotations: { [RECORD_ANNOTATION]: null },
    };
  }
  const text = formatRecord(record);
  const add = !present && deletionTimestamp === undefined;
  if (!add && annotations?.[RECORD_ANNOTATION] === text) return undefined;
  return { annotations: { [RECORD_ANNOTATION]: text }, ...(add && { finalizers: [...finalizers, FINALIZER] }) };
}

/** The object as if both copies of the record were written. */
function supposing(object: VirtualServer, record: ServerRecord): VirtualServer {
  const { annotations, finalizers = [], ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      annotations: { ...annotations, [RECORD_ANNOTATION]: formatRecord(record) },
      finalizers: finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER],
    },
    status: { ...object.status, record },
  };
}

function versionOf(object: VirtualServer): ObjectVersion {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  return { namespace, name, uid, resourceVersion };
}
