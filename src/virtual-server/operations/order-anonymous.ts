/**
 * Orders a server as the API documents it: the provider chooses the identifier, and an order whose answer is lost cannot be
 * found again. All that the order has to wait for comes first. Then claim, journal and POST follow each other at once, because
 * after the claim, a crash may leave an order with an unknown outcome.
 */
import { without } from '../../base/without.ts';
import { orderBody, type FromSecrets } from '../../api/ordered-fields.ts';
import { isClaimed, type Claimed, type ServerRecord } from '../../api/record.ts';
import type { CreateOutcome, OpenOrder } from '../../provider/types.ts';
import { compose, eventsOf } from '../decision/compose.ts';
import { decide } from '../decision/decide.ts';
import { withEvidence, withoutFailures, withoutPlan } from '../decision/memo.ts';
import { claimed } from '../decision/order-claim.ts';
import { ON_CHANGE } from '../decision/next.ts';
import { orderNotCreated, orderRefused } from '../decision/order-answer.ts';
import { orderedEvent, type Accepted } from '../decision/order-events.ts';
import { noPlace, wantedBy } from '../decision/order-limits.ts';
import { goOn, lacking, parked, endVisit } from '../decision/outcome.ts';
import { withoutAttempt } from '../decision/known-record.ts';
import { taskField } from '../decision/server-status.ts';
import type { Outcome, Park } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { OrderTerms } from '../shared/limits.ts';
import { unknownMessage } from '../decision/sentences.ts';
import { unsentIn } from '../journal/journal.ts';
import type { Visit } from '../visit.ts';
import { orLacking } from './reads.ts';
import { userDataDigest, type OrderSecrets } from './user-data.ts';

export async function orderAnonymous(
  visit: Visit,
  { session, values }: OrderSecrets,
  terms: OrderTerms,
): Promise<Outcome | undefined> {
  const broken = journalIsUnavailable(visit.view());
  if (broken !== undefined) return parked(visit.view(), broken);
  // Waits for a turn, a token and a connection.
  const opened = await orLacking(() => session.openOrder());
  if (!opened.ok) return lacking(visit.view(), opened.error);
  try {
    return await claimAndSend(visit, session.account, values, opened.value, terms);
  } finally {
    opened.value.close();
  }
}

/** Without a journal the order could not be sent, so claim nothing. */
function journalIsUnavailable({ journalProblem, timing }: View): Park | undefined {
  if (journalProblem === undefined) return undefined;
  const message =
    `The operator cannot write its journal in --journal-dir: ${journalProblem}. The operator orders nothing until it can, ` +
    'and retries automatically. Ask an administrator to free space there, or to make the folder writable';
  return { verdict: { reason: 'JournalUnavailable', message }, when: { operation: 'order', afterMs: timing.pollMs } };
}

