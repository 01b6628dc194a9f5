/** What a command ends with when it cannot do what was asked: words for a person, an exit code for a script. */

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
