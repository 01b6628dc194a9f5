/** Runs one program with our own standard streams. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Resolves to the exit code, 1 for an end by a signal. SIGINT and SIGTERM to us go to the program, and when it has
 * ended we end too: whatever was to come after it is not wanted any more.
 */
export async function runProgram(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit' });
  let received: NodeJS.Signals | undefined;
  const pass = (signal: NodeJS.Signals) => {
    received = signal;
    // A Ctrl-C in a terminal has reached the program too; a second one would cut its orderly end short.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  process.on('SIGINT', pass).on('SIGTERM', pass);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (exitCode) => resolve(exitCode ?? 1));
    });
    if (received !== undefined) process.exit(128 + constants.signals[received]);
    return code;
  } finally {
    process.off('SIGINT', pass).off('SIGTERM', pass);
  }
}
