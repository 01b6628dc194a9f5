/** Carries out the plans of sets: looks live before it creates or deletes anything, and writes the status. */
import { SET_KIND, SET_SINGULAR } from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import type { VirtualServerSet, VirtualServerSetStatus } from '../api/virtual-server-set.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Timers } from '../base/timers.ts';
import { transitions, type EventNote } from '../controller/conditions.ts';
import { REFUSED_WRITES, type Progress, type Reconciler } from '../controller/controller.ts';
import type { Observer } from '../controller/observer.ts';
import type { EventRecorder } from '../controller/event-recorder.ts';
import type { Client } from '../kube/client.ts';
import { isRefusal, KubeError, refusalOf } from '../kube/error.ts';
import { isDeepEqual } from '../base/deep-equal.ts';
import { keyOf } from '../kube/resource.ts';
import {
  eventsOfActions,
  memberNameOf,
  planSet,
  rejected,
  withheld,
  type SetPlan,
  type Rejection,
  type SetAction,
  type Surroundings,
} from './decision/set-plan.ts';
import type { Members } from './members.ts';

/** The longest visit acts a hundred times, so a worker that waits for the API server must not hold up other sets. */
export const SET_WORKERS = 4;

export interface SetReconcilerOptions {
  /** The newest known VirtualServers that concern the set. */
  known: (set: VirtualServerSet) => readonly VirtualServer[];
  sets: Pick<Client<VirtualServerSet>, 'get' | 'writeStatus'>;
  members: Members;
  /** Called with every version that a write or a live read returned. */
  saw: (set: VirtualServerSet) => void;
  /** True while no other process can be the leader. */
  leads: () => boolean;
  /** Given if the operator only observes. */
  observer?: Observer | undefined;
  recorder: Pick<EventRecorder, 'record'>;
  /** Every step of a visit is marked here. */
  progress: Pick<Progress, 'mark'>;
  timers: Pick<Timers, 'now' | 'monotonic'>;
  log: Logger;
  metrics?: Metrics;
  /** Once it fires, nothing is written anymore. */
  stopping: AbortSignal;
}

/** A set is visited at most this often (ms), however many of its members change. */
const PAUSE_MS = 1_000;
/** Pause after a plan from a cache of which the API server refused every action (ms). */
const BEHIND_MS = 30_000;
/** How long a live list is good for (ms), as before every DELETE of a server. */
const FRESH_MS = 30_000;

/** What a plan was made of. */
interface Look {
  set: VirtualServerSet;
  seen: Surroundings;
  plan: SetPlan;
}

/** What became of a plan. */
interface StepOutcome {
  done: SetAction[];
  /** The error that ended the step, or the first rejection. */
  failure?: Error;
  rejection?: Rejection;
}

export class SetReconciler implements Reconciler<VirtualServerSet> {
  readonly #options: SetReconcilerOptions;
  /** When each set was last visited, by key (ms, monotonic). */
  readonly #visited = new Map<string, number>();

