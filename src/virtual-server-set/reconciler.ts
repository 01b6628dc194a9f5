/** Carries out the plans of sets: looks live before it creates or deletes anything, and writes the status. */
import type { VirtualServerSet, VirtualServerSetStatus } from '../api/virtual-server-set.ts';
import type { Logger } from '../base/logger.ts';
import type { Timers } from '../base/timers.ts';
import type { Reconciler } from '../controller/controller.ts';
import type { Client } from '../kube/client.ts';
import { KubeError } from '../kube/error.ts';
import { isDeepEqual } from '../kube/merge-patch.ts';
import { keyOf } from '../kube/resource.ts';
import { planSet, type Plan, type SetAction } from './decision/plan.ts';
import type { Members } from './members.ts';

export interface SetReconcilerOptions {
  /** The newest known VirtualServers of a namespace. */
  known: (namespace: string) => Parameters<typeof planSet>[1]['objects'];
  sets: Pick<Client<VirtualServerSet>, 'get' | 'writeStatus'>;
  members: Members;
  /** Called with every version that a write or a live read returned. */
  saw: (set: VirtualServerSet) => void;
  /** True while no other process can be the leader. */
  leads: () => boolean;
  timers: Pick<Timers, 'now' | 'monotonic'>;
  log: Logger;
  /** Once it fires, nothing is written anymore. */
  stopping: AbortSignal;
}

/** A set is visited at most this often (ms), however many of its members change. */
const PAUSE_MS = 1_000;
/** How long a live list is good for (ms), as before every DELETE of a server. */
const FRESH_MS = 30_000;

export class SetReconciler implements Reconciler<VirtualServerSet> {
  readonly #options: SetReconcilerOptions;
  /** When each set was last visited, by key (ms, monotonic). */
  readonly #visited = new Map<string, number>();

  constructor(options: SetReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(key: string, set: VirtualServerSet | undefined): Promise<{ requeueAfterMs?: number }> {
    if (set === undefined) {
      this.#visited.delete(key);
      return {};
    }
    const { timers, known, stopping } = this.#options;
    const pauseMs = (this.#visited.get(key) ?? -Infinity) + PAUSE_MS - timers.monotonic();
    if (pauseMs > 0) return { requeueAfterMs: pauseMs };
    this.#visited.set(key, timers.monotonic());
    const first = planSet(set, { objects: known(set.metadata.namespace), live: false }, timers.now());
    if (stopping.aborted) return {};
    const seenAt = timers.monotonic();
    const decided = first.look ? await this.#lookLive(set) : { set, plan: first };
    if (decided === undefined) return {};
    const failure = await this.#act(decided.set, decided.plan, seenAt);
    await this.#writeStatus(decided.set, decided.plan.status);
    if (failure !== undefined) throw failure;
    // What was done shows only in the next plan.
    const requeueAfterMs = decided.plan.actions.length > 0 ? PAUSE_MS : decided.plan.afterMs;
    return requeueAfterMs === undefined ? {} : { requeueAfterMs };
  }

  /** Plans again with what the API server shows now; undefined if the set is gone. */
  async #lookLive({ metadata }: VirtualServerSet): Promise<{ set: VirtualServerSet; plan: Plan } | undefined> {
    const { sets, members, saw, timers } = this.#options;
    const { namespace, name, uid } = metadata;
    // The set before its members: if the set is deleted or scaled down in between, the next visit sees that.
    const set = await sets.get(namespace, name);
    if (set?.metadata.uid !== uid) return undefined;
    saw(set);
    const objects = await members.list(namespace);
    return { set, plan: planSet(set, { objects, live: true }, timers.now()) };
  }

  /** Resolves with the error that ended the step. Another writer of an object wins: the next plan starts from there. */
  async #act(set: VirtualServerSet, { actions }: Plan, seenAt: number): Promise<Error | undefined> {
    const { members, leads, timers, log, stopping } = this.#options;
    for (const action of actions) {
      if (stopping.aborted || !leads() || timers.monotonic() - seenAt > FRESH_MS) break;
      const fields = { set: keyOf(set), action: action.type, member: nameOf(action) };
      try {
        await members.perform(set, action);
        log.info(fields, 'set acted on a member');
      } catch (error) {
        if (!isOvertaken(error, action)) return error as Error;
        log.debug({ ...fields, err: error }, 'set was overtaken');
      }
    }
    return undefined;
  }

  async #writeStatus(set: VirtualServerSet, status: VirtualServerSetStatus): Promise<void> {
    const { sets, saw, stopping } = this.#options;
    if (stopping.aborted || isDeepEqual(set.status, status)) return;
    saw(await sets.writeStatus(set.metadata, set.status, status));
  }
}

const nameOf = (action: SetAction): string => (action.type === 'create' ? action.manifest.metadata.name : action.name);

/** The object is another version than the plan saw, is gone, or has a name that was free. */
function isOvertaken(error: unknown, { type }: SetAction): boolean {
  if (!(error instanceof KubeError)) return false;
  // A patch of a re-created object answers 422; a create does so for a manifest that the API server rejects.
  return error.code === 'Conflict' || error.code === 'NotFound' || (error.code === 'Invalid' && type !== 'create');
}
