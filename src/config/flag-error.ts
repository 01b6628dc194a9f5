/** An error in the user's input; its message is shown to the user unchanged. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}
