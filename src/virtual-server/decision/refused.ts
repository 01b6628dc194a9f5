/**
 * What an object says while the API server refuses a write of its metadata, or of its connection Secret. The API server may
 * still accept the status, which is a separate resource. Pure.
 */
import { currentReason, hasTrait, type ReadyReason } from '../../api/conditions.ts';
import { FINALIZER, RECORD_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../../api/virtual-server.ts';
import { ended } from '../../base/text.ts';
import { eventOf, type EventNote, type Verdict } from '../../controller/conditions.ts';
import type { MetadataPatch } from '../../kube/client.ts';
import type { Refusal } from '../../kube/error.ts';
import { compose } from './compose.ts';
import { withOpen } from './open.ts';
import { wasSent } from './memo.ts';
import { recordOf } from './outcome.ts';
import { knownRecord } from './record.ts';
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

/** The copy of the record in the status does not change, because the record was not stored. */
export function refusedStatus(at: View, write: RefusedWrite): { status: VirtualServerStatus; event: EventNote } {
  const { object, facts } = at;
  const { what, next, refusal } = write;
  const isOver = next.unwritten?.isOver === true;
  const reason = isOver ? 'ReleaseRefused' : 'WriteRefused';
  const message =
    `The API server refuses to ${what}: ${refusal.said} ${ended(consequence(at, next))} ` +
    `${refusal.remedy}. The operator retries automatically`;
  const verdict: Verdict = { reason, ...(!isOver && keptVerdict(object, permitsWrite)), message };
  const record = recordOf(at);
  const isAsked = wasSent(facts.memo, record?.identifier);
  const status = compose(object, { record, ...(isOver && { fields: leftOf(object) }), verdict, isAsked }, facts.now);
  // Another server may get the identifier while this object stays.
  const told = isOver && record ? withOpen(record, { reason: 'AbsenceUnproven', message }, facts.now) : next.record;
  return { status: withOpenOf(told, withMirrorOf(object, status)), event: eventOf({ reason, message }) };
}

/** What makes the operator more careful must not be forgotten with this process, although the record could not be stored. */
function withOpenOf(next: ServerRecord | null | undefined, status: VirtualServerStatus): VirtualServerStatus {
  const { doubt, open } = next ?? {};
  if (status.record === undefined || (doubt === undefined && open === undefined)) return status;
  return { ...status, record: { ...status.record, ...(doubt && { doubt }), ...(open && { open }) } };
}

/** The provider may give the addresses of a server that is gone to another customer; its host keys prove who it was. */
function leftOf({ status }: VirtualServer): VirtualServerStatus {
  return status?.sshHostKeys === undefined ? {} : { sshHostKeys: status.sshHostKeys };
}

/** The status with the copy of the record that it has at the API server, or without one. */
export function withMirrorOf({ status }: VirtualServer, next: VirtualServerStatus): VirtualServerStatus {
  const { record: _record, ...rest } = next;
  return { ...rest, ...(status?.record !== undefined && { record: status.record }) };
}

/**
 * The present reason, if later decisions read it from the status, also those of the next process: a server in doubt must not
 * be cancelled, and an order that only you can resolve is not followed again.
 */
export function keptVerdict(
  { status }: VirtualServer,
  isNeeded: (reason: string | undefined) => boolean = () => false,
): Pick<Verdict, 'reason' | 'subject'> | undefined {
  const reason = currentReason(status?.conditions);
  if (!hasTrait(reason, 'doubt') && !hasTrait(reason, 'namedByYou') && !isNeeded(reason)) return undefined;
  const subject = status?.conditions?.find((condition) => condition.reason === reason)?.subject;
  return { reason: reason as ReadyReason, subject };
}

/** Without this reason, the next visit would not come to the write again, but ask the provider what it knows already. */
const permitsWrite = (reason: string | undefined): boolean => hasTrait(reason, 'hopeless') || reason === 'AdoptInvalid';

/** What is the case until the write is accepted. */
function consequence({ object, deleting }: View, { record, unwritten }: RefusedWrite['next']): string {
  if (unwritten !== undefined) return unwritten.says;
  const stored = knownRecord(object);
  const isNew = (field: keyof ServerRecord): boolean => record?.[field] !== undefined && stored?.[field] === undefined;
  if (isNew('identifier')) return `Server ${record?.identifier ?? ''} may run and cost money`;
  if (isNew('task'))
    return `The provider has accepted the order as task ${record?.task ?? ''}, and its server may cost money`;
  if (isNew('attempt')) return 'The operator orders nothing before the order is stored';
  if (deleting) return 'The deletion waits until then';
  return 'The operator does nothing else for this object until then';
}
