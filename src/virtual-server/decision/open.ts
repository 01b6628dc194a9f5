/**
 * Keeps open questions in the record: a condition shows one reason at a time, and another one may replace it before the
 * question is answered. Pure.
 */
import { QUESTIONS, doubtIn, openIn, openReason, questionOf, rankOf } from '../../api/open.ts';
import type { Reason } from '../../api/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import { timestamp } from '../../base/duration.ts';
import { without } from '../../base/without.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { holdsSomething } from './known-record.ts';
import { unknownMessage } from './sentences.ts';

/** The provider denies the server of the record, or shows one that may be another. */
const DOUBTS: ReadonlySet<Reason> = new Set(['AbsenceUnproven', 'IdentityUnproven']);

/** The record after a visit that ends with this verdict. Only a question of the same or a higher rank replaces another. */
export function withOpen(record: ServerRecord, { reason, subject }: Verdict, now: number): ServerRecord {
  if (!holdsSomething(record)) return record;
  const open = openIn(record);
  if (record.identifier !== undefined && DOUBTS.has(reason)) {
    const before = doubtIn(record);
    if (before?.reason === reason) return record;
    return { ...record, doubt: { identifier: record.identifier, reason, since: before?.since ?? timestamp(now) } };
  }
  // A refused adoption answers no question about the order.
  if (reason === 'IdentifierInUse' && record.identifier === undefined) return record;
  if (open?.reason === reason || rankOf(reason) < Math.max(0, rankOf(open?.reason))) return record;
  return { ...record, open: questionOf(record, { reason, since: timestamp(now), cause: subject }) };
}

/** The record once the provider has shown the server, or its task. */
export function withoutOpen<R extends ServerRecord>(record: R): R {
  if (record.open === undefined && record.doubt === undefined) return record;
  return without<ServerRecord, 'open' | 'doubt'>(record, 'open', 'doubt') as R;
}

/** The open questions that this reason hides, as sentences, with the reasons whose advice applies; undefined if there are none. */
export function coveredBy(
  reason: Reason,
  record: ServerRecord | undefined,
): { message: string; reasons: Reason[] } | undefined {
  if (record === undefined || DOUBTS.has(reason)) return undefined;
  const doubt = doubtIn(record);
  const isParked = openReason(record, 'orderParked') as Reason | undefined;
  const notes: { reason: Reason; message: string }[] = [];
  if (isParked !== undefined && !QUESTIONS.includes(reason) && reason !== 'CreateFailed')
    notes.push({ reason: isParked, message: parkedMessage(record, isParked) });
  if (doubt !== undefined && reason !== 'ServerMissing' && reason !== 'ReleaseRefused')
    notes.push({
      reason: doubt.reason as Reason,
      message: `Since ${doubt.since}, it is unproven that the provider has server ${doubt.identifier} of this object (${doubt.reason})`,
    });
  if (notes.length === 0) return undefined;
  return { message: notes.map(({ message }) => message).join('. '), reasons: notes.map((note) => note.reason) };
}

function parkedMessage(record: ServerRecord, reason: Reason): string {
  if (reason === 'CreateOutcomeUnknown') return unknownMessage(record, openIn(record)?.cause);
  const { attempt = '', task = '' } = record;
  return `What order ${attempt} (task ${task}) has created is unknown (${reason})`;
}
