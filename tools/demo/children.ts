/** Programs that the demo runs as child processes; none of them outlives it, however it ends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, openSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface ChildOptions {
  name: string;
  args: string[];
  /** Path of a file for all output of the program. */
  log: string;
  /** Called with each line on standard output. */
  onLine?: (line: string) => void;
  /** Called with each line on standard error. */
  onError?: (line: string) => void;
}

export interface Children {
  /** Runs `node` with these arguments. */
  start(options: ChildOptions): Child;
  /** Runs a sh script with our standard output, up to a timeout; resolves with the exit code or signal. */
  run(script: string, timeoutMs: number): Promise<number | string>;
  /**
   * Sends SIGTERM to all, the last one first, and SIGKILL to those that do not exit; resolves when all are gone.
   * Prevents further starts. `onQuiet`: called when the last one is gone, which may have drawn on the terminal.
   */
  stop(onQuiet?: () => void): Promise<void>;
}

export interface Child {
  /** Rejects if the program ends unexpectedly; never resolves. */
  readonly failed: Promise<never>;
}

/** Standard input is a pipe that only this process holds, so the script reads end-of-file even after a SIGKILL. */
const WATCHDOG = 'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids; rm -rf "$1"';
const KILL_AFTER_MS = 8_000;

/** During the stop, waits for a program never end, which is intended. */
const never = new Promise<never>(() => undefined);

/** `folder` is removed if this process is killed; otherwise the caller removes it. */
export function createChildren(folder: string): Children {
  // Separate sessions: a Ctrl-C in the terminal reaches only this process, which stops the others in order.
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'watchdog', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.unref();
  watchdog.stdin.on('error', () => undefined);
  const running: ChildProcess[] = [];
  let stopping: Promise<void> | undefined;
  const isStopping = (): boolean => stopping !== undefined;

  function report(): void {
    const pids = running.filter(isRunning).map(({ pid }) => pid ?? '');
    watchdog.stdin.write(`${pids.join(' ')}\n`);
  }

  /** Resolves with a program's exit code or signal; never during the stop. */
  async function ending(launch: () => ChildProcess): Promise<number | string> {
    if (isStopping()) return never;
    const child = launch();
    running.push(child);
    report();
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    report();
    return isStopping() ? never : (signal ?? code ?? 'nothing');
  }

  async function stopAll(onQuiet?: () => void): Promise<void> {
    const [last, ...others] = running.toReversed();
    if (last !== undefined) await end(last);
    onQuiet?.();
    for (const child of others) await end(child);
    watchdog.stdin.end();
  }

  return {
    start({ name, args, log, onLine, onError }) {
      let last = 'no output';
      const launch = (): ChildProcess => {
        const file = createWriteStream(log, { fd: openSync(log, 'a') });
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
        for (const [stream, tell] of [[child.stdout, onLine] as const, [child.stderr, onError] as const]) {
          createInterface({ input: stream }).on('line', (text) => {
            file.write(`${text}\n`);
            last = text;
            tell?.(text);
          });
        }
        return child;
      };
      const failed = ending(launch).then((how) => {
        throw new Error(`${name} exited with ${how}: ${last}`);
      });
      failed.catch(() => undefined);
      return { failed };
    },
    run: (script, timeout) =>
      ending(() => spawn('/bin/sh', ['-ec', script], { stdio: ['ignore', 1, 1], detached: true, timeout })),
    stop: (onQuiet) => (stopping ??= stopAll(onQuiet)),
  };
}

const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

async function end(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const gone = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  child.kill('SIGTERM');
  await gone;
  clearTimeout(timer);
}
