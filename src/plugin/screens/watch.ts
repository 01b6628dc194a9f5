/** Looks again and again until Ctrl-C: on a terminal it draws a screen again, elsewhere it prints what is new. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { TransientError } from '../terminal/failure.ts';
import { isLive, liveScreen } from './live.ts';
import { clean } from '../terminal/terminal.ts';

const WATCH_MS = 2000;

export interface WatchedScreen<T> {
  /** Rejects with TransientError if the same call may succeed later. */
  look: () => Promise<T>;
  /** The whole screen. */
  screen: (seen: T) => string[];
  /** What a pipe gets for a change; `before`: undefined at first. */
  news: (seen: T, before: T | undefined) => string[];
}

/** Rejects if the first look fails, or with an error that a retry does not fix. */
export async function watch<T>(context: Context, { look, screen, news }: WatchedScreen<T>): Promise<never> {
  let seen = await look();
  let before: T | undefined;
  let problem: string | undefined;
  const live = isLive(context.terminal, 'out') ? liveScreen(context.terminal) : undefined;
  try {
    for (;;) {
      live?.draw([...screen(seen), ...(problem === undefined ? [] : ['', problem])]);
      if (live === undefined && !isDeepEqual(seen, before)) print(context, news(seen, before));
      before = seen;
      await sleep(WATCH_MS);
      const next = await look().catch(transient);
      const isOutage = next instanceof TransientError;
      if (isOutage && problem === undefined && live === undefined) tell(context, [retrying(next)]);
      problem = isOutage ? retrying(next) : undefined;
      if (!isOutage) seen = next;
    }
  } finally {
    live?.end();
  }
}

export const retrying = ({ message }: TransientError): string => `retrying: ${clean(message)}`;

/** Rethrows errors that a retry does not fix. */
export function transient(error: unknown): TransientError {
  if (error instanceof TransientError) return error;
  throw error;
}
