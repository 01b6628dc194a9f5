/**
 * Whether a deleted object hands its server over to another one, which must not treat it worse: above all, it must
 * not end it. The operator, `kubectl vps undelete` and `kubectl vps plan` ask the same. Pure.
 */
import { durationMs, timestamp, UNITS_MS } from '../../base/duration.ts';
import {
  CANCEL_NOW_ANNOTATION,
  HAND_OVER_ANNOTATION,
  HAND_OVER_MARK_ANNOTATION,
  SERVER_GONE_ANNOTATION,
  TAKE_OVER_ANNOTATION,
} from '../../api/names.ts';
import { orderDifference } from '../../api/ordered-fields.ts';
import { isStoppedForChange } from './change.ts';
import type { Held, ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isLetGo, isPaused } from '../../api/server-state.ts';
import { isAskedToCancel } from './delay.ts';
import { expiryOf } from './expiry.ts';
import { isSameAccount } from './identity.ts';
import { isToCancelNow, namesAsGone, takerOf } from './inputs.ts';
import { isGone, type Memo } from './memo.ts';
import { viewRecord } from './known-record.ts';
import type { AttemptNote } from './types.ts';
import { cancelIsForbidden } from './view.ts';
import { err, ok, type Result } from '../../base/result.ts';

/** What a giver gives; `why`: why it gives nothing. */
export type Given = Result<Held, { isFinal: false; why: string } | ({ isFinal: true } & Never)>;

/** Why the giver hands nothing over until one of the two objects changes. `isGone`: its server is gone. */
export interface Never {
  why: string;
  isGone?: true;
}

/** `now`: ms since the epoch, by the later one of both clocks. */
export interface Asking {
  taker: VirtualServer;
  account: string;
  now: number;
}

/** Whether the giver, as it was just read, gives its server to this object. Pure. */
export function givenBy(
  live: VirtualServer,
  { taker, account, now }: Asking,
  notes: readonly AttemptNote[],
  memo: Memo,
): Given {
  const { metadata } = live;
  const later = (why: string): Given => err({ isFinal: false, why });
  const never = (why: string, isGone?: true): Given => err({ isFinal: true, why, ...(isGone && { isGone }) });
  if (metadata.annotations?.[HAND_OVER_ANNOTATION] !== taker.metadata.name || isLetGo(live))
    return later('that object no longer names this one');
  if (metadata.deletionTimestamp === undefined) return later('that object is not being deleted');
  if (metadata.annotations[HAND_OVER_MARK_ANNOTATION] !== taker.metadata.annotations?.[TAKE_OVER_ANNOTATION])
    return never(
      `annotation ${TAKE_OVER_ANNOTATION} of this object and annotation ${HAND_OVER_MARK_ANNOTATION} of that one differ: ` +
        'this is not the object that was meant',
    );
  if (isPaused(live)) return later('that object is paused');
  const view = viewRecord(live, notes);
  if (view.kind !== 'own' || view.stale) return later('the record of that object has to be clear first');
  const { record } = view;
  const { missingAt, expiredAt } = record;
  if (expiredAt !== undefined) return never('its server has expired', true);
  if (missingAt !== undefined || isGone(memo, record.identifier)) return never('its server no longer exists', true);
  if (record.identifier === undefined || record.fingerprint === undefined) return later('its server is not known yet');
  if (isAskedToCancel(live, record, memo)) return never('the provider was already asked to cancel its server');
  if (!isSameAccount(record.account, account)) return never('its server was read with another API key');
  if (isStoppedForChange(record)) return later('its server is shut down for a change, and has to run first');
  const taking = { giver: live, record, taker, now };
  const differing = orderDifference(taking.giver.spec, taking.taker.spec);
  if (differing.length > 0) return never(`it was ordered with another ${differing.join(', ')}`);
  const problem = takingProblem(taking, 'this object');
  if (problem !== undefined) return never(problem);
  return ok(record);
}

/** A server that ends sooner is not handed over: you could not react to it (ms). */
const LEAST_MS = UNITS_MS.m;

export interface Taking {
  giver: VirtualServer;
  /** Of the giver. */
  record: ServerRecord;
  taker: VirtualServer;
  /** ms since the epoch; the later one of two clocks. */
  now: number;
}

/** Why the taker must not get the server; `own`: how the taker is called, such as `this object`. */
export function takingProblem(taking: Taking, own: string): string | undefined {
  return endProblem(taking, own) ?? guardProblem(taking, own) ?? wordProblem(taking, own);
}

/** The taker would end the server at once. A taker that hands the server on, or that is protected as the giver is, does not. */
function endProblem({ giver, record, taker, now }: Taking, own: string): string | undefined {
  const { ttl } = taker.spec;
  if (takerOf(taker) !== undefined) return undefined;
  if (ttl !== undefined && record.readyAt === undefined) {
    const before = giver.spec.ttl;
    if (before !== undefined && durationMs(ttl) >= durationMs(before)) return undefined;
    return (
      `spec.ttl of ${own} is ${ttl}, and nothing tells since when the server has been ready (set spec.expiresAt ` +
      'instead, or remove the field)'
    );
  }
  const end = expiryOf(taker, record);
  if (end === undefined || end - now >= LEAST_MS) return undefined;
  const isKept = cancelIsForbidden(taker) !== undefined && end >= (expiryOf(giver, record) ?? Infinity);
  if (isKept) return undefined;
  const field = ttl === undefined ? 'spec.expiresAt' : `spec.ttl (${ttl})`;
  const when = end > now ? 'within a minute' : 'in the past';
  return `${field} of ${own} ends the server at ${timestamp(end)}, which is ${when} (set a later time, or remove the field)`;
}

/** A guard of the giver would be lost. A taker that hands the server on cancels nothing. */
function guardProblem({ giver, taker }: Taking, own: string): string | undefined {
  const { deletionPolicy, deletionProtection } = taker.spec;
  if (deletionPolicy === 'Retain') return undefined;
  if (giver.spec.deletionPolicy === 'Retain') return `spec.deletionPolicy of ${own} is Delete instead of Retain`;
  if (giver.spec.deletionProtection && !deletionProtection && takerOf(taker) === undefined)
    return `spec.deletionProtection of ${own} is false instead of true`;
  const { ownerReferences = [] } = taker.metadata;
  // The garbage collector deletes an object whose owner does not exist.
  if (ownerReferences.length > 0 && hasShorterDelay(giver, taker))
    return (
      `${own} has owners (metadata.ownerReferences) and is deleted with them, and its spec.deletionDelay is shorter ` +
      `than ${giver.spec.deletionDelay}`
    );
  return undefined;
}

/** Whether the server would be kept for a shorter time after a deletion. */
export function hasShorterDelay({ spec: before }: Pick<VirtualServer, 'spec'>, { spec }: VirtualServer): boolean {
  const delayOf = (delay: string | undefined): number => (delay === undefined ? 0 : durationMs(delay));
  return spec.deletionPolicy !== 'Retain' && delayOf(spec.deletionDelay) < delayOf(before.deletionDelay);
}

/** An annotation that was meant for another object would count for the server. */
function wordProblem({ record, taker }: Taking, own: string): string | undefined {
  const [word] = [
    ...(isToCancelNow(taker, record) ? [CANCEL_NOW_ANNOTATION] : []),
    ...(namesAsGone(taker, record) ? [SERVER_GONE_ANNOTATION] : []),
  ];
  return word && `annotation ${word} of ${own} names the server`;
}
