/** The open questions in a record, whatever the conditions show at the moment. Pure. */
import { hasTrait, type Reason, type Trait } from './conditions.ts';
import type { ServerRecord } from './record.ts';
import { cut } from '../base/text.ts';

/** It is unclear which server the object has, or whether it has one. A question of a higher rank says more. */
const RANKS = {
  CreateInFlight: 0,
  IdentifierInUse: 1,
  ServerNotVisible: 2,
  TaskOverdue: 3,
  IdentityUnproven: 4,
  CreateOutcomeUnknown: 5,
  TaskNotFound: 5,
  TaskFailed: 5,
  TaskInUse: 5,
} as const satisfies Partial<Record<Reason, number>>;
export const QUESTIONS = Object.keys(RANKS) as readonly Reason[];

/** -1 for a reason that is no question. */
export const rankOf = (reason: string | undefined): number =>
  reason !== undefined && Object.hasOwn(RANKS, reason) ? RANKS[reason as keyof typeof RANKS] : -1;

/** Maximum length of the cause in the record, in characters. */
const MAX_CAUSE = 200;

/** An open question about the record's order, as the record keeps it. `cause`: why an answer is missing. */
export function questionOf(
  { attempt }: Pick<ServerRecord, 'attempt'>,
  { reason, since, cause }: { reason: string; since: string; cause: string | undefined },
): ServerRecord['open'] {
  const isLost = reason === 'CreateOutcomeUnknown' && cause !== undefined;
  return { ...(attempt !== undefined && { attempt }), reason, since, ...(isLost && { cause: cut(cause, MAX_CAUSE) }) };
}

/**
 * The open question about the order that the record names; undefined if there is none. A copy in the status may keep a question
 * about an earlier order. One without an attempt, as earlier versions wrote it, is about the order of its record.
 */
export function openIn(record: Partial<ServerRecord> | undefined): ServerRecord['open'] {
  const { attempt, open } = record ?? {};
  return open?.attempt === undefined || open.attempt === attempt ? open : undefined;
}

/** The reason with this trait that the record keeps; undefined if nothing of that kind is open. */
export function openReason(record: Partial<ServerRecord> | undefined, trait: Trait): string | undefined {
  const reasons = [openIn(record)?.reason, record?.createFailure && 'CreateFailed', doubtIn(record)?.reason];
  return reasons.find((reason) => hasTrait(reason, trait));
}

/** The reason in the record that Ready keeps showing while calls fail; undefined if there is none. */
export function standingReason(record: Partial<ServerRecord> | undefined): Reason | undefined {
  if (record?.identifier !== undefined && record.missingAt !== undefined) return 'ServerMissing';
  return (doubtIn(record)?.reason ?? openReason(record, 'namedByYou')) as Reason | undefined;
}

/** The doubt about the server that the record names; undefined if there is none. */
export function doubtIn(record: Partial<ServerRecord> | undefined): ServerRecord['doubt'] {
  return record?.doubt?.identifier === record?.identifier ? record?.doubt : undefined;
}
