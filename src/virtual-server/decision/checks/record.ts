/** What can be read of any object's record, and whether the operator may act on it at all. */
import { RECORD_ANNOTATION, START_OVER_ANNOTATION } from '../../../api/names.ts';
import { RECORD_FORMAT, RECORD_MODES } from '../../../api/record.ts';
import { adopt, annotate, removeMirror, removeRecord } from '../commands.ts';
import { saysNothingCreated } from '../inputs.ts';
import { isLetGo, isPaused } from '../../../api/server-state.ts';
import type { Action } from '../types.ts';
import { letGoAdvice } from '../words.ts';
import { park, type View } from '../view.ts';

/** Only finalizers of others keep the object; the operator is done with it. */
export function finalizerIsGone({ object }: View): Action | undefined {
  return isLetGo(object) ? { type: 'wait' } : undefined;
}

/** Comes before every check that reads the record, since this version may misread what a newer version wrote. */
export function recordIsTooNew({ record }: View): Action | undefined {
  if (record.kind !== 'tooNew') return undefined;
  return park(
    'RecordTooNew',
    `A newer version of the operator wrote the record: it has ${record.unknown}. This version understands format ` +
      `${RECORD_FORMAT} with mode ${RECORD_MODES.join(' or ')}. The operator orders, cancels and changes nothing, and a ` +
      'deletion waits. Run the newer version again',
  );
}

/**
 * No record is left, and your annotation says that there is no server. It counts only for an object that is being
 * deleted: a living object could lose its next record too, while the annotation is still there.
 */
function goneWithoutServer({ object, deleting }: View): Action | undefined {
  if (!deleting || !saysNothingCreated(object)) return undefined;
  return { type: 'release', why: 'nothingCreated', record: undefined };
}

export function recordIsInvalid(view: View): Action | undefined {
  const { record, object } = view;
  if (record.kind !== 'invalid') return undefined;
  if (record.isAlone) {
    const message =
      `Annotation ${RECORD_ANNOTATION} is not a valid record: ${record.problem}. No copy of the record is left, so a ` +
      'server may exist. The operator orders and cancels nothing. Restore the earlier text of the annotation. If you ' +
      `have none and the provider's control panel shows no server that you need, ${letGoAdvice(object)}`;
    return goneWithoutServer(view) ?? park('RecordInvalid', message);
  }
  return park(
    'RecordInvalid',
    `Annotation ${RECORD_ANNOTATION} is not a valid record: ${record.problem}. The operator orders and cancels nothing. ` +
      'Ask a cluster administrator to restore the earlier text of the annotation, or to let the operator restore it from ' +
      `status.record: run ${removeRecord(object)}`,
  );
}

export function recordIsForeign(view: View): Action | undefined {
  const { object, record, deleting, adoption } = view;
  if (record.kind !== 'foreign') return undefined;
  if (deleting) return { type: 'release', why: 'foreign', record: record.record };
  if (adoption !== undefined || record.startOver) return undefined;
  const { owner, identifier } = record.record;
  const server = identifier === undefined ? 'its server' : `server ${identifier}`;
  return park(
    'RecordMismatch',
    `This object is a copy, or was restored from a backup: its record belongs to the object with uid ${owner}. If that ` +
      'object still exists, in this or another cluster, delete this one; no server is cancelled. Otherwise, to take over ' +
      `${server}, run ${adopt(object, identifier)}. To leave ${server} alone and order a new one, run ` +
      annotate(object, START_OVER_ANNOTATION, object.metadata.uid),
  );
}

export function recordIsMissing(view: View): Action | undefined {
  const { record, adoption, object } = view;
  if (record.kind !== 'missing' || adoption !== undefined) return undefined;
  const message =
    'The finalizer is there, but the record is missing from metadata and status: a server may exist. If the ' +
    `provider's control panel shows the server of this object, run ${adopt(object)}. ` +
    `If it shows none, ${letGoAdvice(object)}`;
  return goneWithoutServer(view) ?? park('RecordMissing', message);
}

export function recordIsInConflict({ record, object }: View): Action | undefined {
  if (record.kind !== 'conflict') return undefined;
  const remedy =
    record.other === 'the journal'
      ? `correct annotation ${RECORD_ANNOTATION} and status.record`
      : 'find out which of the two is right; the operator then restores the other one from it. If status.record is right, ' +
        `run ${removeRecord(object)}. If the annotation is right, run ${removeMirror(object)}`;
  return park(
    'RecordConflict',
    `The record contradicts itself: ${record.problem}. The operator orders and cancels nothing. ` +
      `Ask a cluster administrator to ${remedy}`,
  );
}

/** Comes before `objectIsPaused`, since known facts are recorded even while the object is paused. */
export function recordIsStale({ record }: View): Action | undefined {
  if (record.kind !== 'own' || !record.stale) return undefined;
  return { type: 'record', record: record.record, why: 'restored' };
}

export function objectIsPaused({ object }: View): Action | undefined {
  return isPaused(object) ? { type: 'wait' } : undefined;
}
