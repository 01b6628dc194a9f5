/**
 * Hands the server of a deleted object over to another object of its namespace. The record of the taker is what counts:
 * before it is written the giver holds the server, and from then on the taker does. Nothing is ordered and nothing is
 * cancelled in between: an object that a giver names orders nothing, and a giver with the annotation cancels nothing.
 */
import { saysCancelled } from '../../base/cancelled.ts';
import { givenIn, type ServerRecord, type Held } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { compose } from '../decision/compose.ts';
import { RECHECK_MS } from '../decision/next.ts';
import { decide } from '../decision/decide.ts';
import { isInDoubt, recognize } from '../decision/identity.ts';
import { failed, parked, retryLater, waited, withoutKey } from '../decision/outcome.ts';
import { giverIn, knownRecord, mergeFailed, mergeOrphans } from '../decision/known-record.ts';
import { recordedPrice, withPrice } from '../decision/price.ts';
import { serverFields } from '../decision/server-status.ts';
import { givenBy, type Never } from '../decision/taking.ts';
import type { Operation, Outcome, ShownServer } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import { namesOf } from '../decision/sentences.ts';
import type { Visit } from '../visit.ts';
import { adopted } from './adopt.ts';
import { readServer } from './reads.ts';
import { release } from './release.ts';

type TakeOver = Extract<Operation, { type: 'takeOver' }>;

interface Refusal extends Never {
  giver: string;
}

/** Takes over the server of the first giver that is not refused. */
export async function takeOver(visit: Visit, at: View, operation: TakeOver): Promise<Outcome> {
  const refusals: Refusal[] = [];
  for (const giver of [operation.giver, ...operation.others]) {
    const next = await takeFrom(visit, at, operation.record, giver);
    if (!('refusal' in next)) return next;
    refusals.push({ giver, ...next.refusal });
  }
  return refused(visit, refusals);
}

/** Reads the giver live, then the server, and writes the record that names it. `refusal`: why this giver never gives its server. */
async function takeFrom(
  visit: Visit,
  at: View,
  record: ServerRecord | undefined,
  giver: string,
): Promise<Outcome | { refusal: Never }> {
  const { journal, holders, kube, objects, timers } = visit.services;
  const { handOvers } = objects;
  const key = await visit.key(at);
  if (!key.ok) return withoutKey(visit.view(), 'takeOver', key.error);
  const { session } = key.value;

  const liveAt = timers.monotonic();
  const live = await kube.getVirtualServer(visit.object.metadata.namespace, giver);
  if (live === undefined) return pending(visit, giver, 'that object no longer exists');
  const from = live.metadata.uid;
  // Until the visit ends, this process cancels nothing for the giver.
  const reservation = handOvers.begin(from, visit);
  if (reservation === undefined) return pending(visit, giver, 'the operator is about to cancel it, or hands it over');
  visit.reserves(reservation);
  // What this process has asked the provider for is known only now.
  const { now: ownNow, apiServerNow = ownNow } = visit.view();
  const asks = { taker: visit.object, account: session.account, now: Math.max(ownNow, apiServerNow) };
  const given = givenBy(live, asks, journal.entries(from), objects.memo(from));
  if (!given.ok && given.error.isFinal) return { refusal: given.error };
  // A change of the giver leads to the next visit.
  if (!given.ok) return pending(visit, giver, given.error.why, at.timing.pollMs);
  const youngMs = at.timing.takeoverMs - handOvers.ageMs(timers.monotonic());
  if (youngMs > 0)
    return pending(visit, giver, 'an earlier process of the operator may still be cancelling it', youngMs);

  const { identifier } = given.value;
  const answer = await readServer(identifier, given.value.account, session, visit.object);
  if (answer.type === 'failed') return failed(visit.view(), 'takeOver', answer.error);
  if (answer.type === 'serverNotFound') {
    if (!answer.counts) visit.suspectKey();
    const message = `This object takes server ${identifier} over from ${giver} as soon as the provider shows it: ${answer.detail}`;
    const parts = { record, verdict: { reason: 'HandOverPending', message } as const };
    return retryLater(visit.view(), 'takeOver', parts, at.timing.pollMs);
  }
  // As strict as before a DELETE: the next one would be for the taker.
  const purpose = isInDoubt(live, objects.memo(from)) ? 'doubt' : 'cancel';
  const others = holders.others(from);
  const known = recognize(live, given.value, answer.server, answer.account, purpose, others);
  if (!known.ok) return { refusal: { why: `the provider shows a server ${identifier}, but ${known.error.why}` } };
  if (saysCancelled(answer.server.status))
    return { refusal: { why: `the provider shows server ${identifier} as cancelled` } };
  const held = others.withServer(identifier, { ...given.value, held: true });
  if (held.length > 0) return { refusal: { why: `${namesOf(held, visit.object)} holds server ${identifier} too` } };

  // You may have changed your mind.
  const still = decide(visit.view());
  const isStill = still.type === 'takeOver' && [still.giver, ...still.others].includes(giver);
  if (!isStill || !visit.mayActOn(liveAt)) return pending(visit, giver, 'the operator reads both objects again');
  handOvers.tries(from, timers.monotonic());
  return taken(visit.view(), record, live, known.value, answer);
}

