/**
 * Records of format 1 do not store everything: a doubt, an open question and the start of a `ttl` were in the conditions alone.
 * Whatever reads such a record takes them from there, once; nothing else reads conditions. Pure.
 */
import { currentReason, hasTrait } from '../../api/conditions.ts';
import { QUESTIONS, questionOf } from '../../api/open.ts';
import { RECORD_FORMAT, mirrorIn, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Outcome } from './types.ts';

/** The record with what the conditions of its object add. The same object if they add nothing, or if its format is newer. */
export function fromFormat1(record: ServerRecord, object: Pick<VirtualServer, 'status'>): ServerRecord {
  if (record.format === RECORD_FORMAT) return record;
  const { conditions = [] } = object.status ?? {};
  const reason = currentReason(conditions);
  const shown = conditions.find((condition) => condition.reason === reason);
  if (reason === undefined || shown === undefined) return record;
  const { identifier, doubt, open, missingAt, attempt, createFailure } = record;
  const since = shown.lastTransitionTime;
  const isNew = doubt === undefined && missingAt === undefined;
  if (identifier !== undefined && isNew && hasTrait(reason, 'doubt')) {
    // A missing server without a time was found by an operator that only observed.
    const kind = reason === 'IdentityUnproven' ? reason : 'AbsenceUnproven';
    return { ...record, format: RECORD_FORMAT, doubt: { identifier, reason: kind, since } };
  }
  // Conditions that an earlier order left are not about this one.
  const isOfOrder = attempt !== undefined && mirrorIn(object.status)?.attempt === attempt;
  const isOpen = QUESTIONS.some((question) => question === reason) && createFailure === undefined;
  if (!isOfOrder || !isOpen || open !== undefined) return record;
  return { ...record, format: RECORD_FORMAT, open: questionOf(record, { reason, since, cause: shown.subject }) };
}

/** What a step writes, with its record in the format of this version, in both copies. */
export function inThisFormat<N extends Pick<Outcome, 'record' | 'status'>>(next: N): N {
  const { record, status } = next;
  if (!record || record.format === RECORD_FORMAT) return next;
  const mirror = status?.record && { ...status, record: { ...status.record, format: RECORD_FORMAT } };
  return { ...next, record: { ...record, format: RECORD_FORMAT }, ...(mirror && { status: mirror }) };
}

/** When the server became ready, by the condition; undefined if the record says it, or the condition does not. */
export function readySince(record: ServerRecord, { status }: Pick<VirtualServer, 'status'>): string | undefined {
  if (record.format === RECORD_FORMAT) return undefined;
  return status?.conditions?.find(({ type, status: value }) => type === 'Ready' && value === 'True')
    ?.lastTransitionTime;
}
