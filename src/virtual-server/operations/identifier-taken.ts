/** What follows if the identifier of an order belongs to another server. */
import { isNamed, type Held, type ServerRecord } from '../../api/record.ts';
import { timestamp } from '../../base/duration.ts';
import type { Server } from '../../provider/types.ts';
import { UNSEEN_PERIODS } from '../decision/absence.ts';
import { compose } from '../decision/compose.ts';
import { withFailedOrder } from '../decision/known-record.ts';
import { withEvidence, withoutFailures, type Planned, type Sent } from '../decision/memo.ts';
import { whoOrdered, takenVerdict } from '../decision/named.ts';
import { endVisit, goOn, retryLater } from '../decision/outcome.ts';
import { cutSaid } from '../decision/sentences.ts';
import type { Outcome } from '../decision/types.ts';
import type { View } from '../decision/view.ts';

/** The identifier is in use. `left`: the record of this object without its own order. */
export function identifierTaken(at: View, left: ServerRecord | undefined, why: string, shown?: string): Outcome {
  const parts = { record: left, fields: {}, verdict: takenVerdict(why, shown) };
  return retryLater(at, 'order', parts, undefined, left === at.own ? undefined : left);
}

/**
 * What follows if the server under the identifier is that of another order: this object's has led to nothing. Not before a proxy
 * can no longer deliver an earlier request: the identifier may be free again by then. No clock of another process counts, so the
 * wait begins when this process sends the request, or first sees that server. Undefined for any other server.
 */
export function lostToAnother(at: View, record: Held, server: Server, operation: Planned): Outcome | undefined {
  if (!isNamed(record) || whoOrdered(at.object, record, server) !== 'other') return undefined;
  const { identifier, attempt, sent } = record;
  const why = `The identifier ${identifier} is that of another server, with the name ${cutSaid(server.name ?? '')}`;
  const { sent: own, another: before } = at.memo.evidence;
  const isThis = (one: Pick<Sent, 'attempt' | 'at'> | undefined): boolean =>
    one?.attempt === attempt && one.at === sent.at;
  const known = [own, before].find(isThis);
  const another = { attempt, at: sent.at, since: known?.since ?? at.monotonic };
  const lateMs = UNSEEN_PERIODS * at.timing.absenceMs - (at.monotonic - another.since);
  if (lateMs > 0) {
    const message = `${why}. A request of order ${attempt} may still arrive until ${timestamp(at.now + lateMs)}, so the operator waits`;
    const parts = { record, verdict: { reason: 'IdentifierTaken', message } as const };
    const afterMs = Math.min(lateMs, at.timing.resyncMs);
    return endVisit(at, parts, { operation, afterMs }, withEvidence(withoutFailures(at.memo), { another }));
  }
  const left = withFailedOrder(record);
  if (!at.deleting) return identifierTaken(at, left, why, identifier);
  return { ...goOn(at.memo, { record: left }), status: compose(at.object, { record: left }, at.now) };
}