/**
 * The record that makes the server this object's. What was done to the server comes with it, so that nothing is done twice; also
 * its host keys, since no key that another server shows is trusted, and what the giver knows of other servers. Pure.
 */
export function taken(
  at: View,
  known: ServerRecord | undefined,
  giver: VirtualServer,
  given: Held,
  shown: ShownServer,
): Outcome {
  const { identifier } = given;
  const {
    metadata: { name, uid },
    status,
  } = giver;
  const next = adopted(at, known, identifier, shown);
  const orphans = mergeOrphans(next.record.orphans, given.orphans);
  // The mark on their servers is that of the object that sent the order.
  const failed = mergeFailed(
    next.record.failed,
    given.failed?.map((order) => ({ owner: uid, ...order })),
  );
  // The price that the giver knows stays known when the giver is gone.
  const { price } = withPrice(giver, given, shown.server, at.now);
  const record = { ...next.record, ...givenIn(given), price, orphans, failed, takenFrom: { name, uid, identifier } };
  const { sshHostKeys } = status ?? {};
  const fields = {
    ...serverFields(shown.server, recordedPrice(record)?.amount),
    ...(sshHostKeys !== undefined && { sshHostKeys }),
  };
  return { ...next, record, status: compose(at.object, { record, fields }, at.now) };
}

function pending(visit: Visit, giver: string, why: string, afterMs = RECHECK_MS): Outcome {
  const message = `This object takes over the server of ${giver}, and orders nothing. It waits, because ${why}`;
  return parked(visit.view(), { verdict: { reason: 'HandOverPending', message }, when: { afterMs } });
}

/** How many givers a message names. */
const NAMED = 3;

function refused(visit: Visit, refusals: readonly Refusal[]): Outcome {
  const at = visit.view();
  const [{ giver } = { giver: '' }] = refusals;
  const gone = refusals.find(({ isGone }) => isGone)?.giver;
  const reasons = refusals.slice(0, NAMED).map((refusal) => `the server of ${refusal.giver}, because ${refusal.why}`);
  const left = refusals.length - reasons.length;
  const more = left > 0 ? ` (and ${left} more)` : '';
  const keeping = refusals.length === 1 ? `${giver} keeps the server` : 'these objects keep their servers';
  const kept = gone === undefined ? `, and ${keeping}` : '';
  const message = `This object cannot take over ${reasons.join('; nor ')}${more}. It orders nothing${kept}`;
  const verdict = { reason: 'HandOverRefused', message, subject: gone } as const;
  return parked(at, { verdict, when: { afterMs: at.timing.pollMs } });
}

/** Another object holds the server now: this one goes, and its server stays. */
export async function handOver(
  visit: Visit,
  at: View,
  { record, taker }: Extract<Operation, { type: 'handOver' }>,
): Promise<Outcome> {
  const { kube } = visit.services;
  const { namespace, uid } = visit.object.metadata;
  const live = await kube.getVirtualServer(namespace, taker);
  const held = live && knownRecord(live);
  const isHeld = giverIn(held)?.uid === uid && held?.identifier === record.identifier;
  if (!isHeld) return waited(at, { afterMs: RECHECK_MS });
  return release(visit, { type: 'release', why: 'handedOver', record, taker });
}
