/** `kubectl vps wait`: follows a server until it is ready, deleted or stuck. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { VirtualServer } from '../../../api/virtual-server.ts';
import { print, tell, type Context } from '../context.ts';
import { CommandError, EXIT, TransientError } from '../failure.ts';
import { nextSteps } from '../next-steps.ts';
import { duration, progressLine } from '../progress.ts';
import { isCurrent, paused, readiness, stalled } from '../readiness.ts';
import { clean } from '../terminal.ts';
import { inWords } from '../words.ts';

/** Polls one small object by name: cheap for the API server, and it needs no right to watch. */
const POLL_MS = 1000;
/** Gives the operator time to react to what the user just did, such as `resolve`. */
const STUCK_MS = 5000;
const ERASE_LINE = '\r\u001b[K';

export interface WaitOptions {
  for: 'ready' | 'deleted';
  timeoutMs: number;
}

/** Resolves when the state is reached. Throws CommandError if the object is not there or stuck, or at the timeout. */
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
      if (object === undefined)
        throw new CommandError(EXIT.notFound, `no VirtualServer "${name}" in namespace "${cluster.namespace}"`);
      uid ??= object.metadata.uid;
      const stuck = isUnderWay(object, options.for) ? (paused(object) ?? stalled(object)) : undefined;
      stuckSince = stuck && (stuckSince ?? now());
      if (stuck && stuckSince !== undefined && now() - stuckSince >= STUCK_MS) {
        throw givenUp(object, `${stuck.reason}: ${inWords(stuck.message)}`, context);
      }
    }
  } finally {
    show(undefined);
  }
  print(context, [`${name} is ${options.for === 'ready' ? 'ready' : 'gone'}`]);
}

/** Yields the object every second, undefined if it does not exist. Throws CommandError at the timeout. */
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
      // An API server that has never answered is more likely the wrong one than down.
      if (!answered) throw seen;
      show(`retrying: ${clean(seen.message)}`);
    }
    if (now() >= deadline) throw new CommandError(EXIT.timeout, `${name}: timed out after ${duration(timeoutMs)}`);
    await sleep(Math.min(POLL_MS, left()));
  }
}

/** Rethrows errors that a retry does not fix. */
function transient(error: unknown): TransientError {
  if (error instanceof TransientError) return error;
  throw error;
}

/** `uid`: of the object that was seen first. An object created since with the same name is another object. */
function isReached(object: VirtualServer | undefined, uid: string | undefined, wanted: WaitOptions['for']): boolean {
  if (wanted === 'deleted') return object === undefined || (uid !== undefined && object.metadata.uid !== uid);
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return false;
  return readiness(object).status === 'True' && isCurrent(object);
}

/** Whether the operator works toward the awaited state: `deleted` requires that the object is being deleted. */
function isUnderWay({ metadata }: VirtualServer, wanted: WaitOptions['for']): boolean {
  return wanted === 'ready' || metadata.deletionTimestamp !== undefined;
}

function givenUp(object: VirtualServer, why: string, { cluster, now }: Context): CommandError {
  const steps = nextSteps(object, cluster.where, now());
  return new CommandError(EXIT.stalled, `${object.metadata.name} is stuck and needs you. ${why}`, steps);
}

/** On a terminal, redraws one line and erases it at the end; elsewhere, prints a line for each change. */
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
    // Cut the line: a wrapped line could not be erased.
    err.write(err.isTTY ? `${ERASE_LINE}${line.slice(0, Math.max(20, err.columns - 1))}` : `${line}\n`);
  };
}
