/** `kubectl vps wait`: follows a server until it is ready, gone, or stuck. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { VirtualServer } from '../../../api/virtual-server.ts';
import { print, tell, type Context } from '../context.ts';
import { CommandError, EXIT, TransientError } from '../failure.ts';
import { nextSteps } from '../next-steps.ts';
import { duration, progressLine } from '../progress.ts';
import { isCurrent, paused, readiness, stalled } from '../readiness.ts';
import { clean } from '../terminal.ts';

/** One small read by name: cheaper for the API server than it looks, and it needs no right to watch. */
const POLL_MS = 1000;
/** The operator needs a moment to hear what a person has just done about it, such as `resolve`. */
const STUCK_MS = 5000;
const ERASE_LINE = '\r\u001b[K';

export interface WaitOptions {
  for: 'ready' | 'deleted';
  timeoutMs: number;
}

/** Resolves when it is so. Throws CommandError: gone or never there, stuck, or out of time. */
export async function waitFor(context: Context, name: string, options: WaitOptions): Promise<void> {
  const { cluster, now } = context;
  const show = liveLine(context, name);
  let uid: string | undefined;
  let stuckSince: number | undefined;
  try {
    for await (const object of looks(context, name, options.timeoutMs, show)) {
      if (object !== undefined && uid === undefined && !isUnderWay(object, options.for)) {
        tell(context, [`${name} is not being deleted yet; waiting`]);
      }
      if (object !== undefined) show(progressLine(object));
      if (isReached(object, uid, options.for)) break;
      if (object === undefined) throw new CommandError(EXIT.notFound, `there is no ${name} in ${cluster.namespace}`);
      uid ??= object.metadata.uid;
      const stuck = isUnderWay(object, options.for) ? (paused(object) ?? stalled(object)) : undefined;
      stuckSince = stuck && (stuckSince ?? now());
      if (stuck && stuckSince !== undefined && now() - stuckSince >= STUCK_MS) {
        throw givenUp(object, `${stuck.reason}: ${clean(stuck.message)}`, context);
      }
    }
  } finally {
    show(undefined);
  }
  print(context, [`${name} is ${options.for === 'ready' ? 'ready' : 'gone'}`]);
}

/** The object as it is again and again, undefined where there is none. Throws CommandError when the time is over. */
async function* looks(
  { cluster, now }: Context,
  name: string,
  timeoutMs: number,
  show: (text: string) => void,
): AsyncGenerator<VirtualServer | undefined> {
  const deadline = now() + timeoutMs;
  const left = (): number => Math.max(1, deadline - now());
  let answered = false;
  for (;;) {
    const timeUp = AbortSignal.timeout(left());
    const seen = await cluster.find(name, timeUp).catch(transient);
    if (!(seen instanceof TransientError)) {
      answered = true;
      yield seen;
    } else if (!timeUp.aborted) {
      // An API server that never answered is rather the wrong one than away.
      if (!answered) throw seen;
      show(`asking again: ${clean(seen.message)}`);
    }
    if (now() >= deadline) throw new CommandError(EXIT.timeout, `${name}: timed out after ${duration(timeoutMs)}`);
    await sleep(Math.min(POLL_MS, left()));
  }
}

/** Throws what asking again does not mend. */
function transient(error: unknown): TransientError {
  if (error instanceof TransientError) return error;
  throw error;
}

/** `uid`: of the object that was seen first. One of the same name that was made since is another. */
function isReached(object: VirtualServer | undefined, uid: string | undefined, wanted: WaitOptions['for']): boolean {
  if (wanted === 'deleted') return object === undefined || (uid !== undefined && object.metadata.uid !== uid);
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return false;
  return readiness(object).status === 'True' && isCurrent(object);
}

/** Whether the operator is at what is waited for: a deletion has to be asked for first. */
function isUnderWay({ metadata }: VirtualServer, wanted: WaitOptions['for']): boolean {
  return wanted === 'ready' || metadata.deletionTimestamp !== undefined;
}

function givenUp(object: VirtualServer, why: string, { cluster, now }: Context): CommandError {
  const steps = nextSteps(object, cluster.where, now());
  return new CommandError(EXIT.stalled, `${object.metadata.name} is stuck and needs you. ${why}`, steps);
}

/** On a terminal one line that is redrawn, and erased at the end; elsewhere a line for each change. */
function liveLine({ terminal }: Context, name: string): (text: string | undefined) => void {
  const { err } = terminal;
  let shown: string | undefined;
  return (text) => {
    if (text === undefined) {
      if (err.isTTY && shown !== undefined) err.write(ERASE_LINE);
      return;
    }
    const line = `${name}  ${text}`;
    if (line === shown) return;
    shown = line;
    // A line that wraps could not be erased.
    err.write(err.isTTY ? `${ERASE_LINE}${line.slice(0, Math.max(20, err.columns - 1))}` : `${line}\n`);
  };
}
