/** Child processes that never outlive this process: a watchdog kills them and removes their folder, however it ends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Everything is in one folder, which is removed after the processes have ended. */
export interface ProcessGroup {
  /** Appends output to `<folder>/<name>.log`. */
  start(name: string, command: string, args: string[]): ManagedProcess;
  /** Sends SIGKILL to all, then removes the folder; nothing in it needs an orderly stop. */
  stop(): Promise<void>;
}

export interface ManagedProcess {
  readonly pid: number;
  /**
   * Resolves when `ready` returns true; rejects with the last lines of output if the process ends or the time is up.
   */
  waitUntil(ready: () => Promise<boolean>, timeoutMs: number): Promise<void>;
  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

// Standard input is a pipe that only this process holds, so the script reads end-of-file even after a SIGKILL. Each
// line lists all live process ids; `rm` runs after the kill because etcd writes until it ends.
const WATCHDOG = 'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids; rm -rf "$1"';
const POLL_MS = 50;
const CHECK_MS = 5_000;

/** `env`: of all of them, beside that of this process. */
export function createProcessGroup(folder: string, env: Record<string, string> = {}): ProcessGroup {
  // A separate session: a Ctrl-C in the terminal reaches only this process, and does not disturb an orderly stop.
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'watchdog', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.unref();
  // If the watchdog was killed, only the safety net is gone; the tests continue.
  watchdog.stdin.on('error', () => undefined);
  const alive = new Map<number, ManagedProcess>();
  const report = () => watchdog.stdin.write(`${[...alive.keys()].join(' ')}\n`);

  return {
    start(name, command, args) {
      const log = join(folder, `${name}.log`);
      const output = openSync(log, 'a');
      const child = spawn(command, args, {
        stdio: ['ignore', output, output],
        detached: true,
        env: { ...process.env, ...env },
      });
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
    child.once('exit', (code, signal) => resolve(void (ended = `exited with ${signal ?? code ?? 'nothing'}`)));
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

/** A check that fails or hangs counts as not ready. */
async function withinTime(ready: () => Promise<boolean>): Promise<boolean> {
  return Promise.race([ready().catch(() => false), sleep(CHECK_MS, false, { ref: false })]);
}

async function lastLines(log: string): Promise<string> {
  const text = await readFile(log, 'utf8').catch(() => '');
  return text.trim().split('\n').slice(-15).join('\n');
}
