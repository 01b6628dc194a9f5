/** Kills the remaining operators and removes their folder when this process ends unexpectedly, however it ends. */
import { spawn } from 'node:child_process';

export interface Watchdog {
  add(pid: number): void;
  remove(pid: number): void;
  /** Ends the watchdog; nothing is left to watch. */
  dismiss(): void;
}

// Standard input is a pipe that only this process holds, so the script reads end-of-file even after a SIGKILL.
const SCRIPT = 'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids; rm -rf "$1"';

export function startWatchdog(folder: string): Watchdog {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  child.unref();
  child.stdin.on('error', () => undefined);
  const alive = new Set<number>();
  const report = (): void => void child.stdin.write(`${[...alive].join(' ')}\n`);
  return {
    add(pid) {
      alive.add(pid);
      report();
    },
    remove(pid) {
      alive.delete(pid);
      report();
    },
    dismiss: () => void child.stdin.end(),
  };
}
