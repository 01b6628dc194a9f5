/** `kubectl vps wait`: follows a server or a set until it is ready, deleted or stuck. */
import type { Condition } from '../../api/meta.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { knownRecord } from '../../virtual-server/decision/known-record.ts';
import { usualMs } from '../../virtual-server/decision/next-poll.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { followGoal, type Goal } from '../screens/follow.ts';
import { isLive } from '../screens/live.ts';
import { duration, progressLine, timeLeft } from '../screens/progress.ts';
import { conditionOf, inWords, isCurrent, pendingChange, serverReadiness } from '../state/readiness.ts';
import { upToDate } from '../state/let-go.ts';
import { stuckServer } from '../screens/stuck.ts';
import type { Target } from '../flags/target.ts';
import { deletedSet, readySet } from './wait-set.ts';

export interface WaitOptions {
  for: 'ready' | 'deleted';
  timeoutMs: number;
}

/** Waits for each in turn: all have to reach the state within one timeout. */
export async function waitForAll(context: Context, targets: readonly Target[], options: WaitOptions): Promise<void> {
  const start = context.now();
  for (const [index, target] of targets.entries()) {
    const spent = index === 0 ? 0 : context.now() - start;
    await waitFor(context, target, { ...options, timeoutMs: Math.max(1, options.timeoutMs - spent) });
  }
}

/** Resolves when the state is reached. Throws CommandError if the object is not there or stuck, or at the timeout. */
async function waitFor(context: Context, { kind, name }: Target, options: WaitOptions): Promise<void> {
  const { for: wanted, timeoutMs } = options;
  if (kind === 'server') {
    const goal = server(context, name, wanted);
    await followGoal(context, goal, timeoutMs);
    tell(context, goal.leftOver());
  } else if (wanted === 'ready') await followGoal(context, readySet(context, name), timeoutMs);
  else await followGoal(context, deletedSet(context, name), timeoutMs);
  print(context, [`${kind === 'set' ? 'set/' : ''}${name} is ${wanted === 'ready' ? 'ready' : 'gone'}`]);
}

/** `leftOver`: what a server that is ready still lacks. */
interface ServerGoal extends Goal<VirtualServer | undefined> {
  leftOver: () => string[];
}

function server(context: Context, name: string, wanted: WaitOptions['for']): ServerGoal {
  const { cluster, now } = context;
  let uid: string | undefined;
  let usual: string | undefined;
  let change: Condition | undefined;
  return {
    name,
    leftOver: () => (change === undefined ? [] : [`${name} is to change: ${change.reason}: ${inWords(change)}`]),
    async look(signal) {
      const found = await cluster.find(name, signal);
      const object = found && upToDate(found);
      if (object !== undefined && wanted === 'ready' && isLive(context.terminal, 'err'))
        usual ??= await usualTime(context, object, signal);
      return object;
    },
    async isReached(object) {
      if (object !== undefined && uid === undefined && !isUnderWay(object, wanted)) {
        tell(context, [`${name} is not being deleted yet; waiting`]);
      }
      if (object === undefined && (wanted === 'ready' || uid === undefined)) {
        const absent = await cluster.noServer(name, wanted === 'ready' ? 'wait' : 'wait --for deleted');
        if (wanted === 'ready') throw absent;
        // As for kubectl, what never existed is gone. But the user may have meant the set.
        tell(context, absent.hints);
      }
      change = object && wanted === 'ready' ? pendingChange(object) : undefined;
      if (isReached(object, uid, wanted)) return true;
      uid ??= object?.metadata.uid;
      return false;
    },
    progress: (object, isNarrow) => object && progressLine(object, isNarrow),
    times(object) {
      const times = [timeLeft(object?.status?.task, now()), usual || undefined].filter((time) => time !== undefined);
      return times.length === 0 ? undefined : times.join(', ');
    },
    stuck: (object) => (object && isUnderWay(object, wanted) ? stuckServer(object, cluster.where, now()) : undefined),
  };
}

/** How much longer the first look may take, to learn how long a server usually takes. */
const LEARN_MS = 2000;

/** Empty if the server was ready before, if no other server of the namespace tells, or if the user may not list them. */
async function usualTime({ cluster }: Context, object: VirtualServer, signal: AbortSignal): Promise<string> {
  if (knownRecord(object)?.readyAt !== undefined) return '';
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(LEARN_MS)]);
  const all = await cluster.list(false, undefined, inTime).catch(() => []);
  const ms = usualReadyMs(object, all);
  return ms === undefined ? '' : `usually ${duration(ms)}`;
}

/**
 * How long other servers of the product took from their order until they were first ready: the median (ms). Undefined if none
 * tells.
 */
export function usualReadyMs({ metadata, spec }: VirtualServer, all: readonly VirtualServer[]): number | undefined {
  const others = all.filter((other) => other.metadata.uid !== metadata.uid && other.spec.product === spec.product);
  return usualMs(others.flatMap(readyMs).sort((a, b) => a - b));
}

/** A longer time includes an outage of the server, or your own work: Ready shows only when it became True the last time. */
const LONGEST_MS = 60 * 60_000;

function readyMs(object: VirtualServer): number[] {
  const { mode, attemptedAt, readyAt } = knownRecord(object) ?? {};
  const ready = conditionOf(object, 'Ready');
  const since = readyAt ?? (ready?.status === 'True' ? ready.lastTransitionTime : undefined);
  if (mode === 'adopt' || attemptedAt === undefined || since === undefined) return [];
  const ms = Date.parse(since) - Date.parse(attemptedAt);
  return ms > 0 && ms <= LONGEST_MS ? [ms] : [];
}

/** `uid`: of the object that was seen first. An object created since with the same name is another object. */
function isReached(object: VirtualServer | undefined, uid: string | undefined, wanted: WaitOptions['for']): boolean {
  if (wanted === 'deleted') return object === undefined || (uid !== undefined && object.metadata.uid !== uid);
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return false;
  return serverReadiness(object).status === 'True' && isCurrent(object);
}

/** Whether the operator works toward the awaited state: `deleted` requires that the object is being deleted. */
function isUnderWay({ metadata }: VirtualServer, wanted: WaitOptions['for']): boolean {
  return wanted === 'ready' || metadata.deletionTimestamp !== undefined;
}
