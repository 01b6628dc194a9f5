/** One visit to one object: its newest version, its API key, and its writes. The operations share it. */
import type { ServerRecord } from '../api/record.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import type { Missing } from '../accounts/decision/failure.ts';
import type { Accounts, Found } from '../accounts/accounts.ts';
import type { EventNote } from '../controller/conditions.ts';
import type { Progress } from '../controller/controller.ts';
import type { Session } from '../provider/types.ts';
import type { ConnectionSecrets } from './connection-secret.ts';
import { shownReason } from './decision/compose.ts';
import { inputsOf } from './decision/inputs.ts';
import { isRecent } from './decision/live-read.ts';
import { withPlan } from './decision/next.ts';
import { holdsSomething, knownRecord } from './decision/known-record.ts';
import { patchInWords, type RefusedWrite } from './decision/refused.ts';
import type { Outcome } from './decision/types.ts';
import { endOf, type PowerCall } from './decision/memo.ts';
import { withoutDue } from './decision/power.ts';
import { viewOf, withClaim, withMemo, type Circumstances, type View } from './decision/view.ts';
import { wasRead } from './decision/server-status.ts';
import { userDataText } from './operations/user-data.ts';
import type { CreateLimit, Reservation, ServerQuota } from './shared/limits.ts';
import type { Holders } from './shared/holders.ts';
import type { Pace } from './shared/pace.ts';
import type { TaskTimes } from './shared/task-times.ts';
import type { Kube } from './kube.ts';
import type { SshProbe } from './ssh-check.ts';
import { isDeepEqual } from '../base/deep-equal.ts';
import { ok, type Result } from '../base/result.ts';
import type { Timers } from '../base/timers.ts';
import { tellRefused, type BeginWriting, type Step, type Writer, type WriterServices } from './writer.ts';

/** What visits work with. */
export interface VisitServices extends WriterServices {
  kube: Kube;
  accounts: Accounts;
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
  /** Marked at every step. */
  progress?: Progress;
  beginWriting: BeginWriting;
}

/** A request that orders, changes, switches or cancels a server. */
type Request = 'order' | 'repeat' | 'change' | 'cancel' | PowerCall;

/** What the log says of each request. */
const SENDS: Readonly<Record<Request, string>> = {
  order: 'sending the order',
  repeat: 'sending the order again',
  change: 'sending the change',
  cancel: 'sending the cancellation',
  'power-on': 'starting the server',
  'power-off': 'switching the server off by force',
  shutdown: 'shutting the server down',
  dormant: 'making the server dormant',
  wake: 'waking the server',
  reboot: 'restarting the server',
};

/** Returns what to call at the end of an order; undefined: none may begin. */
type BeginOrder = () => (() => void) | undefined;

export class Visit {
  readonly services: VisitServices;
  readonly #writer: Writer;
  #key: { secret: string; found: Found } | undefined;
  /** The attempt that this visit has claimed. */
  #claimed: string | undefined;
  #steppedAt: number;
  /** The wall clock minus the monotonic clock when the visit began (ms). */
  readonly #clocksDiffer: number;
  /** The text that spec.userDataFrom names. */
  #userData: Promise<string | undefined> | undefined;
  /** This step has sent a request. */
  #hasSent = false;
  readonly #reservations = new Set<Reservation>();
  readonly #beginOrder: BeginOrder;
  #endOrder: (() => void) | undefined;

  constructor(first: VirtualServer, services: VisitServices, beginOrder: BeginOrder) {
    this.services = services;
    this.#writer = services.beginWriting(first, services);
    this.#beginOrder = beginOrder;
    this.#steppedAt = services.timers.monotonic();
    this.#clocksDiffer = clocksDiffer(services.timers);
    // What an earlier visit has read may be from before the machine was suspended.
    const { objects } = services;
    const { uid } = first.metadata;
    objects.remember(uid, withoutDue(objects.memo(uid)));
  }

  /** The newest version that this visit has read or written. */
  get object(): VirtualServer {
    return this.#writer.object;
  }

