/** How a command fails: a message for the user and an exit code for scripts. */
import { CommanderError } from 'commander';
import { clean, type Terminal } from './terminal.ts';

/** Documented in docs/reference/kubectl-plugin.md; scripts rely on them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  /** The object is stuck until the user acts. */
  stalled: 4,
  timeout: 5,
  interrupted: 130,
} as const;

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;
  /** What to do about the error, one line each. */
  readonly hints: readonly string[];

  constructor(exitCode: ExitCode, message: string, hints: readonly string[] = []) {
    super(message);
    this.exitCode = exitCode;
    this.hints = hints;
  }
}

/** The API server is unreachable, failing or overloaded: the same call may succeed later. */
export class TransientError extends CommandError {
  constructor(message: string) {
    super(EXIT.failed, message);
  }
}

/** The object is there already, or has changed since it was read: the next look finds what that means. */
export class MovedError extends CommandError {
  constructor(message: string) {
    super(EXIT.failed, message);
  }
}

/** There is an object with this name. */
export class ExistsError extends MovedError {}

/** Nothing can be created in the namespace, because it is being deleted. */
export class TerminatingError extends CommandError {
  constructor(message: string) {
    super(EXIT.failed, message);
  }
}

/** A mistake in the arguments of a command for which 2 means something else. */
export class UsageFailure extends CommanderError {
  override readonly name = 'UsageFailure';
}

/** Prints the error and returns the exit code. */
export function codeOf(error: unknown, { err }: Pick<Terminal, 'err'>): number {
  // commander has already printed it; help and version are not failures.
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
  if (error instanceof UsageFailure) return EXIT.failed;
  if (error instanceof CommanderError) return EXIT.usage;
  // Ctrl-C at a prompt. Matched by name: the class is in a package that this one does not depend on.
  if (error instanceof Error && error.name === 'ExitPromptError') return EXIT.interrupted;
  const known = error instanceof CommandError;
  // Errors of the API server may quote text that other users wrote.
  err.write(`kubectl vps: ${clean(error instanceof Error ? error.message : String(error))}\n`);
  if (known) for (const hint of error.hints) err.write(`  ${clean(hint)}\n`);
  return known ? error.exitCode : EXIT.failed;
}
