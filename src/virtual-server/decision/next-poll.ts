/**
 * When to poll a running task again: at the time when it should be over. What the task says counts first, then how long
 * tasks of this product took before. A text that lies costs a few polls, because the pause doubles with each answer that
 * shows no progress. Pure.
 */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { Polled } from './memo.ts';
import { jittered } from './outcome.ts';
import { readProgress, type TaskProgress } from './server-status.ts';
import type { Timing } from './types.ts';
import type { View } from './view.ts';

export interface NextPoll {
  afterMs: number;
  /** How long the task is expected to run yet; undefined: unknown. */
  endsInMs: number | undefined;
  polled: Polled;
}

/** The least pause between two polls of a task (ms). */
export const FLOOR_MS = 2_000;
/** How long after its expected end a task is polled (ms). */
const MARGIN_MS = 500;
/** The pause is at least this part of the time so far, so that even a text which always changes costs few polls. */
const FLOOR_PART = 1 / 20;
/** Without anything to go by, the pause is this part of the time so far. */
const BLIND_PART = 1 / 3;
/** A rate counts for this many times as long as it was measured. */
const TRUST = 3;
/** How many polls are spread over the times that tasks took before. */
const POLLS = 6;
/** A longer estimate is of no use (ms). */
const LONGEST_MS = 24 * 60 * 60_000;

type AboutPoll = Pick<View, 'now' | 'monotonic' | 'timing' | 'taskTimes' | 'jitter' | 'memo'>;

/** After the task has answered that it runs, with this text. */
export function nextPoll({ task = 0, attemptedAt }: ServerRecord, text: string | undefined, view: AboutPoll): NextPoll {
  const { monotonic, timing, taskTimes } = view;
  const before = view.memo.polled?.task === task ? view.memo.polled : undefined;
  const polled = answered(before, task, readProgress(text), monotonic);
  const elapsedMs = Math.max(monotonic - polled.since, runsForMs(attemptedAt, view.now) ?? 0);
  const { waitMs, endsInMs } = expected(polled, elapsedMs, taskTimes);
  const leastMs = pauseMs(elapsedMs, timing) * 2 ** polled.stale;
  const afterMs = Math.min(timing.pollMs, Math.max(leastMs, waitMs));
  return {
    afterMs: endsInMs === undefined ? jittered(afterMs, view) : Math.round(afterMs),
    endsInMs: endsInMs !== undefined && endsInMs <= LONGEST_MS ? Math.round(endsInMs) : undefined,
    polled,
  };
}

/** The least pause before the provider is asked again about an order that is this old (ms). */
export function pauseMs(ageMs: number, { pollMs, pollShareMs }: Timing): number {
  return Math.min(pollMs, Math.max(FLOOR_MS, ageMs * FLOOR_PART, pollShareMs));
}

/** How long ago the order was sent (ms); undefined if the record does not say. */
export function runsForMs(attemptedAt: string | undefined, now: number): number | undefined {
  return attemptedAt === undefined ? undefined : Math.max(0, now - Date.parse(attemptedAt));
}

function answered(before: Polled | undefined, task: TaskNumber, progress: TaskProgress, at: number): Polled {
  const { percent } = progress;
  const start = percent === undefined ? undefined : { percent, at };
  if (before === undefined) return { task, since: at, at, progress, base: start, stale: 0 };
  const isSamePhase = percent !== undefined && percent >= (before.progress.percent ?? Infinity);
  return {
    task,
    since: before.since,
    at,
    progress,
    base: isSamePhase ? before.base : start,
    stale: isStuck(before.progress, progress) ? before.stale + 1 : 0,
  };
}

/** True if the task says the same as before, or takes back what it said. */
function isStuck(before: TaskProgress, now: TaskProgress): boolean {
  if (before.secondsRemaining !== undefined && now.secondsRemaining !== undefined)
    return now.secondsRemaining >= before.secondsRemaining;
  return before.percent !== undefined && now.percent !== undefined && now.percent <= before.percent;
}

/** `waitMs`: until the next poll is worth its call. */
function expected(
  { progress, base, at }: Polled,
  elapsedMs: number,
  taskTimes: readonly number[],
): { waitMs: number; endsInMs: number | undefined } {
  const { percent, secondsRemaining } = progress;
  const usually = usualMs(taskTimes);
  if (secondsRemaining !== undefined) {
    // The text may only count the seconds of the current step.
    const endsInMs = Math.max(secondsRemaining * 1000, (usually ?? 0) - elapsedMs);
    return { waitMs: secondsRemaining * 1000 + MARGIN_MS, endsInMs };
  }
  if (percent !== undefined && base !== undefined && percent > base.percent) {
    const span = at - base.at;
    const step = span / (percent - base.percent);
    const endsInMs = (100 - percent) * step;
    // The percentage is cut to a whole number.
    return { waitMs: Math.min(endsInMs + step / 2 + MARGIN_MS, TRUST * span), endsInMs };
  }
  const blindMs = elapsedMs * BLIND_PART;
  const later = taskTimes.filter((ms) => ms > elapsedMs + FLOOR_MS / 2);
  if (percent !== undefined) return { waitMs: blindMs, endsInMs: usually && Math.max(0, usually - elapsedMs) };
  if (later.length === 0) return { waitMs: taskTimes.length === 0 ? elapsedMs : blindMs, endsInMs: undefined };
  const next = later.find((_, index) => {
    const rank = taskTimes.length - later.length + index + 1;
    return rank % Math.ceil(taskTimes.length / POLLS) === 0 || rank === taskTimes.length;
  });
  return { waitMs: (next ?? 0) - elapsedMs + MARGIN_MS, endsInMs: (usualMs(later) ?? 0) - elapsedMs };
}

/** The median; undefined without any time. `times`: in ascending order. */
export function usualMs(times: readonly number[]): number | undefined {
  return times[Math.floor((times.length - 1) / 2)];
}
