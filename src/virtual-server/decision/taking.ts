/**
 * What an object must not change about a server that it takes over: above all, it must not end it. The operator and
 * `kubectl vps undelete` ask the same. Pure.
 */
import { durationMs, timestamp, UNITS_MS } from '../../base/duration.ts';
import { CANCEL_NOW_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import { ORDERED_FIELDS, type VirtualServer } from '../../api/virtual-server.ts';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { expiryOf } from './expiry.ts';
import { isToCancelNow, namesAsGone, takerOf } from './inputs.ts';
import { cancelIsForbidden } from './view.ts';

/** A server that ends sooner is not handed over: nobody could do anything about it (ms). */
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

/** The fields of the order in which the two differ. */
export const orderDifference = ({ giver, taker }: Pick<Taking, 'giver' | 'taker'>): string[] =>
  ORDERED_FIELDS.filter((field) => !isDeepEqual(giver.spec[field], taker.spec[field]));

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
