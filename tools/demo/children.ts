/** Programs that the demo runs beside itself; none of them outlives it, however it ends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, openSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface ChildOptions {
  name: string;
  args: string[];
  /** Gets all that the program writes and nobody else reads. */
  log: string;
  /** Told each line on standard output. */
  onLine?: (line: string) => void;
  /** Told each line on standard error. */
  onError?: (line: string) => void;
}

export interface Children {
  /** Runs `node` with these arguments. */
  start(options: ChildOptions): Child;
  /** Runs a script of sh that writes to our own standard output, for so long at most; resolves with how it ended. */
  run(script: string, timeoutMs: number): Promise<number | string>;
  /** SIGTERM to all, the last one first, SIGKILL to who does not go; resolves when all are gone. Nothing starts then. */
  stop(): Promise<void>;
}

export interface Child {
  /** Rejects when the program ends before it is told to; never resolves. */
  readonly failed: Promise<never>;
}

/** Its standard input is a pipe that only we hold: it reads an end of file when we are gone, by SIGKILL too. */
const WATCHDOG = 'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids; rm -rf "$1"';
const KILL_AFTER_MS = 8_000;

/** What waits for a program while all are being stopped waits in vain, as intended. */
const never = new Promise<never>(() => undefined);

/** `folder` goes when this process is killed; otherwise it is the caller's to remove. */
export function createChildren(folder: string): Children {
  // Sessions of their own: a Ctrl-C in the terminal reaches only us, and we end all in order.
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

  /** Resolves with the exit code, or the signal, of a program that is started here; never once all are stopped. */
  async function ending(launch: () => ChildProcess): Promise<number | string> {
    if (isStopping()) return never;
    const child = launch();
    running.push(child);
    report();
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    report();
    return isStopping() ? never : (signal ?? code ?? 'nothing');
  }

  async function stopAll(): Promise<void> {
    for (const child of running.toReversed()) await end(child);
    watchdog.stdin.end();
  }

  return {
    start({ name, args, log, onLine, onError }) {
      let last = 'it wrote nothing';
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
        throw new Error(`${name} ended with ${how}: ${last}`);
      });
      failed.catch(() => undefined);
      return { failed };
    },
    run: (script, timeout) =>
      ending(() => spawn('/bin/sh', ['-ec', script], { stdio: ['ignore', 1, 1], detached: true, timeout })),
    stop: () => (stopping ??= stopAll()),
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