  constructor(options: SetReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(
    key: string,
    set: VirtualServerSet | undefined,
  ): Promise<{ requeueAfterMs?: number; postponed?: boolean }> {
    const { timers, known, stopping, observer } = this.#options;
    if (set === undefined) {
      this.#visited.delete(key);
      observer?.withholds(SET_KIND, key);
      return {};
    }
    const pauseMs = (this.#visited.get(key) ?? -Infinity) + PAUSE_MS - timers.monotonic();
    if (pauseMs > 0) return { requeueAfterMs: pauseMs, postponed: true };
    this.#visited.set(key, timers.monotonic());
    if (observer !== undefined) return this.#observe(key, set, observer);
    const cached = { objects: known(set), live: false };
    const first = { set, seen: cached, plan: planSet(set, cached, timers.now()) };
    if (stopping.aborted) return {};
    const seenAt = timers.monotonic();
    const found = await this.#lookFor(first);
    if (found === undefined) return {};
    const look = { ...found, set: await this.#withTemplate(found) };
    const { done, failure, rejection } = await this.#act(look, seenAt);
    const { status } =
      rejection === undefined ? look.plan : planSet(look.set, look.seen, timers.now(), rejected(rejection));
    await this.#writeStatus(look.set, status, eventsOfActions(done));
    if (failure !== undefined) throw failure;
    // What was done shows only in the next plan. A cache that is behind triggers a visit when it catches up.
    const pauseAfterMs = done.length > 0 || look.seen.live ? PAUSE_MS : BEHIND_MS;
    const requeueAfterMs = look.plan.actions.length > 0 ? pauseAfterMs : look.plan.afterMs;
    return requeueAfterMs === undefined ? {} : { requeueAfterMs };
  }

  /** Reports what the set would do, and does none of it. A cache is good enough for that. */
  async #observe(key: string, set: VirtualServerSet, observer: Observer): Promise<{ requeueAfterMs?: number }> {
    const { known, timers } = this.#options;
    const seen = { objects: known(set), live: true };
    const { actions } = planSet(set, seen, timers.now());
    observer.withholds(SET_KIND, key, ...actions.map(({ type }) => type));
    const { status, afterMs } = planSet(set, seen, timers.now(), withheld(actions));
    if (observer.reports) await this.#writeStatus(set, status, []);
    return afterMs === undefined ? {} : { requeueAfterMs: afterMs };
  }

  /** What the first plan is carried out by; undefined if the set is gone. */
  async #lookFor(first: Look): Promise<Look | undefined> {
    if (first.plan.look) return this.#lookLive(first.set);
    if (!first.plan.actions.some(({ type }) => type === 'update')) return first;
    // The watch of sets may be behind that of members, which may have a newer template already.
    const set = await this.#readLive(first.set);
    if (set === undefined) return undefined;
    const look = { ...first, set, plan: planSet(set, first.seen, this.#options.timers.now()) };
    return look.plan.look ? this.#lookLive(set) : look;
  }

  /**
   * Writes the template to the status before it reaches a member. A set that was interrupted in between, and whose template
   * changed, could not tell the earlier template from what a policy has added to the member, and would replace its server
   * instead of changing it in place.
   */
  async #withTemplate({ set, plan: { actions, status } }: Look): Promise<VirtualServerSet> {
    const isKept = set.status?.updateRevision === status.updateRevision;
    const isForMembers = actions.some(({ type }) => type === 'create' || type === 'change');
    return isKept || !isForMembers ? set : this.#writeStatus(set, status, []);
  }

  /** Plans again with what the API server shows now; undefined if the set is gone. */
  async #lookLive(known: VirtualServerSet): Promise<Look | undefined> {
    const { members, progress, timers, stopping } = this.#options;
    // The set before its members: if the set is deleted or scaled down in between, the next visit sees that.
    const set = await this.#readLive(known);
    if (set === undefined) return undefined;
    const seen = { objects: await members.list(set.metadata.namespace, stopping), live: true };
    progress.mark();
    return { set, seen, plan: planSet(set, seen, timers.now()) };
  }

  async #readLive({ metadata: { namespace, name, uid } }: VirtualServerSet): Promise<VirtualServerSet | undefined> {
    const { sets, saw, progress } = this.#options;
    const set = await sets.get(namespace, name);
    progress.mark();
    if (set?.metadata.uid !== uid) return undefined;
    saw(set);
    return set;
  }

  /**
   * Another writer of an object wins: the next plan starts from there. A rejected action holds up no other member, but
   * after a rejected create, or an answer 5xx or 429, the API server would reject the next action of that type too.
   */
  async #act({ set, plan: { actions } }: Look, seenAt: number): Promise<StepOutcome> {
    const { members, leads, progress, timers, log, metrics, stopping } = this.#options;
    const outcome: StepOutcome = { done: [] };
    /** What fails once fails for the next member too. A webhook for one kind of write must not stop the others. */
    const failing = new Set<SetAction['type']>();
    for (const action of actions) {
      if (failing.has(action.type)) continue;
      if (stopping.aborted || !leads() || timers.monotonic() - seenAt > FRESH_MS) break;
      const fields = { set: keyOf(set), action: action.type, member: memberNameOf(action) };
      try {
        await members.perform(set, action);
        outcome.done.push(action);
        log.info(fields, 'set acted on a member');
      } catch (error) {
        const failure = error as Error;
        if (isOvertaken(failure)) log.debug({ ...fields, err: failure }, 'set was overtaken');
        else if (failure instanceof KubeError && (isRejection(failure) || isRefusal(failure))) {
          metrics?.add(REFUSED_WRITES, { controller: SET_SINGULAR, write: 'member' });
          outcome.failure ??= failure;
          outcome.rejection ??= { action, message: refusalOf(failure).said };
          if (action.type === 'create' || !isRejection(failure)) failing.add(action.type);
        } else return { ...outcome, failure };
      }
      progress.mark();
    }
    return outcome;
  }

  /** Returns the set with this status. */
  async #writeStatus(
    set: VirtualServerSet,
    status: VirtualServerSetStatus,
    events: EventNote[],
  ): Promise<VirtualServerSet> {
    const { sets, saw, recorder, stopping } = this.#options;
    const isChanged = !isDeepEqual(set.status, status);
    const changes = isChanged ? transitions(set.status?.conditions, status.conditions) : [];
    recorder.record(SET_KIND, set, 'ReconcileSet', [...events, ...changes]);
    if (stopping.aborted || !isChanged) return set;
    const written = await sets.writeStatus(set.metadata, status);
    saw(written);
    return written;
  }
}

/** The API server understood the request and will not accept it. */
const REJECTIONS: ReadonlySet<string> = new Set(['Invalid', 'Forbidden', 'Rejected']);

const isRejection = (error: KubeError): boolean => REJECTIONS.has(error.code);

/** The object is another version than the plan saw, is gone, or has a name that was free. */
function isOvertaken(error: Error): boolean {
  return error instanceof KubeError && (error.code === 'Conflict' || error.code === 'NotFound');
}
