/** Child processes that never outlive us: a watchdog kills them and removes their folder, however this process ends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Everything below one folder: the folder goes when the processes have gone. */
export interface ProcessGroup {
  /** Output goes to `<folder>/<name>.log`, appended. */
  start(name: string, command: string, args: string[]): ManagedProcess;
  /** SIGKILL to all, then removes the folder: nothing in it is worth an orderly end. */
  stop(): Promise<void>;
}

export interface ManagedProcess {
  readonly pid: number;
  /** Resolves when `ready` has said true; an Error with the last lines of output when the process ends or time is up. */
  waitUntil(ready: () => Promise<boolean>, timeoutMs: number): Promise<void>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

// Its standard input is a pipe that only we hold: it reads an end of file when we are gone, by SIGKILL too.
// Each line is the whole list of process ids alive; `rm` comes after the kill because etcd writes until its end.
const WATCHDOG = 'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids; rm -rf "$1"';
const POLL_MS = 50;
const CHECK_MS = 5_000;

export function createProcessGroup(folder: string): ProcessGroup {
  // Own sessions: a Ctrl-C in the terminal reaches only us, and neither the watchdog nor the order of shutdown.
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'watchdog', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.unref();
  // Somebody who kills the watchdog takes away the safety net, not the tests.
  watchdog.stdin.on('error', () => undefined);
  const alive = new Map<number, ManagedProcess>();
  const report = () => watchdog.stdin.write(`${[...alive.keys()].join(' ')}\n`);

  return {
    start(name, command, args) {
      const log = join(folder, `${name}.log`);
      const output = openSync(log, 'a');
      const child = spawn(command, args, { stdio: ['ignore', output, output], detached: true });
      closeSync(output);
      const managed = manage(name, child, log);
      if (child.pid !== undefined) {
        alive.set(child.pid, managed);
        report();
      }
      child.once('exit', () => {
        alive.delete(managed.pid);
        report();
      });
      return managed;
    },
    async stop() {
      await Promise.all([...alive.values()].map((process) => process.kill()));
      await rm(folder, { recursive: true, force: true });
      watchdog.stdin.end();
    },
  };
}

function manage(name: string, child: ChildProcess, log: string): ManagedProcess {
  let ended: string | undefined;
  const gone = new Promise<void>((resolve) => {
    child.once('error', (error) => resolve(void (ended = error.message)));
    child.once('exit', (code, signal) => resolve(void (ended = `ended with ${signal ?? code ?? 'nothing'}`)));
  });

  return {
    pid: child.pid ?? 0,
    async waitUntil(ready, timeoutMs) {
      const end = Date.now() + timeoutMs;
      while (!(await withinTime(ready))) {
        if (ended !== undefined) throw new Error(`${name} ${ended}. Its last lines:\n${await lastLines(log)}`);
        if (Date.now() > end) {
          throw new Error(`${name} is not ready after ${timeoutMs / 1000} s. Its last lines:\n${await lastLines(log)}`);
        }
        await Promise.race([sleep(POLL_MS), gone]);
      }
    },
    async kill() {
      if (ended !== undefined) return;
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** A check that fails or hangs is a check that said no. */
async function withinTime(ready: () => Promise<boolean>): Promise<boolean> {
  return Promise.race([ready().catch(() => false), sleep(CHECK_MS, false, { ref: false })]);
}

async function lastLines(log: string): Promise<string> {
  const text = await readFile(log, 'utf8').catch(() => '');
  return text.trim().split('\n').slice(-15).join('\n');
}
