/** Runs one program with our own standard streams. */
import { spawn } from 'node:child_process';

/** Resolves to the exit code, 1 for an end by a signal; SIGINT and SIGTERM to us go to the program. */
export async function runProgram(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on('SIGINT', pass).on('SIGTERM', pass);
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    process.off('SIGINT', pass).off('SIGTERM', pass);
  }
}
