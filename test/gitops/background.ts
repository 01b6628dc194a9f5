/** A program that runs for all tests of a file. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Background {
  /** The last lines of its output. */
  tail(): string;
  hasEnded(): boolean;
  stop(): Promise<void>;
}

const TAIL = 8_000;

export function startInBackground(path: string, args: string[], env: Record<string, string>): Background {
  const child = spawn(path, args, {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(-TAIL));
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const ended = once(child, 'close');
  return {
    tail: () => output,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
