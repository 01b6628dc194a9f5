/**
 * The status while the API server refuses a write of the metadata or of the connection Secret. The API server may
 * still accept the status, which is a separate resource. Pure.
 */
import { FINALIZER, RECORD_ANNOTATION } from '../../api/names.ts';
import { isNamed, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../../api/virtual-server.ts';
import { ended } from '../../base/text.ts';
import { eventOf, type EventNote } from '../../controller/conditions.ts';
import type { MetadataPatch } from '../../kube/client.ts';
import type { Refusal } from '../../kube/error.ts';
import { compose } from './compose.ts';
import { withOpen } from './open.ts';
import { wasSent } from './memo.ts';
import { recordToMirror } from './outcome.ts';
import { knownRecord } from './known-record.ts';
import type { Outcome } from './types.ts';
import type { View } from './view.ts';

/** A write that the API server has refused. */
export interface RefusedWrite {
  /** What the operator wanted to do, after "refuses to". */
  what: string;
  /** What the write is part of. */
  next: Pick<Outcome, 'record' | 'unwritten'>;
  refusal: Refusal;
}

export function patchInWords({ finalizers, annotations = {} }: MetadataPatch): string {
  const isRelease = annotations[RECORD_ANNOTATION] === null;
  if (isRelease) return `remove the finalizer ${FINALIZER} and the annotation ${RECORD_ANNOTATION}`;
  const annotation = `the annotation ${RECORD_ANNOTATION}`;
  return finalizers === undefined ? `write ${annotation}` : `add the finalizer ${FINALIZER} and ${annotation}`;
}

/**
 * The copy of the record in the status does not change, because the record was not stored, except for what makes the operator
 * more careful: it must outlive this visit and its memory.
 */
export function refusedStatus(at: View, write: RefusedWrite): { status: VirtualServerStatus; event: EventNote } {
  const { object } = at;
  const { what, next, refusal } = write;
  const isOver = next.unwritten?.isOver === true;
  const reason = isOver ? 'ReleaseRefused' : 'WriteRefused';
  const message =
    `The API server refuses to ${what}: ${refusal.said} ${ended(consequence(at, next))} ` +
    `${refusal.remedy}. The operator retries automatically`;
  const stored = recordToMirror(at);
  // Another server may get the identifier while this object stays.
  const told = isOver && stored ? withOpen(stored, { reason: 'AbsenceUnproven', message }, at.now) : next.record;
  const record = stored && careful(stored, told);
  const isAsked = wasSent(at.memo, record?.identifier);
  const parts = { record, ...(isOver && { fields: leftOf(object) }), verdict: { reason, message } as const, isAsked };
  const status = compose(object, parts, at.now);
  return { status: withMirrorOf(object, status, told, stored), event: eventOf({ reason, message }) };
}

/** The record with what `next` says of it that makes the operator more careful. */
function careful<R extends object>(stored: R, next: ServerRecord | null | undefined): R {
  const { doubt, open, missingAt, identifier } = next ?? {};
  const isGone = missingAt !== undefined && doubt === undefined && identifier !== undefined;
  const gone = isGone ? { identifier, reason: 'AbsenceUnproven', since: missingAt } : doubt;
  const createFailure = next && isSameOrder(stored, next) ? next.createFailure : undefined;
  if (gone === undefined && open === undefined && createFailure === undefined) return stored;
  return { ...stored, ...(gone && { doubt: gone }), ...(open && { open }), ...(createFailure && { createFailure }) };
}

/** Unlike the other two, a failure does not say which order it is about. */
function isSameOrder(stored: Partial<ServerRecord>, { attempt, task }: ServerRecord): boolean {
  return attempt !== undefined && stored.attempt === attempt && (stored.task ?? task) === task;
}

/** The provider may give the addresses of a server that is gone to another customer; its host keys still identify it. */
function leftOf({ status }: VirtualServer): VirtualServerStatus {
  return status?.sshHostKeys === undefined ? {} : { sshHostKeys: status.sshHostKeys };
}

/**
 * The status with the copy of the record that it has at the API server, or without one. `found`: the record that could not be
 * stored, of which the copy says what makes the operator more careful. If there is no copy, `stored` becomes one to say it.
 */
export function withMirrorOf(
  { status }: VirtualServer,
  next: VirtualServerStatus,
  found?: ServerRecord | null,
  stored?: ServerRecord,
): VirtualServerStatus {
  const { record: _record, ...rest } = next;
  const kept = status?.record ?? stored;
  const record = kept && careful(kept, found);
  return { ...rest, ...(record !== undefined && (status?.record !== undefined || record !== kept) && { record }) };
}

/** What this means until the write is accepted. */
function consequence({ object, deleting }: View, { record, unwritten }: RefusedWrite['next']): string {
  if (unwritten !== undefined) return unwritten.says;
  const stored = knownRecord(object);
  const isNew = (field: keyof ServerRecord): boolean => record?.[field] !== undefined && stored?.[field] === undefined;
  if (record && isNamed(record) && isNew('attempt')) return 'The operator orders nothing before the order is stored';
  if (isNew('identifier')) return `Server ${record?.identifier ?? ''} may run and cost money`;
  if (isNew('task'))
    return `The provider has accepted the order as task ${record?.task ?? ''}, and its server may cost money`;
  if (isNew('attempt')) return 'The operator orders nothing before the order is stored';
  if (deleting) return 'The deletion waits until then';
  return 'The operator does nothing else for this object until then';
}
