/** What can be read of any object's record, and whether the operator may act on it at all. */
import { ADOPT_ANNOTATION, RECORD_ANNOTATION, START_ANEW_ANNOTATION } from '../../../api/names.ts';
import { RECORD_FORMAT, RECORD_MODES } from '../../../api/record.ts';
import { isPaused, saysNothingCreated } from '../inputs.ts';
import { isLetGo } from '../running.ts';
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
      'deletion waits. Run the newer version of the operator again',
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
      `annotation ${RECORD_ANNOTATION} is not a record: ${record.problem}. No copy of the record is left, so a server ` +
      'may exist. Nothing is ordered or cancelled. Put the earlier text back. If you have none, look at the provider, ' +
      `and if it shows no server that you need, ${letGoAdvice(object)}`;
    return goneWithoutServer(view) ?? park('RecordInvalid', message);
  }
  return park(
    'RecordInvalid',
    `annotation ${RECORD_ANNOTATION} is not a record: ${record.problem}. Nothing is ordered or cancelled. ` +
      'Put its earlier text back, or remove the annotation to have it restored from status.record',
  );
}

export function recordIsForeign(view: View): Action | undefined {
  const { record, deleting, adoption } = view;
  if (record.kind !== 'foreign') return undefined;
  if (deleting) return { type: 'release', why: 'foreign', record: record.record };
  if (adoption !== undefined || record.startAnew) return undefined;
  const { owner, identifier } = record.record;
  const server = identifier === undefined ? 'its server' : `server ${identifier}`;
  return park(
    'RecordMismatch',
    `the record was written for another object (uid ${owner}): this one is a copy or was restored. ` +
      `Annotate ${ADOPT_ANNOTATION}=<identifier> to take ${server} over, ` +
      `or ${START_ANEW_ANNOTATION}=${view.object.metadata.uid} to order a new one`,
  );
}

export function recordIsMissing(view: View): Action | undefined {
  const { record, adoption, object } = view;
  if (record.kind !== 'missing' || adoption !== undefined) return undefined;
  const message =
    'the finalizer is there and the record is lost from metadata and status: a server may exist. Look at the provider. ' +
    `If it shows the server of this object, annotate ${ADOPT_ANNOTATION}=IDENTIFIER; if it shows none, ${letGoAdvice(object)}`;
  return goneWithoutServer(view) ?? park('RecordMissing', message);
}

export function recordIsInConflict({ record }: View): Action | undefined {
  if (record.kind !== 'conflict') return undefined;
  return park(
    'RecordConflict',
    `what is known of the server contradicts itself: ${record.problem}. Nothing is ordered or cancelled. ` +
      `Correct annotation ${RECORD_ANNOTATION}, or remove it to have it restored from status.record`,
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
