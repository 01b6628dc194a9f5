/**
 * Visits VirtualServers, one object at a time: decide, perform, settle and write until nothing more can be done at
 * once.
 */
import { SERVER_KIND } from '../../api/names.ts';
import { currentReason } from '../../controller/conditions.ts';
import type { VirtualServer, VirtualServerStatus } from '../../api/virtual-server.ts';
import { decide } from '../decision/decide.ts';
import { inputsOf } from '../decision/inputs.ts';
import { resolvesAttempts } from '../decision/record.ts';
import { settle } from '../decision/settle.ts';
import { isProvisioned } from '../decision/status.ts';
import type { Action, Facts, Next, Outcome } from '../decision/types.ts';
import { lookAt, type View } from '../decision/view.ts';
import { KubeError } from '../../kube/error.ts';
import type { Kube } from '../kube.ts';
import type { Logger } from '../../base/logger.ts';
import type { ServerInstruments } from '../instruments.ts';
import { choose } from './choose.ts';
import type { GatherRooms, VisitFacts } from './gather.ts';
import type { Objects } from '../fleet/objects.ts';
import type { Pace } from '../fleet/pace.ts';
import { perform, type PerformRooms } from './perform.ts';
import type { Progress } from '../../controller/progress.ts';
import type { Recorder } from '../../controller/event-recorder.ts';
import { write } from './write.ts';

export interface VisitRooms extends PerformRooms, GatherRooms {
  kube: Kube;
  objects: Objects;
  pace: Pace;
  recorder: Recorder;
  log: Logger;
  /** Marked at every step. */
  progress?: Progress;
  instruments?: Pick<ServerInstruments, 'provisioned'>;
}

/** No visit needs more steps than this; exceeding it means a loop, which is a bug. */
const MAX_STEPS = 24;

interface StepResult {
  next: Next;
  /** The newest version of the object. */
  object: VirtualServer;
}

interface Visit {
  gathered: VisitFacts;
  claimed?: string | undefined;
  /** Call it when a visit that claims has ended. */
  ended?: () => void;
}

export class Visits {
  readonly #rooms: VisitRooms;
  /** Visits that claim an attempt and have not yet recorded its result. */
  readonly #creating = new Set<Promise<undefined>>();
  #draining = false;

  constructor(rooms: VisitRooms) {
    this.#rooms = rooms;
  }

