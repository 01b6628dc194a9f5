/** The one error that the journal throws. */

export type JournalErrorCode =
  | 'InUse' // another process holds the folder
  | 'Corrupt' // a note cannot be understood
  | 'Failed' // the disk refused a step
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
