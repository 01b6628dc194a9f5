/** A program as a child process: its output by line, its exit, and a forced end after the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

export interface Program {
  readonly pid: number;
  /** Lines so far. */
  readonly stdout: string[];
  readonly stderr: string[];
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code after the exit, when all output has arrived; null after a signal. */
  readonly ended: Promise<number | null>;
}

interface ProgramOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/** Runs the project's own Node with these arguments. */
export function startNode(args: string[], options: ProgramOptions = {}): Program {
  const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  const collect = (stream: NodeJS.ReadableStream): string[] => {
    const lines: string[] = [];
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
    return lines;
  };
  return {
    pid: child.pid ?? 0,
    stdout: collect(child.stdout),
    stderr: collect(child.stderr),
    kill: (signal) => void child.kill(signal),
    ended,
  };
}
