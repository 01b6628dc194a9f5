/**
 * A server that the provider shows as cancelled, and that proves nothing else: after a cancellation, a provider may show no
 * address any more. Nothing is left to cancel, so it need not be recognized as the one of the object. It counts as one denial of
 * the server in the record, like a 404.
 */
import { saysCancelled } from '../../base/cancelled.ts';
import { identifierKey } from '../../base/identifier.ts';
import { isNamed, type Held } from '../../api/record.ts';
import type { Session } from '../../provider/types.ts';
import { isForList } from '../decision/memo.ts';
import { recognizeFor } from '../decision/identity.ts';
import { saysGone } from '../decision/inputs.ts';
import { whoOrdered } from '../decision/named.ts';
import { LISTED } from '../decision/sentences.ts';
import { saysFailed } from '../decision/silent-task.ts';
import type { Denial, Failed, ServerAnswer } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { orFailed, problemOf, proofFor, unlistedIn } from './reads.ts';

/**
 * The answer, or the denial that it amounts to. A server that is recognized stays one: a DELETE can be sent to it, and a word
 * that means something else to this provider ends nothing. Two denials come from such a server too: its order has failed, so that it
 * has never been of use; or it was asked to be cancelled, and only the list tells whether its word is an answer to that. If the
 * list still has a server that is recognized, another DELETE is sent.
 */
export async function unlessCancelled(
  visit: Visit,
  record: Held,
  answer: ServerAnswer,
  { session, purpose }: { session: Session; purpose: 'cancel' | 'look' },
): Promise<ServerAnswer> {
  if (answer.type !== 'server' || !saysCancelled(answer.server.status)) return answer;
  const view = visit.view();
  // The order of this object has led to nothing.
  if (isNamed(record) && whoOrdered(view.object, record, answer.server) === 'other') return answer;
  const isOfUse = purpose === 'cancel' ? !isForList(view.memo, record.identifier) : !saysFailed(view.memo);
  const isKnown = recognizeFor(purpose, view, record, answer).ok;
  // You say of a living object what its server's status says too.
  const isSaid = purpose === 'look' && saysGone(view.object, record);
  if (isOfUse && isKnown && !isSaid) return answer;
  const denial = await denialOf(view, record, session);
  // A list may keep a cancelled server without end, and the answer to another DELETE tells more.
  const isStuck = denial.type === 'serverNotFound' && denial.detail === LISTED && !saysGone(view.object, record);
  return purpose === 'cancel' && isKnown && isStuck ? answer : denial;
}

/**
 * What could be wrong, and why it does no harm:
 * - The word means something else to this provider, whose server lives: its list has the server then, and the list counts. Without a
 *   list, the word has to last as long as a 404.
 * - Another account has a server with this identifier: only the account of the record counts, and only while it sees products.
 * - The provider has given the identifier to another server: that one is cancelled too, and an identifier has one server at a
 *   time, so the one of the record is gone. If the next one lives, its status says so, and it has to prove whose it is.
 * - One page of a list that lacks the server proves nothing: that is as without a list.
 * - A list that fails, even with an answer for which a 404 would count, proves nothing here.
 */
async function denialOf(
  { object, memo }: View,
  { identifier, account }: Held,
  session: Session,
): Promise<Denial | Failed> {
  return orFailed(async () => {
    const problem = await problemOf(session, account);
    const listed = problem === undefined ? await proofFor(identifier, session) : undefined;
    const isListed = listed?.has(identifierKey(identifier)) === true;
    return {
      type: 'serverNotFound',
      counts: problem === undefined && !isListed,
      detail: problem ?? (isListed ? LISTED : 'the provider shows it as cancelled'),
      unlisted: listed === undefined ? 'no' : unlistedIn(listed, object, session, isForList(memo, identifier)),
      isCancelled: true,
    };
  });
}