  /** The object, with all that is known now. */
  view(): View {
    const { progress, objects } = this.services;
    progress?.mark();
    const view = viewOf(this.object, this.#circumstances());
    const memo = withClaim(view);
    if (memo === view.memo) return view;
    objects.remember(this.object.metadata.uid, memo);
    return withMemo(view, memo);
  }

  /** Reads the object from the API server, and continues with that version. False if the object is gone. */
  async readLive(): Promise<boolean> {
    const { namespace, name, uid } = this.object.metadata;
    const live = await this.services.kube.getVirtualServer(namespace, name);
    if (live?.metadata.uid !== uid) return false;
    this.#writer.saw(live);
    return true;
  }

  /** The session for calls to the provider, with the key of the Secret that the object names; read once a visit. */
  async key({ object, own, inputs, deleting, memo }: View): Promise<Result<{ session: Session }, Missing>> {
    const { plan } = memo;
    const secret = object.spec.apiKeySecretRef.name;
    if (this.#key?.secret !== secret) {
      // A plan no longer counts once you have changed something, above all the annotation.
      const asked = plan !== undefined && plan.inputs !== inputs;
      const use = { held: own !== undefined && holdsSomething(own), deleting, asked };
      const found = await this.services.accounts.get(object.metadata.namespace, secret, use);
      const hidden = found.ok ? ok({ ...found.value, session: await this.#hiding(found.value.session) }) : found;
      this.#key = { secret, found: hidden };
    }
    return this.#key.found;
  }

  /** The session with which no text of the provider quotes user data: the present one, or what the order has sent. */
  async #hiding(session: Session): Promise<Session> {
    const { object, own, memo } = this.view();
    const { userData, userDataFrom } = object.spec;
    const { ordered } = memo.evidence;
    const without = ordered?.userData === undefined ? session : session.hiding(ordered.userData);
    if ((userData ?? userDataFrom) === undefined) return without;
    // Another process has sent the order, and the text may have changed since then.
    const isUnknown = own?.attempt !== undefined && own.attempt !== ordered?.attempt && !wasRead(object, own);
    const isRead = userData === undefined && !isUnknown;
    return without.hiding(isRead ? await this.userDataText() : userData);
  }

  /** What spec.userDataFrom names, read once a visit; undefined if it cannot be read, or if no order may send it. */
  userDataText(): Promise<string | undefined> {
    this.#userData ??= userDataText(this.object, this.services.kube);
    return this.#userData;
  }

  /** The key cannot see what the object holds: its Secret is read again before the key's next use. */
  suspectKey(): void {
    const { metadata, spec } = this.object;
    this.services.accounts.suspect(metadata.namespace, spec.apiKeySecretRef.name);
  }

  /** False if the process is about to end: it begins no order that it may not finish. */
  beginsOrder(): boolean {
    // The order may send a newer text than the one that was read before.
    this.#userData = undefined;
    this.#endOrder ??= this.#beginOrder();
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
  async commit(step: Step): Promise<void> {
    const { timers } = this.services;
    const { name, next } = step;
    const memo = withPlan(next.memo, next.when, timers.now(), inputsOf(this.object), next.shows);
    const before = knownRecord(this.object);
    const log = (events: readonly EventNote[]): void =>
      this.#log(name, next, { events, before, durationMs: timers.monotonic() - this.#steppedAt });
    try {
      const events = await this.#writer.write({ ...step, next: { ...next, memo } }, (patch, error) =>
        this.tellRefused(name, { what: patchInWords(patch), next, error }, 'metadata'),
      );
      log(events);
    } catch (error) {
      // What came of a request, such as the task of an order, is then nowhere else to be read.
      if (this.#hasSent) log([]);
      throw error;
    }
    this.#steppedAt = timers.monotonic();
    this.#hasSent = false;
  }

  /** As `tellRefused` in writer.ts. */
  tellRefused(
    step: string,
    write: Omit<RefusedWrite, 'refusal'> & { error: unknown },
    kind: 'metadata' | 'secret',
  ): Promise<void> {
    return tellRefused(() => this.view(), this.services, step, write, kind);
  }

  /** True if the object has changed in a way that matters since `view`, in versions that this process has not seen. */
  hasChangedSince({ inputs, object }: View): boolean {
    // Versions and generations repeat after a restore of etcd, so a write may hit an object that this process has not seen.
    return inputsOf(this.object) !== inputs || !isDeepEqual(this.object.spec, object.spec);
  }

  /**
   * Asked right before a request: a process that was suspended since `readAt` must not act on outdated facts. A machine that is
   * suspended may stop the monotonic clock, but not the wall clock.
   */
  mayActOn(readAt: number): boolean {
    const { leads, timers } = this.services;
    const suspendedMs = Math.max(0, clocksDiffer(timers) - this.#clocksDiffer);
    return leads() && isRecent(readAt, timers.monotonic() + suspendedMs);
  }

  /** What is asked right before a request: whether it may be sent. The log then says that it is, so that even a crash leaves a trace. */
  gate(request: Request, identifier: string | undefined, may: () => boolean): () => boolean {
    const { log } = this.services;
    const { namespace, name, uid } = this.object.metadata;
    return () => {
      if (!may()) return false;
      const { attempt } = knownRecord(this.object) ?? {};
      const about = { namespace, name, uid, request, identifier, attempt };
      log.info(about, SENDS[request]);
      // To write the line may have taken long.
      if (!may()) {
        log.warn(about, `not sent after all: ${SENDS[request]}`);
        return false;
      }
      this.#hasSent = true;
      return true;
    };
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

  #circumstances(): Circumstances {
    const { journal, holders, objects, pace, taskTimes, timers, kube } = this.services;
    const { metadata, spec } = this.object;
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
        ...objects.handOvers.of(this.object),
        taker: objects.takerOf(this.object),
        giver: objects.giverOf(this.object),
      },
      timing: pace.timing(namespace, timers.monotonic()),
      taskTimes: taskTimes.of(spec.product),
      jitter: timers.random(),
      journalProblem: journal.problem,
      key: found?.ok === true ? ok({ ...found.value, account: found.value.session.account }) : found,
    };
  }

  #log(step: string, next: Outcome, { events, before, durationMs }: Logged): void {
    const { log } = this.services;
    const { error, record: written, memo } = next;
    const { namespace, name, uid, resourceVersion } = this.object.metadata;
    const record = written ?? before;
    const fields = {
      namespace,
      name,
      uid,
      resourceVersion,
      step,
      reason: shownReason(this.object),
      attempt: record?.attempt,
      task: record?.task,
      identifier: record?.identifier,
      ...(step === 'cancel' && { cancellation: endOf(memo, record?.identifier)?.state }),
      ...(events.length > 0 && { events: events.map(({ reason }) => reason) }),
      ...(error && { code: error.code, error: error.message }),
      durationMs: Math.round(durationMs * 10) / 10,
    };
    const isNews = this.#hasSent || (!REPEATED.has(step) && (written !== undefined || events.length > 0));
    if (error !== undefined) log.warn(fields, 'step failed');
    else if (isNews) log.info(fields, 'step done');
    else log.debug(fields, 'step done');
  }
}

const clocksDiffer = (timers: Timers): number => timers.now() - timers.monotonic();
interface Logged {
  events: readonly EventNote[];
  /** The record before the step. */
  before: ServerRecord | undefined;
  durationMs: number;
}

/** Steps that repeat for the whole life of an object. */
const REPEATED = new Set(['wait', 'follow', 'look']);