/** From here on, nothing waits but for the disk, the API server and the provider's answer. */
async function claimAndSend(
  visit: Visit,
  account: string,
  fromSecrets: FromSecrets,
  opened: OpenOrder,
  { hourly, prices, expectedPrice }: OrderTerms,
): Promise<Outcome | undefined> {
  const { journal, leads, mint, quota, timers } = visit.services;
  const { namespace, name, uid } = visit.object.metadata;

  // Its time may be up after the wait, or the journal broken.
  const view = visit.view();
  if (decide(view).type !== 'order') return goOn(view.memo);
  const broken = journalIsUnavailable(view);
  if (broken !== undefined) return parked(view, broken);
  // A price may have become known during the wait.
  const place = quota.reserve(namespace, uid, wantedBy(visit.object, prices));
  if ('full' in place) return parked(view, noPlace(view, place));
  if (!visit.beginsOrder()) return undefined;

  const attempt = unsentIn(journal.entries(uid), account) ?? mint();
  const now = timers.now();
  await journal.minted({ namespace, name, uid, attempt, account, mintedAt: new Date(now).toISOString() });
  visit.claims(attempt);
  // If it fails, the journal keeps the attempt: a proxy may answer 409 to an applied claim, and the note proves that
  // nothing was sent. The next claim names the same attempt.
  const ordered = { attempt, userData: fromSecrets.userDataFrom ?? visit.object.spec.userData };
  // The provider may give this order the identifier of an earlier server, whose end proves nothing about it.
  const memo = withEvidence(view.memo, { ordered, end: undefined });
  const digest = userDataDigest(visit.object, fromSecrets.userDataFrom);
  const record = claimed(view, { attempt, account, userDataDigest: digest });
  await visit.commit({ name: 'claim', next: goOn(memo, { record }) });
  const own = ownOfClaim(visit, view, attempt);
  if (own === undefined) {
    // Without the claim, the entry in the journal lets the next step take the attempt back.
    visit.claims(undefined);
    return goOn(visit.view().memo);
  }

  const answer = await opened.send(orderBody({ ...visit.object.spec, ...fromSecrets }), {
    maySend: visit.gate('order', undefined, leads),
    sending: () => {
      visit.keeps(hourly);
      hourly.sent(attempt, timers.monotonic());
      return journal.sending(uid, attempt);
    },
    unsent: () => journal.createdNothing(uid, attempt),
  });
  if (answer.kind === 'created') await journal.task(uid, attempt, answer.task);
  if (answer.kind === 'notCreated' || answer.kind === 'refused') {
    // A provider may refuse an order and carry it out all the same.
    if (answer.kind === 'notCreated') hourly.release();
    await journal.createdNothing(uid, attempt);
  }
  return afterAnswer(visit.view(), own, answer, expectedPrice);
}

/**
 * The record with the claim, as the API server has stored it. Undefined if it has stored something else: versions repeat
 * after a restore of etcd, so the claim may have hit an object that this process has not seen.
 */
function ownOfClaim(visit: Visit, before: View, attempt: string): Claimed | undefined {
  const { own, deleting } = visit.view();
  if (visit.hasChangedSince(before) || deleting || own?.attempt !== attempt) return undefined;
  return isClaimed(own) ? own : undefined;
}

/**
 * What the answer to an order means for its object (design.md, "What an answer to the order means"; provider/create-server.ts made
 * it of the HTTP response). Any fields that the status had do not describe a server of this object. Pure.
 */
export function afterAnswer(
  at: View,
  record: Claimed,
  answer: CreateOutcome,
  expectedPrice: number | undefined,
): Outcome {
  switch (answer.kind) {
    case 'created':
      return created(at, { ...record, task: answer.task }, { task: answer.task, expectedPrice });
    case 'notCreated':
      return orderNotCreated(at, withoutAttempt(record), answer.error);
    case 'refused':
      return orderRefused(at, withoutAttempt(record), answer);
    case 'unknown': {
      const { error, task } = answer;
      const hinted = task === undefined ? record : { ...record, hintedTask: task };
      const { message: subject } = error;
      const verdict = { reason: 'CreateOutcomeUnknown', message: unknownMessage(hinted, subject), subject } as const;
      const parts = { record: hinted, fields: {}, verdict };
      return { ...endVisit(at, parts, ON_CHANGE, at.memo, hinted === record ? undefined : hinted), error };
    }
  }
}

/** The first poll follows at once: an early identifier leaves less time in which another server could be mistaken for this one. */
function created({ object, memo, now }: View, record: ServerRecord, accepted: Accepted): Outcome {
  const { task } = accepted;
  const ordered = orderedEvent(object, accepted);
  const goes = { ...goOn(withoutPlan(withoutFailures(memo)), { record }), events: [ordered] };
  const fields = without(object.status ?? {}, 'record', 'conditions', 'observedGeneration');
  if (Object.keys(fields).length === 0) return goes;
  const message = `Order accepted (task ${task}); the server is being created`;
  const parts = {
    record,
    fields: { task: taskField(task, undefined) },
    verdict: { reason: 'Creating', message } as const,
  };
  const status = compose(object, parts, now);
  return { ...goes, status, events: [...eventsOf(object.status, status), ordered] };
}