  /**
   * Resolves with the ms until the next visit; undefined: when something changes. Throws the error of a step that
   * failed.
   */
  async visit(first: VirtualServer): Promise<number | undefined> {
    const { namespace, name, uid } = first.metadata;
    const visit: Visit = { gathered: {} };
    let object = first;
    try {
      for (let step = 0; step < MAX_STEPS; step++) {
        const choice = await choose(object, visit.gathered, (known) => this.#facts(known, visit), this.#rooms);
        if (choice === undefined) return undefined;
        const { view, action } = choice;
        if (action.type === 'claim') {
          if (this.#draining) return undefined;
          visit.ended ??= this.#creates();
        }
        const { next, object: newest }: StepResult = await this.#step(view, action, visit);
        // Everything after an order can be done by the next process too.
        if (action.type === 'create') visit.ended?.();
        // Versions repeat after a restore of etcd, so a write may hit an object that this process has not seen.
        const isSeen = inputsOf(newest) === view.inputs;
        if (!next.again && isSeen) return next.requeueAfterMs;
        object = newest;
      }
      throw new Error(`no end after ${MAX_STEPS} steps`);
    } finally {
      visit.ended?.();
      visit.gathered.opened?.close();
      this.#rooms.holders.endReservation(uid, this.#rooms.objects.holding(uid, `${namespace}/${name}`));
      this.#rooms.quota.endReservation(uid);
    }
  }

  /** Starts nothing new; resolves when every create in flight is answered and recorded. */
  async drain(): Promise<void> {
    this.#draining = true;
    await Promise.all(this.#creating);
  }

  /** Records what the journal knows and the object does not have yet; makes no calls to the provider. */
  async restore(object: VirtualServer): Promise<void> {
    const visit: Visit = { gathered: {} };
    const view = lookAt(object, this.#facts(object, visit));
    const action = decide(view);
    if (action.type === 'record') await this.#step(view, action, visit);
    else this.#rooms.objects.saw(object);
  }

  /** Makes `drain` wait for this visit until the returned function is called. */
  #creates(): () => void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#creating.add(promise);
    return () => {
      this.#creating.delete(promise);
      resolve(undefined);
    };
  }

  async #step(view: View, action: Action, visit: Visit): Promise<StepResult> {
    const { objects, recorder, timers } = this.#rooms;
    const { object } = view;
    const startedAt = timers.monotonic();
    const { session, opened } = visit.gathered;
    const outcome = await perform(action, { view, session, opened }, this.#rooms);
    this.#suspect(object, outcome);
    const next = settle({ ...view, facts: this.#facts(object, visit) }, action, outcome);
    if (action.type === 'release') {
      objects.released(object.metadata.uid, action.why === 'retained' ? action.record?.identifier : undefined);
    }
    // Findings are remembered even if the write fails; a plan holds only once it is written.
    const { next: planned } = objects.memo(object.metadata.uid);
    objects.remember(object.metadata.uid, { ...next.memo, ...(planned && { next: planned }) });
    const written = await this.#write(object, action, next);
    objects.remember(object.metadata.uid, next.memo);
    if (next.status !== undefined) this.#observeProvisioned(object.status, next.status);
    visit.claimed = next.claimed;
    recorder.record(SERVER_KIND, object, action.type, next.events);
    this.#log(written, action, outcome, next, timers.monotonic() - startedAt);
    return { next, object: written };
  }

  async #write(object: VirtualServer, action: Action, next: Next): Promise<VirtualServer> {
    const { objects, kube, limit } = this.#rooms;
    const { namespace, uid } = object.metadata;
    try {
      const written = await write(object, next, { kube, wrote: (newer) => objects.saw(newer) });
      if (next.record) await this.#forgetResolved(uid, action, next.record.attempt);
      return written;
    } catch (error) {
      const refused = error instanceof KubeError && error.code === 'Conflict';
      // The journal keeps the attempt: a proxy may answer 409 to an applied claim, and the entry proves that nothing
      // was sent.
      if (refused && next.claimed !== undefined) limit.giveBack(namespace, uid);
      throw error;
    }
  }

  /** Forgets attempts that the record no longer names and that a definite answer, or you, have resolved. */
  async #forgetResolved(uid: string, action: Action, attempt: string | undefined): Promise<void> {
    const { journal } = this.#rooms;
    const isResolved = resolvesAttempts(action);
    const others = journal.entries(uid).filter((entry) => entry.attempt !== attempt);
    const resolved = others.filter((entry) => isResolved || entry.state === 'minted');
    await Promise.all(resolved.map((entry) => journal.settle(uid, entry.attempt)));
  }

  #facts(object: VirtualServer, { gathered, claimed }: Visit): Facts {
    const { journal, holders, objects, pace, timers } = this.#rooms;
    const { uid } = object.metadata;
    const { credentials, sshKeys, catalog, createDelayMs, place, order, cancellation } = gathered;
    return {
      now: timers.now(),
      monotonic: timers.monotonic(),
      apiServerNow: this.#rooms.kube.serverTime(),
      memo: objects.memo(uid),
      // The attempt of this visit was not sent yet, which is no reason to drop it.
      notes: journal.entries(uid).filter((note) => note.attempt !== claimed || note.state !== 'minted'),
      others: holders.others(uid),
      timing: pace.timing(object.metadata.namespace, timers.monotonic()),
      jitter: timers.random(),
      claimed,
      journalProblem: journal.problem,
      credentials,
      sshKeys,
      catalog,
      createDelayMs,
      place,
      order,
      cancellation,
    };
  }

  /** If the key cannot see what the object holds, the Secret is read again before the key's next use. */
  #suspect(object: VirtualServer, outcome: Outcome): void {
    const isBlind = outcome.type === 'taskNotFound' || (outcome.type === 'serverNotFound' && !outcome.counts);
    if (isBlind) this.#rooms.accounts.suspect(object.metadata.namespace, object.spec.apiKeySecretRef.name);
  }

  /** Counts a server whose task was followed here and that this step has read for the first time. */
  #observeProvisioned(before: VirtualServerStatus | undefined, after: VirtualServerStatus): void {
    const { attemptedAt, mode } = after.record ?? {};
    if (before?.task === undefined || isProvisioned(before) || !isProvisioned(after)) return;
    if (mode !== 'create' || attemptedAt === undefined) return;
    this.#rooms.instruments?.provisioned(Math.max(0, this.#rooms.timers.now() - Date.parse(attemptedAt)));
  }

  #log(object: VirtualServer, action: Action, outcome: Outcome, next: Next, durationMs: number): void {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const record = next.record ?? ('record' in action ? action.record : undefined);
    const error = outcome.type === 'failed' ? outcome.error : undefined;
    const fields = {
      namespace,
      name,
      uid,
      resourceVersion,
      action: action.type,
      outcome: outcome.type === 'sent' ? outcome.result.kind : outcome.type,
      reason: currentReason(object.status?.conditions),
      attempt: record?.attempt,
      task: record?.task,
      identifier: record?.identifier,
      ...(error && { code: error.code, error: error.message }),
      durationMs: Math.round(durationMs * 10) / 10,
    };
    const quiet = action.type === 'wait' || action.type === 'readServer' || action.type === 'pollTask';
    if (error !== undefined) this.#rooms.log.warn(fields, 'step failed');
    else if (quiet || (action.type === 'park' && next.events.length === 0)) this.#rooms.log.debug(fields, 'step done');
    else this.#rooms.log.info(fields, 'step done');
  }
}
