/** Checks every second until the wanted state is reached, the object is stuck, or the timeout ends, and shows the progress. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_DURATION_DAYS } from '../../base/duration.ts';
import type { Context } from '../cluster/context.ts';
import { CommandError, EXIT, TransientError } from '../terminal/failure.ts';
import { liveLine } from './live.ts';
import { duration } from './progress.ts';
import { retrying, transient } from './watch.ts';

/** Polls small objects by name: cheap for the API server, and it needs no right to watch. */
const POLL_MS = 1000;
/** Gives the operator time to react to what the user just did, such as `resolve`. */
const STUCK_MS = 5000;
const MAX_TIMER_MS = MAX_DURATION_DAYS * 86_400_000;

export interface Goal<T> {
  /** As the user names it. */
  name: string;
  /** Rejects with TransientError if the same call may succeed later. */
  look: (signal: AbortSignal) => Promise<T>;
  /** Rejects with CommandError if the goal cannot be reached anymore. */
  isReached: (seen: T) => Promise<boolean>;
  /** One line about how far it is. `isNarrow`: without a bar. */
  progress: (seen: T, isNarrow: boolean) => string | undefined;
  /** What changes with the clock, such as the time left. */
  times?: (seen: T) => string | undefined;
  /** Why the goal is not reached until the user acts. */
  stuck: (seen: T) => Stuck | undefined;
}

export interface Stuck {
  /** What is stuck. */
  name: string;
  reason: string;
  message: string;
  /** What to do, one line each. */
  steps: readonly string[];
}

/** `timeoutMs`: Infinity for no limit. Throws CommandError if something is stuck, or at the timeout. */
export async function followGoal<T>(context: Context, goal: Goal<T>, timeoutMs: number): Promise<void> {
  const { now } = context;
  const live = liveLine(context.terminal, goal.name, now);
  let stuckSince: number | undefined;
  try {
    for await (const seen of looks(context, goal, timeoutMs, live.show)) {
      const isReached = await goal.isReached(seen);
      const line = goal.progress(seen, live.isNarrow);
      if (line !== undefined) live.show(line, goal.times?.(seen));
      if (isReached) return;
      const stuck = goal.stuck(seen);
      stuckSince = stuck && (stuckSince ?? now());
      if (stuck && stuckSince !== undefined && now() - stuckSince >= STUCK_MS) throw givenUp(stuck);
    }
  } finally {
    live.end();
  }
}

export function givenUp({ name, reason, message, steps }: Stuck): CommandError {
  return new CommandError(EXIT.stalled, `${name} is stuck and needs you. ${reason}: ${message}`, steps);
}

/** Yields what it sees every second. Throws CommandError at the timeout. */
async function* looks<T>(
  { now }: Context,
  { name, look }: Pick<Goal<T>, 'name' | 'look'>,
  timeoutMs: number,
  show: (text: string) => void,
): AsyncGenerator<T> {
  const deadline = now() + timeoutMs;
  const left = (): number => Math.min(MAX_TIMER_MS, Math.max(1, deadline - now()));
  let answered = false;
  for (;;) {
    const timeUp = AbortSignal.timeout(left());
    const seen = await look(timeUp).catch(transient);
    if (!(seen instanceof TransientError)) {
      answered = true;
      yield seen;
    } else if (!timeUp.aborted) {
      // An API server that has never answered is more likely the wrong one than down.
      if (!answered) throw seen;
      show(retrying(seen));
    }
    if (now() >= deadline) throw new CommandError(EXIT.timeout, `${name}: timed out after ${duration(timeoutMs)}`);
    await sleep(Math.min(POLL_MS, left()));
  }
}
