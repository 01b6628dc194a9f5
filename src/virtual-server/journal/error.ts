/** The one error that the journal throws. */

export type JournalErrorCode =
  | 'InUse' // another process holds the folder
  | 'Corrupt' // a line of the file cannot be understood
  | 'Failed' // a write failed: the journal accepts nothing more until it has rewritten its file
  | 'Closed' // the journal was closed
  | 'WrongStep'; // the attempt is not in the state that the step asks for

export class JournalError extends Error {
  override readonly name = 'JournalError';
  readonly code: JournalErrorCode;

  constructor(code: JournalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
