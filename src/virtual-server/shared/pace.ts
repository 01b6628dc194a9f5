/**
 * How often and how urgently objects make the operator call the provider. Stretches poll and resync intervals when the token
 * bucket is too small for the number of objects, so that repeated calls leave room for all others. A namespace with too
 * many objects stretches only its own intervals.
 */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { hasRunningServer, isLetGo, isOffOnPurpose, isPaused } from '../../api/server-state.ts';
import { staysOff } from '../decision/change.ts';
import { inputsOf, saysGone } from '../decision/inputs.ts';
import { askedAt, ONCE } from '../decision/once.ts';
import { isProvisioned } from '../decision/server-status.ts';
import type { Timing } from '../decision/types.ts';
import { createHash } from 'node:crypto';
import { openIn } from '../../api/open.ts';
import { RECORD_FORMAT } from '../../api/record.ts';
import { delayEndOf } from '../decision/delay.ts';
import { knownRecord } from '../decision/known-record.ts';
import type { TaskTimes } from './task-times.ts';
import { NEW_MEMO, type Calls, type Memo } from '../decision/memo.ts';
import type { Objects } from './objects.ts';

export function callsOf(object: VirtualServer, { calls }: Memo): Calls {
  if (isPaused(object) || isLetGo(object)) return 'none';
  if (calls !== undefined) return calls;
  const record = knownRecord(object);
  if (record === undefined || record.expiredAt !== undefined) return 'none';
  if (record.task !== undefined && !isProvisioned(object.status)) return 'poll';
  return record.identifier === undefined || object.metadata.deletionTimestamp !== undefined ? 'none' : 'resync';
}

/** A server that keeps running after the deletion of its object is only read again. */
function isEnding(object: VirtualServer, now: number): boolean {
  if (object.metadata.deletionTimestamp === undefined) return false;
  return now >= (delayEndOf(object, knownRecord(object)) ?? -Infinity);
}

/** Deletions; then quick tasks, adopted servers and edits; then new orders; then tasks; then Ready servers that are read again. */
const URGENCY = { end: 0, begun: 1, order: 2, task: 3, resync: 4 } as const;
/** A shorter task is polled before more is ordered (ms). */
const QUICK_MS = 30_000;

/**
 * How urgent the next visit is; 0 goes first. Orders go before the polls of tasks that take minutes: the sooner the last of
 * a thousand servers is ordered, the sooner all are there. A task that takes seconds is finished first. `now` in ms since the
 * epoch.
 */
export function urgencyOf(object: VirtualServer | undefined, times: Pick<TaskTimes, 'usual'>, now: number): number {
  if (object === undefined || isEnding(object, now)) return URGENCY.end;
  const { metadata, spec, status } = object;
  if (isProvisioned(status)) return status?.observedGeneration === metadata.generation ? URGENCY.resync : URGENCY.begun;
  const { task, identifier } = knownRecord(object) ?? {};
  if (task === undefined) return identifier === undefined ? URGENCY.order : URGENCY.begun;
  const isQuick = (times.usual(spec.product) ?? Infinity) < QUICK_MS;
  return isQuick ? URGENCY.begun : URGENCY.task;
}

/** Share of the bucket for polling tasks, and for reading Ready servers again; the rest is for everything else. */
const POLL_SHARE = 0.6;
const RESYNC_SHARE = 0.2;
const COUNT_EVERY_MS = 5_000;

export interface PaceOptions {
  pollMs: number;
  resyncMs: number;
  takeoverMs: number;
  absenceMs: number;
  qps: number;
  list: () => readonly VirtualServer[];
  memo: (uid: string) => Memo;
  /** Called when the largest factor by which an interval is stretched changes by more than a tenth. */
  onStretch: (factors: { poll: number; resync: number }) => void;
}

