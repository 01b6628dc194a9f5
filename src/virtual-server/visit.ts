/** One visit to one object: its newest version, its API key, and its writes. The operations share it. */
import { FINALIZER, RECORD_ANNOTATION, SERVER_KIND, SERVER_SINGULAR } from '../api/names.ts';
import { formatRecord, type ServerRecord, mirrorIn } from '../api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../api/virtual-server.ts';
import type { Missing } from '../accounts/decision/failure.ts';
import type { Accounts, Found } from '../accounts/accounts.ts';
import type { Logger } from '../base/logger.ts';
import type { Timers } from '../base/timers.ts';
import { currentReason } from '../api/conditions.ts';
import type { Recorder } from '../controller/event-recorder.ts';
import type { Observer } from '../controller/observer.ts';
import { REFUSED_WRITES, type Progress } from '../controller/controller.ts';
import type { Session } from '../provider/types.ts';
import type { ConnectionSecrets } from './connection-secret.ts';
import { inputsOf } from './decision/inputs.ts';
import { holdsSomething, knownRecord } from './decision/record.ts';
import { withoutPlan } from './decision/memo.ts';
import { patchInWords, refusedStatus, withMirrorOf, type RefusedWrite } from './decision/refused.ts';
import { isProvisioned } from './decision/status.ts';
import type { Facts, Outcome } from './decision/types.ts';
import { viewOf, type View } from './decision/view.ts';
import type { CreateLimit, Reservation, ServerQuota } from './shared/limits.ts';
import type { Holders } from './shared/holders.ts';
import type { Objects } from './shared/objects.ts';
import type { Pace } from './shared/pace.ts';
import type { TaskTimes } from './shared/task-times.ts';
import { histogram, type Metrics } from '../base/metrics.ts';
import type { Journal } from './journal/journal.ts';
import type { Kube } from './kube.ts';
import type { SshProbe } from './ssh-check.ts';
import { isDeepEqual } from '../base/deep-equal.ts';
import type { MetadataPatch } from '../kube/client.ts';
import { isRefusal, refusalOf } from '../kube/error.ts';
import type { ObjectVersion } from '../kube/resource.ts';
import { ok, type Result } from '../base/result.ts';

export const PROVISIONING = histogram(
  'vps_operator_provisioning_duration_seconds',
  'Time from the decision to order a server until it was first read at the provider.',
  [10, 30, 60, 120, 180, 240, 300, 420, 600, 900, 1800, 3600, 7200],
);

/** What visits work with. */
export interface VisitServices {
  kube: Kube;
  accounts: Accounts;
  journal: Journal;
  objects: Objects;
  holders: Holders;
  quota: ServerQuota;
  limit: CreateLimit;
  pace: Pace;
  taskTimes: TaskTimes;
  probe: SshProbe;
  connections: ConnectionSecrets;
  /** Returns a new name for an attempt. */
  mint: () => string;
  /** True while no other process can be the active one; checked at the moment an order or a DELETE is sent. */
  leads: () => boolean;
  timers: Timers;
  recorder: Recorder;
  /** Given if the operator only observes. */
  observer?: Observer | undefined;
  log: Logger;
  /** Marked at every step. */
  progress?: Progress;
  metrics?: Metrics;
}

/** What a step writes, under the name that its log line and its Events have. */
export interface Step {
  name: string;
  next: Outcome;
  /** Whatever the journal knows and the new record does not name is resolved, by a definite answer or by you. */
  resolves?: boolean;
}

/** Orders whose answer is not recorded yet. */
export class OrdersInFlight {
  readonly #open = new Set<Promise<undefined>>();
  #draining = false;

