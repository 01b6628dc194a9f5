/** The lease is not held (any more): nothing was sent, another process goes on. */
export class NotLeaderError extends Error {
  override readonly name = 'NotLeaderError';
  readonly code = 'NOT_LEADER';

  constructor() {
    super('leadership was lost before anything was sent');
  }
}
