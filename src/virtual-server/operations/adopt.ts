/** Takes over the server that the annotation `adopt` names: reads it, and holds it if no other object does. */
import { eventOf, type Verdict } from '../../controller/conditions.ts';
import { ADOPT_ANNOTATION } from '../../api/names.ts';
import { saysCancelled } from '../../base/cancelled.ts';
import { unknownIn, type ServerRecord, type Held } from '../../api/record.ts';
import { fingerprintOf } from '../decision/identity.ts';
import { withEvidence, withoutFailures } from '../decision/memo.ts';
import { RECHECK_MS } from '../decision/next.ts';
import { recognized } from '../decision/absence.ts';
import { failed, goOn, jittered, parked, endVisit, retryLater, withoutKey } from '../decision/outcome.ts';
import { withPrice } from '../decision/price.ts';
import { mergeOrphans, newRecord, settledWith } from '../decision/known-record.ts';
import type { Outcome, Operation, Park, ServerAnswer, ShownServer } from '../decision/types.ts';
import { isOverdue, type View } from '../decision/view.ts';
import { namesOf } from '../decision/sentences.ts';
import type { Holding } from '../shared/holders.ts';
import type { Visit } from '../visit.ts';
import { readServer } from './reads.ts';

type Adopt = Extract<Operation, { type: 'adopt' }>;

export async function adopt(visit: Visit, at: View, { record, identifier }: Adopt): Promise<Outcome> {
  // Without a key of the account, no message may reveal what other objects hold.
  const key = await visit.key(at);
  if (!key.ok) return withoutKey(visit.view(), 'adopt', key.error);
  const { session } = key.value;
  const { account } = session;
  const known = visit.view();
  const ordering = othersOrder(known, record, identifier, account);
  if (ordering !== undefined) return parked(known, ordering);

  // Reserved until the visit ends, so that only one of two adopters gets to hold the server.
  const others = visit.services.holders.others(visit.object.metadata.uid);
  const before = others.withServer(identifier, { account });
  if (before.length === 0) reserveServer(visit, account, identifier);

  const answer = await readServer(identifier, undefined, session, visit.object);
  if (answer.type !== 'server') {
    if (answer.type === 'serverNotFound' && !answer.counts) visit.suspectKey();
    return notAdopted(visit.view(), record, identifier, answer);
  }
  // An object that is being deleted holds it all the same, because the answer to a DELETE tells whether anything is left of it.
  if (saysCancelled(answer.server.status) && !visit.view().deleting)
    return notAdopted(visit.view(), record, identifier, 'cancelled');
  // Only an object whose key can read the server learns whether others hold it. Another key of the same account has
  // another account name, so only the read shows that it is the same server. The later object gives way.
  const fingerprint = fingerprintOf(answer.server);
  const held = before.length > 0 ? before : others.withServer(identifier, { account, fingerprint, held: true });
  if (held.length > 0) return heldByOthers(visit.view(), record, identifier, held);
  return adopted(visit.view(), record, identifier, answer);
}

/** Until the visit ends, the object counts as the holder of this server. */
export function reserveServer(visit: Visit, account: string, identifier: string): void {
  const { object, services } = visit;
  const { namespace, name, uid } = object.metadata;
  const holding = { namespace, name, secret: object.spec.apiKeySecretRef.name, account, identifier };
  const without = (): Holding | undefined => services.objects.holding(uid, `${namespace}/${name}`);
  visit.reserves(services.holders.reserve(uid, holding, without));
}

/** Another object may have ordered this server without knowing it yet. */
function othersOrder(
  { object, others, now, timing }: View,
  record: ServerRecord | undefined,
  identifier: string,
  account: string,
): Park | undefined {
  const ordering = others.ordering(account);
  if (ordering.length === 0) return undefined;
  const message = `The operator adopts server ${identifier} as soon as it knows which server ${namesOf(ordering, object)} ordered`;
  // Two overdue orders would wait for each other: the reason TaskOverdue lets the other one go first (see isStuck).
  const isLate = record?.task !== undefined && isOverdue(record, now);
  const reason = isLate ? 'TaskOverdue' : 'Pending';
  const afterMs = Math.min(timing.pollMs, RECHECK_MS);
  return { verdict: { reason, message }, when: { afterMs } };
}

/** The object holds the server from now on. */
export type Adopted = Outcome & { record: Held };

/** The record comes first: the operator shows and writes nothing about the server until this object holds it. Pure. */
export function adopted(at: View, known: ServerRecord | undefined, identifier: string, shown: ShownServer): Adopted {
  const { object } = at;
  const { task, attempt, attemptedAt, failed, orphans: others } = known ?? {};
  // If another object follows the same task, its number does not prove that a server is orphaned.
  const isShared = task !== undefined && at.others.withTask(task, known?.account).length > 0;
  const order = { attempt, attemptedAt };
  const orphans = mergeOrphans(others, task === undefined || isShared ? undefined : [{ task, ...order }]);
  const held: Held = {
    ...(known && unknownIn(known)),
    ...newRecord(object.metadata.uid),
    mode: 'adopt',
    account: shown.account,
    identifier,
    fingerprint: fingerprintOf(shown.server),
    orphans,
    ...(failed && { failed }),
    ...(known && settledWith(known)),
  };
  const record = withPrice(object, held, shown.server, at.now);
  const note = `This object now holds server ${identifier}`;
  const memo = withEvidence(withoutFailures(recognized(at.memo)), { task: { state: 'over', identifier } });
  return { ...goOn(memo), record, events: [eventOf({ reason: 'ServerAdopted', message: note })] };
}

export function heldByOthers(
  at: View,
  record: ServerRecord | undefined,
  identifier: string,
  holders: readonly string[],
): Outcome {
  const { object } = at;
  const message = `Server ${identifier}, named by annotation ${ADOPT_ANNOTATION}, is held by ${namesOf(holders, object)}, so the operator does not adopt it`;
  const verdict = { reason: 'IdentifierInUse', message } as const;
  return endVisit(at, { record, verdict }, { operation: 'adopt', afterMs: jittered(at.timing.pollMs, at) });
}

export function notAdopted(
  at: View,
  known: ServerRecord | undefined,
  identifier: string,
  answer: Exclude<ServerAnswer, ShownServer> | 'cancelled',
): Outcome {
  if (answer !== 'cancelled' && answer.type === 'failed') return failed(at, 'adopt', answer.error);
  const situation =
    answer === 'cancelled'
      ? 'is cancelled, as the provider shows it. The operator orders nothing in its place, and keeps checking'
      : 'is not visible with this API key. The operator keeps checking. If the key is wrong, correct the Secret';
  const message = `Server ${identifier}, named by annotation ${ADOPT_ANNOTATION}, ${situation}`;
  const verdict: Verdict = { reason: 'ServerNotVisible', message };
  return retryLater(at, 'adopt', { record: known, verdict }, at.timing.pollMs);
}
