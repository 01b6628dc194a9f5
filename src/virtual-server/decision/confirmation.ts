/**
 * When the documented 200 to a DELETE is believed. Alone it is the provider's word, not proof: an API may answer 200 with
 * "the server is locked". The read that follows decides. Pure.
 */
import type { ServerRecord } from '../../api/record.ts';
import type { Server } from '../../provider/types.ts';
import { recognizeFor } from './doubt.ts';
import { isRunning } from '../../api/server-state.ts';
import type { CancelWord, Facts, Memo, Outcome } from './types.ts';
import type { View } from './view.ts';

/** The provider's word about this server; undefined if it never gave any, or the server was seen to live on since. */
export function wordOn({ cancelAnswered }: Memo, identifier: string | undefined): CancelWord | undefined {
  return cancelAnswered?.identifier === identifier ? cancelAnswered : undefined;
}

/** The provider's word after the documented answer `said` to a DELETE. */
export function heard({ memo, monotonic }: Facts, identifier: string, said: string): CancelWord {
  return { identifier, said, since: wordOn(memo, identifier)?.since ?? monotonic, askedAt: monotonic };
}

/** The memo of an object whose server lives on: later answers no longer confirm the word. */
export function withoutWord({ cancelAnswered: _cancelAnswered, ...memo }: Memo): Memo {
  return memo;
}

/** True while the last DELETE is too recent for another one. */
export function isAskedLately({ memo, monotonic, timing }: Facts, identifier: string): boolean {
  const word = wordOn(memo, identifier);
  return word !== undefined && monotonic - word.askedAt < timing.absenceMs / 4;
}

/**
 * Whether what the provider shows after the DELETE confirms its word: a server that has stopped running, or certainly
 * another one. `before`: the server as it was read right before the DELETE. A server that did not run then shows nothing
 * new.
 */
export function isConfirmed(
  view: View,
  record: ServerRecord,
  before: Server,
  after: Extract<Outcome, { type: 'server' }>,
): boolean {
  const known = recognizeFor('cancel', view, record, after);
  if (!known.ok && known.isOther) return true;
  const { status = '' } = after.server;
  return isRunning(before.status) && status.trim() !== '' && !isRunning(status);
}
