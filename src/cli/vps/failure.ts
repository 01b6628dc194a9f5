/** What a command ends with when it cannot do what was asked: words for a person, an exit code for a script. */
import { CommanderError } from 'commander';
import { clean, type Terminal } from './terminal.ts';

/** Documented in docs/kubectl-plugin.md; scripts rely on them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  /** Nothing goes on by itself: a person has to act. */
  stalled: 4,
  timeout: 5,
  interrupted: 130,
} as const;

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;
  /** What to do about it, a line each. */
  readonly hints: readonly string[];

  constructor(exitCode: ExitCode, message: string, hints: readonly string[] = []) {
    super(message);
    this.exitCode = exitCode;
    this.hints = hints;
  }
}

/** The API server did not answer, or not now: the same call may succeed later. */
export class TransientError extends CommandError {
  constructor(message: string) {
    super(EXIT.failed, message);
  }
}

/** Says what went wrong; returns the exit code. */
export function codeOf(error: unknown, { err }: Pick<Terminal, 'err'>): number {
  // commander has said it already; help and version are no failures.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  // Ctrl-C at a question; the class lies in a package of its own.
  if (error instanceof Error && error.name === 'ExitPromptError') return EXIT.interrupted;
  const known = error instanceof CommandError;
  // What the API server says may quote what others wrote.
  err.write(`kubectl vps: ${clean(error instanceof Error ? error.message : String(error))}\n`);
  if (known) for (const hint of error.hints) err.write(`  ${clean(hint)}\n`);
  return known ? error.exitCode : EXIT.failed;
}
