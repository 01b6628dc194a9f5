/** Runs one program. */
import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs it with this process's standard streams. Resolves with the exit code, 1 after a signal. Forwards SIGINT and SIGTERM to the
 * program; once it has ended, this process exits too, because the next step is no longer wanted.
 */
export function runProgram(command: string, args: readonly string[]): Promise<number> {
  return ended(spawn(command, args, { stdio: 'inherit', env: environment() }));
}

/** The same without input, for a program that runs beside others: resolves with all that it has printed, too. */
export async function runHeld(command: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment() });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await ended(child);
  return { code, output: Buffer.concat(chunks).toString() };
}

async function ended(child: ChildProcess): Promise<number> {
  let received: NodeJS.Signals | undefined;
  const pass = (signal: NodeJS.Signals) => {
    received = signal;
    // A Ctrl-C in a terminal has also reached the program; a second signal would interrupt its orderly stop.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  process.on('SIGINT', pass).on('SIGTERM', pass);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      // Not `exit`: by then, what it has printed may still be on its way.
      child.once('close', (exitCode) => resolve(exitCode ?? 1));
    });
    if (received !== undefined) process.exit(128 + constants.signals[received]);
    return code;
  } finally {
    process.off('SIGINT', pass).off('SIGTERM', pass);
  }
}

/** Without colors in a pipe: vitest writes them wherever its output goes. */
function environment(): NodeJS.ProcessEnv {
  const wantsColor = process.stdout.isTTY || process.env.FORCE_COLOR !== undefined;
  return wantsColor ? process.env : { ...process.env, NO_COLOR: '1' };
}