  /** Returns what to call at the end of the order; undefined while the process drains. */
  begin(): (() => void) | undefined {
    if (this.#draining) return undefined;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#open.add(promise);
    return () => {
      this.#open.delete(promise);
      resolve(undefined);
    };
  }

  /** Lets no order begin from now on; resolves when all have ended. */
  async drain(): Promise<void> {
    this.#draining = true;
    await Promise.all(this.#open);
  }
}

export class Visit {
  readonly services: VisitServices;
  #object: VirtualServer;
  /** The same version as the API server has it; only an operator that only observes supposes another record. */
  #real: VirtualServer;
  /** Of an operator that only observes: what it would have written to the record by now. */
  #supposed: ServerRecord | undefined;
  #key: { secret: string; found: Found } | undefined;
  /** The attempt that this visit has claimed. */
  #claimed: string | undefined;
  #steppedAt: number;
  readonly #reservations = new Set<Reservation>();
  readonly #orders: OrdersInFlight;
  #endOrder: (() => void) | undefined;

  constructor(first: VirtualServer, services: VisitServices, orders: OrdersInFlight) {
    this.#object = first;
    this.#real = first;
    this.services = services;
    this.#orders = orders;
    this.#steppedAt = services.timers.monotonic();
  }

  /** The newest version that this visit has read or written. */
  get object(): VirtualServer {
    return this.#object;
  }

  /** The object, with all that is known now. */
  view(): View {
    this.services.progress?.mark();
    return viewOf(this.#object, this.#facts());
  }

  /** A read of the API server has returned this version of the object. */
  saw(live: VirtualServer): void {
    this.services.objects.saw(live);
    this.#object = live;
    this.#real = live;
  }

  /** The session for calls to the provider, with the key of the Secret that the object names; read once a visit. */
  async key({ object, own, inputs, deleting, facts }: View): Promise<Result<{ session: Session }, Missing>> {
    const { plan } = facts.memo;
    const secret = object.spec.apiKeySecretRef.name;
    if (this.#key?.secret !== secret) {
      // A plan no longer counts once you have changed something, above all the annotation.
      const asked = plan !== undefined && plan.inputs !== inputs;
      const use = { held: own !== undefined && holdsSomething(own), deleting, asked };
      this.#key = { secret, found: await this.services.accounts.get(object.metadata.namespace, secret, use) };
    }
    return this.#key.found;
  }

  /** The key cannot see what the object holds: its Secret is read again before the key's next use. */
  suspectKey(): void {
    const { metadata, spec } = this.#object;
    this.services.accounts.suspect(metadata.namespace, spec.apiKeySecretRef.name);
  }

  /** False if the process is about to end: it begins no order that it may not finish. */
  beginsOrder(): boolean {
    this.#endOrder ??= this.#orders.begin();
    return this.#endOrder !== undefined;
  }

  /** The answer to the order is recorded. Everything after that can be done by the next process too. */
  endsOrder(): void {
    this.#endOrder?.();
    this.#claimed = undefined;
  }

  /** The visit is about to send this attempt; undefined: it will not. */
  claims(attempt: string | undefined): void {
    this.#claimed = attempt;
  }

  /**
   * Remembers and writes what a step has found out; the visit continues with the version that the write returned. Throws
   * KubeError.
   */
  async commit({ name, next, resolves = false }: Step): Promise<void> {
    const { objects, recorder, timers, observer } = this.services;
    if (observer !== undefined) return this.#report(name, next, observer);
    const object = this.#object;
    const { uid } = object.metadata;
    // Findings are remembered even if the write fails; a plan holds only once it is written.
    objects.remember(uid, { ...next.memo, plan: objects.memo(uid).plan });
    this.#object = await write(object, next, {
      kube: this.services.kube,
      wrote: (newer) => objects.saw(newer),
      refused: (patch, error) => this.tellRefused(name, { what: patchInWords(patch), next, error }, 'metadata'),
    });
    objects.remember(uid, next.memo);
    if (next.record) await this.#forgetResolved(next.record, resolves);
    if (next.status !== undefined) this.#observeProvisioned(object, next.status);
    recorder.record(SERVER_KIND, object, name, next.events);
    const now = timers.monotonic();
    this.#log(name, next, now - this.#steppedAt);
    this.#steppedAt = now;
  }

  /**
   * Says in the status that the API server has refused a write of the object, if that is what `error` means. Whoever calls
   * it throws the error: the visit has failed, and is repeated.
   */
  async tellRefused(
    step: string,
    { error, ...write }: Omit<RefusedWrite, 'refusal'> & { error: unknown },
    kind: 'metadata' | 'secret',
  ): Promise<void> {
    if (!isRefusal(error)) return;
    const { objects, recorder, kube, metrics, log } = this.services;
    const object = this.#object;
    const { namespace, name, uid } = object.metadata;
    metrics?.add(REFUSED_WRITES, { controller: SERVER_SINGULAR, write: kind });
    // A plan from before would leave the object as it is once the write is accepted.
    objects.remember(uid, withoutPlan(objects.memo(uid)));
    const { status, event } = refusedStatus(this.view(), { ...write, refusal: refusalOf(error) });
    try {
      if (!isDeepEqual(object.status, status)) {
        this.#object = await kube.writeStatus(versionOf(object), status);
        objects.saw(this.#object);
      }
    } catch (failure) {
      log.warn({ namespace, name, uid, step, err: failure }, 'the status cannot say which write was refused');
      // The object may have changed, or the refused write was applied.
      if (!isRefusal(failure)) return;
      metrics?.add(REFUSED_WRITES, { controller: SERVER_SINGULAR, write: 'status' });
    }
    recorder.record(SERVER_KIND, object, step, [event]);
  }

  /**
   * An operator that only observes writes the status at the end of the visit, and nothing else. Both copies of the record
   * stay as they are; the rest of the visit supposes that they were written. Throws KubeError.
   */
  async #report(name: string, next: Outcome, { reports }: Observer): Promise<void> {
    const { objects, recorder, kube } = this.services;
    const real = this.#real;
    const { uid } = real.metadata;
    objects.remember(uid, { ...next.memo, plan: undefined });
    const status = next.again || next.status === undefined ? real.status : withMirrorOf(real, next.status);
    const isNews = !isDeepEqual(real.status, status);
    let newest = real;
    if (isNews && reports && status !== undefined) {
      newest = await kube.writeStatus(versionOf(real), status);
      objects.saw(newest);
      recorder.record(SERVER_KIND, real, name, next.events);
    }
    // As for any operator, a plan holds only once it is written.
    if (!isNews || reports) objects.remember(uid, next.memo);
    this.#supposed = next.record ?? this.#supposed;
    this.#real = newest;
    this.#object = this.#supposed === undefined ? newest : supposing(newest, this.#supposed);
    const now = this.services.timers.monotonic();
    this.#log(name, { ...next, ...(!reports && { events: [] }) }, now - this.#steppedAt);
    this.#steppedAt = now;
  }

  /** True if the object has changed in a way that matters since `view`, in versions that this process has not seen. */
  hasChangedSince({ inputs }: View): boolean {
    // Versions repeat after a restore of etcd, so a write may hit an object that this process has not seen.
    return inputsOf(this.#object) !== inputs;
  }

  /** From now until the visit ends, or keeps it. */
  reserves(reservation: Reservation): void {
    this.#reservations.add(reservation);
  }

  /** The reservation lasts after the visit. */
  keeps(reservation: Reservation): void {
    this.#reservations.delete(reservation);
  }

  /** Releases what the visit has reserved and not kept. */
  end(): void {
    this.endsOrder();
    for (const reservation of this.#reservations) reservation.release();
  }

  /** Forgets attempts that the record no longer names and that a definite answer, or you, have resolved. */
  async #forgetResolved({ attempt }: ServerRecord, resolves: boolean): Promise<void> {
    const { journal } = this.services;
    const { uid } = this.#object.metadata;
    const others = journal.entries(uid).filter((entry) => entry.attempt !== attempt);
    const resolved = others.filter((entry) => resolves || entry.state === 'minted');
    await Promise.all(resolved.map((entry) => journal.settle(uid, entry.attempt)));
  }

  #facts(): Facts {
    const { journal, holders, objects, pace, taskTimes, timers, kube } = this.services;
    const { metadata, spec } = this.#object;
    const { uid, namespace } = metadata;
    const found = this.#key?.found;
    return {
      now: timers.now(),
      monotonic: timers.monotonic(),
      apiServerNow: kube.serverTime(),
      memo: objects.memo(uid),
      // The attempt of this visit was not sent yet, which is no reason to drop it.
      notes: journal.entries(uid).filter((note) => note.attempt !== this.#claimed || note.state !== 'minted'),
      others: holders.others(uid),
      handOver: {
        ...objects.handOvers.of(this.#object),
        taker: objects.takerOf(this.#object),
        giver: objects.giverOf(this.#object),
      },
      timing: pace.timing(namespace, timers.monotonic()),
      taskTimes: taskTimes.of(spec.product),
      jitter: timers.random(),
      journalProblem: journal.problem,
      key: found?.ok === true ? ok({ ...found.value, account: found.value.session.account }) : found,
    };
  }

  /** Counts a server that this step has read for the first time. */
  #observeProvisioned(before: VirtualServer, after: VirtualServerStatus): void {
    const { attemptedAt, mode } = mirrorIn(after) ?? {};
    if (knownRecord(before)?.fingerprint !== undefined || isProvisioned(before.status) || !isProvisioned(after)) return;
    if (mode !== 'create' || attemptedAt === undefined) return;
    const durationMs = Math.max(0, this.services.timers.now() - Date.parse(attemptedAt));
    this.services.metrics?.observe(PROVISIONING, {}, durationMs / 1000);
  }

  #log(step: string, { error, events, record: written }: Outcome, durationMs: number): void {
    const { log } = this.services;
    const { namespace, name, uid, resourceVersion } = this.#object.metadata;
    const record = written ?? knownRecord(this.#object);
    const fields = {
      namespace,
      name,
      uid,
      resourceVersion,
      step,
      reason: currentReason(this.#object.status?.conditions),
      attempt: record?.attempt,
      task: record?.task,
      identifier: record?.identifier,
      ...(error && { code: error.code, error: error.message }),
      durationMs: Math.round(durationMs * 10) / 10,
    };
    const isNews = !REPEATED.has(step) && (written !== undefined || events.length > 0);
    if (error !== undefined) log.warn(fields, 'step failed');
    else if (isNews) log.info(fields, 'step done');
    else log.debug(fields, 'step done');
  }
}

/** Steps that repeat for the whole life of an object. */
const REPEATED = new Set(['wait', 'follow', 'look']);

export interface WriteDeps {
  kube: Pick<Kube, 'patchMetadata' | 'writeStatus'>;
  /** Called at once with every version that a write returned. */
  wrote: (object: VirtualServer) => void;
  /** Called before the error of a write of metadata is thrown. */
  refused: (patch: MetadataPatch, error: unknown) => Promise<void>;
}

/** Returns the newest version. Throws KubeError; whatever was written before the error stays written. */
export async function write(
  object: VirtualServer,
  next: Pick<Outcome, 'record' | 'status'>,
  deps: WriteDeps,
): Promise<VirtualServer> {
  let newest = object;
  const patch = next.record === undefined ? undefined : metadataPatch(object, next.record);
  if (patch !== undefined) {
    newest = await deps.kube.patchMetadata(versionOf(newest), patch).catch(async (error: unknown) => {
      await deps.refused(patch, error);
      throw error;
    });
    deps.wrote(newest);
  }
  if (next.status !== undefined && !isDeepEqual(newest.status, next.status)) {
    newest = await deps.kube.writeStatus(versionOf(newest), next.status);
    deps.wrote(newest);
  }
  return newest;
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
