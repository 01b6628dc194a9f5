/** A program as a child process: its output line by line, its end, and its end by force when a test is over. */
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
  /** Resolves with the exit code when it has ended and all its output is here; null for an end by a signal. */
  readonly ended: Promise<number | null>;
}

interface ProgramOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/** Runs our own Node with these arguments. */
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