export class Pace {
  readonly #options: PaceOptions;
  #countedAt = -Infinity;
  /** Namespace -> factor, only if above 1. */
  #poll: ReadonlyMap<string, number> = new Map();
  /** Part of the poll interval that would do, if all tasks were polled at the same pace; at most 1. */
  #pollPart = 0;
  #resync: ReadonlyMap<string, number> = new Map();
  #told = { poll: 1, resync: 1 };

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  timing(namespace: string, now: number): Timing {
    this.#countNowAndThen(now);
    const { pollMs, resyncMs, takeoverMs, absenceMs } = this.#options;
    return {
      pollMs: pollMs * (this.#poll.get(namespace) ?? 1),
      pollShareMs: pollMs * (this.#poll.get(namespace) ?? this.#pollPart),
      resyncMs: resyncMs * (this.#resync.get(namespace) ?? 1),
      takeoverMs,
      absenceMs,
    };
  }

  /** The factors of the namespaces whose intervals are stretched most; 1: not at all. */
  factors(now: number): { poll: number; resync: number } {
    this.#countNowAndThen(now);
    return { poll: Math.max(1, ...this.#poll.values()), resync: Math.max(1, ...this.#resync.values()) };
  }

  #countNowAndThen(now: number): void {
    if (now - this.#countedAt < COUNT_EVERY_MS) return;
    this.#countedAt = now;
    this.#count();
    const factors = this.factors(now);
    const moved = (['poll', 'resync'] as const).some((kind) => Math.abs(factors[kind] / this.#told[kind] - 1) > 0.1);
    if (!moved) return;
    this.#told = factors;
    this.#options.onStretch(factors);
  }

  #count(): void {
    const { pollMs, resyncMs, qps, list, memo } = this.#options;
    const counts = { poll: new Map<string, number>(), resync: new Map<string, number>(), none: undefined };
    for (const object of list()) {
      const { namespace, uid } = object.metadata;
      const count = counts[callsOf(object, memo(uid))];
      count?.set(namespace, (count.get(namespace) ?? 0) + 1);
    }
    const polls = (qps * POLL_SHARE * pollMs) / 1000;
    this.#poll = stretched(counts.poll, polls);
    this.#pollPart = Math.min(1, sum(counts.poll.values()) / polls);
    this.#resync = stretched(counts.resync, (qps * RESYNC_SHARE * resyncMs) / 1000);
  }
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}

/** The factors of namespaces that make more calls per interval than their fair share of `capacity`. */
function stretched(calls: ReadonlyMap<string, number>, capacity: number): Map<string, number> {
  const share = fairShare([...calls.values()], capacity);
  return new Map(
    [...calls].filter(([, count]) => count > share).map(([namespace, count]) => [namespace, count / share]),
  );
}

/** The maximum for each namespace; namespaces that need less leave their rest to the others. */
function fairShare(needs: number[], capacity: number): number {
  let left = capacity;
  for (const [index, need] of needs.sort((a, b) => a - b).entries()) {
    const share = left / (needs.length - index);
    if (need > share) return share;
    left -= need;
  }
  return Infinity;
}

/**
 * After a start, spreads the reads of servers that were ready over one resync interval. Each server keeps its place in the interval, so
 * that many restarts cause as few reads as one. `now` in ms since the epoch; `intervalOf`: the resync interval of a
 * namespace (ms).
 */
export function spread(
  listed: readonly VirtualServer[],
  objects: Pick<Objects, 'remember'>,
  now: number,
  intervalOf: (namespace: string) => number,
): void {
  for (const object of listed) {
    const { metadata, status } = object;
    if (!isSettled(object)) continue;
    // Edited while no operator was running: act on the edit without delay.
    if (status?.observedGeneration !== metadata.generation) continue;
    const at = nextTurn(metadata.uid, now, intervalOf(metadata.namespace));
    objects.remember(metadata.uid, {
      ...NEW_MEMO,
      calls: 'resync',
      plan: { operation: 'look', from: now, at, inputs: inputsOf(object) },
    });
  }
}

/**
 * The server was ready, its power is as asked, and nothing is left to do or to find out: a process may have died in the middle of
 * anything. A deletion may wait for your annotation.
 */
function isSettled(object: VirtualServer): boolean {
  const record = knownRecord(object);
  if (record?.identifier === undefined || object.metadata.deletionTimestamp !== undefined) return false;
  const isAsAsked = staysOff(object) ? isOffOnPurpose(object) : hasRunningServer(object);
  const isAsked = ONCE.some((once) => askedAt(object, record, once) !== undefined);
  if (!isAsAsked || isAsked || saysGone(object, record)) return false;
  const wasReady = record.readyAt !== undefined || record.format !== RECORD_FORMAT;
  return wasReady && (record.missingAt ?? record.change ?? record.doubt ?? openIn(record)) === undefined;
}

/** The next time at which this object's part of the interval has passed; a function of the clock, not of the start. */
function nextTurn(uid: string, now: number, interval: number): number {
  const part = createHash('sha256').update(uid).digest().readUInt32BE() / 2 ** 32;
  const since = (now - part * interval) % interval;
  return now + interval - since;
}

/** How late the most overdue read of a task or a server is (ms); 0 if none is late. `now` is in ms since the epoch. */
export function pollLagMs(objects: readonly VirtualServer[], memo: (uid: string) => Memo, now: number): number {
  let lag = 0;
  for (const object of objects) {
    const { plan } = memo(object.metadata.uid);
    if (plan?.operation !== 'follow' && plan?.operation !== 'look') continue;
    if (now - plan.at > lag && !isPaused(object) && !isLetGo(object)) lag = now - plan.at;
  }
  return lag;
}
