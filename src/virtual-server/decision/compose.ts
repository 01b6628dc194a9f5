/** Builds a whole status: fields, the mirror of the record, and the conditions. Pure. */
import {
  transitions,
  withCondition,
  withVerdict,
  type EventNote,
  type Finding,
  type Verdict,
} from '../../controller/conditions.ts';
import { sentences } from '../../controller/commands.ts';
import { currentReason, TYPES_WITH_EVENT, hasTrait, type ConditionType, type Reason } from '../../api/conditions.ts';
import { ADOPT_ANNOTATION, PAUSED_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../api/names.ts';
import { openReason } from '../../api/open.ts';
import { newerRecord, type ServerRecord } from '../../api/record.ts';
import { userDataSourceOf } from '../../api/user-data.ts';
import type { VirtualServer, VirtualServerStatus } from '../../api/virtual-server.ts';
import type { Condition } from '../../api/meta.ts';
import { without } from '../../base/without.ts';
import { timestamp } from '../../base/duration.ts';
import { ended } from '../../base/text.ts';
import { adviceOn, setUpAnother } from './advice.ts';
import { cancelsAtOf } from './delay.ts';
import { expiring } from './expiry.ts';
import { adoptionOf, orphanMessage } from './inputs.ts';
import { isLetGo, isPaused } from '../../api/server-state.ts';
import { coveredBy } from './open.ts';
import type { ConnectionCondition } from './connection.ts';
import type { Reachable } from './reach.ts';
import { holdsSomething } from './known-record.ts';
import { rebooted } from './rebooted.ts';
import { drift, isProvisioned } from './server-status.ts';

export interface Parts {
  record: ServerRecord | undefined;
  /** Fields that come from the provider. Default: those of the present status. */
  fields?: VirtualServerStatus;
  /** Default: the present verdict, or Pending if there is none. */
  verdict?: Verdict | undefined;
  /** The result of the SSH check. Counts only together with new fields; otherwise the present condition is kept. */
  reachable?: Reachable | undefined;
  /** A host key that is not trusted; counts as `reachable` does. `unknown`: the present condition is kept. */
  hostKey?: Finding | 'unknown' | undefined;
  /** The provider was asked to cancel the server. Default: what the present status says. */
  isAsked?: boolean;
  /** The result of writing the connection Secret; counts as `reachable` does. */
  connection?: ConnectionCondition | undefined;
  /** What a change in place waits for; counts as `reachable` does. */
  change?: Finding | undefined;
}

/** The first verdict. An object may get its record before its first status, as one does that takes over a server. */
function pending(object: VirtualServer, record: ServerRecord | undefined): Verdict {
  const message = isPaused(object) ? 'orders nothing while the object is paused' : nextStep(object, record);
  return { reason: 'Pending', message: `The operator ${message}` };
}

function nextStep(object: VirtualServer, record: ServerRecord | undefined): string {
  const { identifier, task } = record ?? {};
  if (identifier !== undefined) return `is about to read server ${identifier}`;
  return task === undefined ? announcedIn(object) : `is about to look at task ${task} of its order`;
}

function announcedIn({ metadata: { annotations = {} } }: VirtualServer): string {
  if (annotations[TAKE_OVER_ANNOTATION] !== undefined) return 'is about to take over the server of a deleted object';
  return annotations[ADOPT_ANNOTATION] === undefined ? 'is about to order the server' : 'is about to adopt a server';
}

/** The API server has accepted what it had refused, or an operator acts where another one only observed. */
function resumed(object: VirtualServer, record: ServerRecord | undefined, last: readonly Condition[]): Verdict {
  if (isLetGo(object))
    return { reason: 'Deleting', message: 'The operator is done with this object. Other finalizers keep it' };
  const isRefused = currentReason(last) !== 'ObserveOnly';
  if (!isRefused || record === undefined || !holdsSomething(record)) return pending(object, record);
  return { reason: 'Pending', message: 'The operator continues: the API server accepts its writes again' };
}

/** Drops a verdict that is outdated once a step has no other one; a server that was Ready then is still Ready. */
function withoutOutdated(object: VirtualServer, conditions: readonly Condition[]): readonly Condition[] {
  const reason = currentReason(conditions);
  // The next operator that reads this object must still know that its server is gone.
  const isReleased = reason === 'ReleaseRefused' && isLetGo(object);
  const isOver = reason === 'WriteRefused' || reason === 'ObserveOnly' || isReleased;
  return isOver ? conditions.filter((condition) => condition.reason !== reason) : conditions;
}

const PAUSED = `The operator makes no calls for this object while annotation ${PAUSED_ANNOTATION} is set`;

export function compose(object: VirtualServer, parts: Parts, now: number): VirtualServerStatus {
  const { generation } = object.metadata;
  const paused = isPaused(object);
  const {
    record: before,
    observedGeneration,
    cancelsAt: _,
    cancelRequestedAt: askedAt,
    conditions: last = [],
    ...kept
  } = object.status ?? {};
  const present = parts.verdict === undefined ? withoutOutdated(object, last) : last;
  // Fields copied from another object describe another server, so they must not appear next to this object's record.
  const isCopied = before !== undefined && before.owner !== parts.record?.owner;
  const fields = parts.fields ?? (isCopied ? {} : ofSameServer(kept, parts.record));
  const first = present === last ? pending(object, parts.record) : resumed(object, parts.record, last);
  const verdict = parts.verdict ?? (present.some(({ type }) => type === 'Ready') ? undefined : first);
  const { record } = parts;
  const advised = <F extends Finding>(finding: F, ...more: Reason[]): F => {
    const about = { object, record, subject: finding.subject, now };
    const steps = [finding.reason, ...more].flatMap((reason) => adviceOn(reason, about));
    // What stays open behind a reason may ask for the same.
    const distinct = [...new Map(steps.map((step) => [JSON.stringify(step), step])).values()];
    return { ...finding, advice: finding.advice ?? sentences(distinct, object) };
  };
  // If a newer version wrote the record, keep it and its conditions: this version may misread it.
  const isReadable = newerRecord(record) === undefined;
  const ignored = adoptIgnored(object, record);
  let conditions = present.map(current(generation, paused));
  if (verdict !== undefined) {
    const covered = isReadable ? coveredBy(verdict.reason, record) : undefined;
    const message = [verdict.message, covered?.message, ignored].filter((text) => text !== undefined);
    const noticed = { ...verdict, message: message.length === 1 ? verdict.message : message.map(ended).join(' ') };
    const more = [...(covered?.reasons ?? []), ...(ignored === undefined ? [] : ['AdoptIgnored' as const])];
    conditions = withVerdict(present, advised(noticed, ...more), generation, now);
  }
  const others: [ConditionType, (Finding & { status?: Condition['status'] }) | undefined][] = [
    ['Drifted', drifted(object, fields)],
    ['Paused', paused ? { reason: 'Paused', message: PAUSED } : undefined],
    ['Collectible', collectible(object)],
  ];
  if (isReadable) {
    const orphaned = record?.orphans && { reason: 'OrphanedServer' as const, message: orphanMessage(record) };
    others.push(
      ['OrphanedServer', orphaned],
      ['Expiring', expiring(object, record, now)],
      ['Rebooted', rebooted(object, record)],
    );
  }
  conditions = withFindings(object, parts, conditions, advised, now);
  for (const [type, finding] of others)
    conditions = withCondition(conditions, type, finding && advised(finding), generation, now);
  const cancelsAt = isReadable ? cancelsAtOf(object, record) : undefined;
  // A record that this version cannot read is about the server that the status names.
  const named = isReadable ? record?.identifier : object.status?.identifier;
  const identifier = isReadable && record?.expiredAt !== undefined ? undefined : named;
  // A record that lost its owner belongs to no other object, so a DELETE that was sent stays known.
  const isOther = isCopied && typeof before.owner === 'string';
  const isSame = !isOther && object.status?.identifier === identifier;
  const cancelRequestedAt = (isSame ? askedAt : undefined) ?? (parts.isAsked === true ? timestamp(now) : undefined);
  return {
    ...fields,
    ...(identifier !== undefined && { identifier, ...(cancelRequestedAt !== undefined && { cancelRequestedAt }) }),
    ...(cancelsAt !== undefined && { cancelsAt: timestamp(cancelsAt) }),
    ...(record !== undefined && { record }),
    // While paused, the operator has not checked the new spec.
    observedGeneration: paused ? (observedGeneration ?? -1) : generation,
    conditions,
  };
}

/** The fields without host keys and changed user data, if they are those of the server that the object held before. */
function ofSameServer(kept: VirtualServerStatus, record: ServerRecord | undefined): VirtualServerStatus {
  const isOther = record?.identifier !== undefined && kept.identifier !== record.identifier;
  return isOther ? without(kept, 'sshHostKeys', 'userDataChanged') : kept;
}

/** Kept conditions also get the present generation, since the operator has just checked the spec; not while paused. */
function current(generation: number, paused: boolean) {
  return <T extends object>(condition: T): T => (paused ? condition : { ...condition, observedGeneration: generation });
}

/** Conditions found when the server was last read. A condition that the spec no longer asks for is removed. */
function withFindings(
  object: VirtualServer,
  parts: Parts,
  conditions: Condition[],
  advised: (finding: Finding) => Finding,
  now: number,
): Condition[] {
  const { sshCheck, connectionSecretName } = object.spec;
  const isChecked = sshCheck === 'Proxy' || sshCheck === 'Direct';
  const { hostKey } = parts;
  const findings: {
    type: ConditionType;
    asked: boolean;
    found: Reachable | ConnectionCondition | Finding | 'unknown' | undefined;
  }[] = [
    { type: 'Reachable', asked: isChecked, found: parts.reachable },
    { type: 'HostKeyChanged', asked: isChecked, found: typeof hostKey === 'object' ? advised(hostKey) : hostKey },
    { type: 'ChangePending', asked: true, found: pendingChange(object, parts, conditions, advised) },
    { type: 'ConnectionSecret', asked: connectionSecretName !== undefined, found: parts.connection },
  ];
  return findings.reduce((result, { type, asked, found }) => {
    const isNew = type === 'ChangePending' && found !== undefined;
    if (!asked || ((parts.fields !== undefined || isNew) && found !== 'unknown'))
      return withCondition(
        result,
        type,
        asked && found !== 'unknown' ? found : undefined,
        object.metadata.generation,
        now,
      );
    const isOfType = (condition: Condition): boolean => condition.type === type;
    return [...result.filter((condition) => !isOfType(condition)), ...result.filter(isOfType)];
  }, conditions);
}

/** Until a read compares the server with a new spec, the status must not show the two as equal. */
function pendingChange(
  object: VirtualServer,
  { fields, change }: Parts,
  conditions: readonly Condition[],
  advised: (finding: Finding) => Finding,
): Finding | undefined {
  if (fields !== undefined) return change && advised(change);
  const { status, metadata, spec } = object;
  const isCompared = status?.observedGeneration === metadata.generation || (spec.changePolicy ?? 'Never') === 'Never';
  const isKnown = isCompared || isPaused(object) || !isProvisioned(status);
  if (isKnown || conditions.some(({ type }) => type === 'ChangePending')) return undefined;
  return { reason: 'Changing', message: 'The operator has not compared the server with the present spec yet' };
}

function drifted(object: VirtualServer, fields: VirtualServerStatus): Finding | undefined {
  if (!isProvisioned(fields)) return undefined;
  const differences = drift(object.spec, fields);
  const differs =
    differences &&
    `The server differs from spec: ${differences}. The operator changes nothing. To accept it for an adopted server, ` +
      'change product, diskSize, diskType or ipv4. To get another server, create a new object';
  const outdated = outdatedUserData(object, fields);
  const message = [differs, outdated].filter((text) => text !== undefined).join('. ');
  if (message === '') return undefined;
  return {
    reason: 'Drifted',
    message,
    ...(outdated !== undefined && { advice: sentences(setUpAnother(object), object) }),
  };
}

/** Names where the user data comes from, and tells nothing of it. */
function outdatedUserData(
  { metadata: { namespace }, spec: { userDataFrom } }: VirtualServer,
  { userDataChanged }: VirtualServerStatus,
): string | undefined {
  if (userDataChanged !== true || userDataFrom === undefined) return undefined;
  const { kind, name, key } = userDataSourceOf(userDataFrom);
  return (
    `The user data in spec.userDataFrom has changed since the order: ${kind} ${namespace}/${name}, key "${key}". cloud-init ran the earlier ` +
    'one when the server first started, and runs no other. The operator changes nothing'
  );
}

/**
 * The operator may not read owners, so it cannot tell whether one still exists. The garbage collector may be waiting
 * for the protection to be lifted.
 */
function collectible(object: VirtualServer): Finding | undefined {
  const { metadata, spec } = object;
  const isHeld =
    spec.deletionProtection && spec.deletionPolicy === 'Delete' && metadata.deletionTimestamp === undefined;
  if (!isHeld || metadata.ownerReferences === undefined) return undefined;
  const owners = metadata.ownerReferences.map(({ kind, name }) => `${kind} ${name}`).join(', ');
  const message =
    `This object has owners (${owners}). If one of them was deleted, the garbage collector deletes this object as soon as ` +
    'deletionProtection is false, and the operator cancels the server';
  return { reason: 'HasOwners', message };
}

/** A notice for every verdict while an adoption comes too late. */
function adoptIgnored(object: VirtualServer, record: ServerRecord | undefined): string | undefined {
  const adoption = adoptionOf(object);
  if (adoption?.ok !== true || record?.identifier === undefined || adoption.value === record.identifier)
    return undefined;
  // The operator tries the adoption in place of a server that was never seen.
  if (record.fingerprint === undefined && openReason(record, 'renamed') !== undefined) return undefined;
  return (
    `AdoptIgnored: annotation ${ADOPT_ANNOTATION} names ${adoption.value}, but the object holds ${record.identifier}. ` +
    'The operator ignores the annotation'
  );
}

/** The reason that the object shows, for a log line. */
export const shownReason = ({ status }: VirtualServer): string | undefined => currentReason(status?.conditions);

/** Whether an Event may have told already that the server is ready. */
export const showsReady = (status: VirtualServerStatus | undefined): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;

export function eventsOf(before: VirtualServerStatus | undefined, after: VirtualServerStatus): EventNote[] {
  const events = transitions(before?.conditions, after.conditions, TYPES_WITH_EVENT);
  // Of an order that goes as usual, ServerReady tells (order-events.ts).
  const reason = currentReason(before?.conditions);
  const isUsual = reason === undefined || hasTrait(reason, 'silent');
  return isUsual ? events.filter((event) => event.reason !== 'Available') : events;
}
