/** Reads the operator's record of an object, and decides whether the user can resolve its order. Pure. */
import { hasTrait } from '../../api/conditions.ts';
import { ADOPT_ANNOTATION } from '../../api/names.ts';
import { isNamed, mirrorIn, phaseOf, type ServerRecord } from '../../api/record.ts';
import { powerStateOf, type PowerState } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { holdsSomething, knownRecord, viewRecord } from '../../virtual-server/decision/known-record.ts';
import { recordedPrice } from '../../virtual-server/decision/price.ts';
import { isOverdue } from '../../virtual-server/decision/view.ts';
import { inWords, verdict } from './readiness.ts';

/** The operator's record of the server, even if the record belongs to another object and was copied here. */
export function recordOf(object: VirtualServer): ServerRecord | undefined {
  const view = viewRecord(object, []);
  return view.kind === 'foreign' ? view.record : knownRecord(object);
}

/** Whether the last read has shown the server on, off or dormant. */
export function powerOf(object: VirtualServer): PowerState {
  const { isDormant } = recordedPrice(recordOf(object)) ?? {};
  return powerStateOf(object.status?.serverStatus, isDormant);
}

/** The server that the object itself holds. */
export function heldServer(object: VirtualServer): string | undefined {
  const view = viewRecord(object, []);
  return view.kind === 'own' ? view.record.identifier : undefined;
}

/** What the object does with the server that it holds; an order under an identifier names a server that may not exist. */
export function holding(object: VirtualServer): string | undefined {
  const view = viewRecord(object, []);
  if (view.kind !== 'own' || view.record.identifier === undefined) return undefined;
  return isNamed(view.record)
    ? `has ordered server ${view.record.identifier}, which the provider has not shown yet`
    : `holds server ${view.record.identifier}`;
}

/** True unless the record says that the object holds neither a server nor an order. */
export function mayHold(object: VirtualServer): boolean {
  const view = viewRecord(object, []);
  if (view.kind === 'own') return holdsSomething(view.record);
  return view.kind !== 'none' && view.kind !== 'foreign';
}

export type OrderState =
  /** There is no order, or its server is known. */
  | { kind: 'none' }
  /** The order may still complete, or the status does not cover it yet. */
  | { kind: 'notYet'; why: string }
  /** The user decides. `named`: the server that the task has named. */
  | { kind: 'open'; attempt: string; named: string | undefined };

/** Decides by the record, so every order has a way out whatever the reason. `now`: ms since the epoch. */
export function orderOf(object: VirtualServer, now: number): OrderState {
  const view = viewRecord(object, []);
  const shown = verdict(object);
  const { reason } = shown;
  const misread = unreadable(object);
  if (misread !== undefined) return { kind: 'notYet', why: misread };
  if (view.kind === 'conflict' || view.kind === 'invalid') {
    const isReported = reason === 'RecordConflict' || reason === 'RecordInvalid';
    return { kind: 'notYet', why: isReported ? inWords(shown) : behind(reason) };
  }
  if (view.kind !== 'own') return { kind: 'none' };
  const { attempt, task, identifier } = view.record;
  if (!isInQuestion(view.record, reason)) return { kind: 'none' };
  if (attempt === undefined)
    return task === undefined ? { kind: 'none' } : { kind: 'notYet', why: `task ${task} is running` };
  if (reason === 'CreateInFlight') return { kind: 'notYet', why: inWords(shown) };
  // The operator writes the annotation before it sends the order, and the status afterward.
  if (mirrorIn(object.status)?.attempt !== attempt) return { kind: 'notYet', why: behind(reason) };
  if (task === undefined) {
    // The operator may know more than it can store.
    const isUnsettled = reason === 'Pending' || reason === 'WriteRefused';
    return isUnsettled ? { kind: 'notYet', why: inWords(shown) } : { kind: 'open', attempt, named: undefined };
  }
  const isAdopting = object.metadata.annotations?.[ADOPT_ANNOTATION] !== undefined;
  if (hasTrait(reason, 'taskMayRun') && !isAdopting && !isOverdue(view.record, now)) {
    return {
      kind: 'notYet',
      why: `the provider accepted the order as task ${task}, which may still be running. ${inWords(shown)}`,
    };
  }
  return { kind: 'open', attempt, named: identifier };
}

/** Whether the result of the order is in question. If its server is named, only because its task led to nothing. */
function isInQuestion(record: ServerRecord, reason: string): boolean {
  switch (phaseOf(record)) {
    case 'unordered':
      return false;
    case 'claimed':
    case 'following':
      return true;
    case 'named':
    case 'held':
      return hasTrait(reason, 'taskFruitless');
  }
}

/** Why this version cannot read the record: a newer version of the operator wrote it. Undefined if it can. */
export function unreadable(object: VirtualServer): string | undefined {
  const view = viewRecord(object, []);
  if (view.kind !== 'tooNew') return undefined;
  const shown = verdict(object);
  if (shown.reason === 'RecordTooNew') return inWords(shown);
  return `a newer version of the operator wrote the record, which has ${view.unknown}: upgrade this plugin`;
}

function behind(reason: string): string {
  return `the status (${reason}) does not cover the last order yet: try again in a moment`;
}

/** The server that the object holds but the operator cannot see. */
export function unseenServer(object: VirtualServer): string | undefined {
  return hasTrait(verdict(object).reason, 'unseen') ? heldServer(object) : undefined;
}
