/** What the checks of sets need to know of members, written apart from the product. */
import {
  FINALIZER,
  MEMBER_TEMPLATE_ANNOTATION,
  RECORD_ANNOTATION,
  SET_KIND,
  SET_LABEL,
  START_OVER_ANNOTATION,
} from '../../src/api/names.ts';
import { ORDERED_FIELDS, type OrderedField } from '../../src/api/ordered-fields.ts';
import { mirrorIn, parseRecord } from '../../src/api/record.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { RESTARTED_AT, type VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import { currentReason } from '../../src/api/conditions.ts';
import { isDeepEqual, isObject } from '../../src/base/deep-equal.ts';
import { annotatedRecordOf } from '../fixtures/records.ts';
import { sshKeyOf } from '../fixtures/virtual-server.ts';
import type { ApiServer, ServerChange } from './api-server.ts';

/** With a member in one of these states, the set must order nothing. */
const UNRESOLVED = new Set<string | undefined>([
  'CreateInFlight',
  'CreateOutcomeUnknown',
  'IdentifierInUse',
  'IdentityUnproven',
  'OrphanedServer',
  'ServerNotVisible',
  'CreateFailed',
  'TaskFailed',
  'TaskInUse',
  'TaskNotFound',
  'TaskOverdue',
]);

/** By its reason, unless a visit has resolved the order since and has not shown that yet. */
export function isUnresolved(object: VirtualServer): boolean {
  // It has not begun to adopt a server, and has ordered none.
  const hasRecord =
    object.metadata.annotations?.[RECORD_ANNOTATION] !== undefined || object.status?.record !== undefined;
  if (!hasRecord && currentReason(object.status?.conditions) === 'IdentifierInUse') return false;
  const { open, doubt, createFailure, orphans } = annotatedRecordOf(object) ?? {};
  const isResolved = annotatedRecordOf(object) !== undefined && !open && !doubt && !createFailure && !orphans;
  return UNRESOLVED.has(currentReason(object.status?.conditions)) && !isResolved;
}

export const isAlive = ({ metadata }: VirtualServer): boolean => metadata.deletionTimestamp === undefined;

/** The owner reference of the set that controls the object. */
export function controllerOf({ ownerReferences = [] }: VirtualServer['metadata']) {
  return ownerReferences.find(({ kind, controller }) => kind === SET_KIND && controller === true);
}

/** An object without its label is a member only while it is being deleted. */
export function membersOf(
  { metadata: { uid, name } }: VirtualServerSet,
  objects: readonly VirtualServer[],
): VirtualServer[] {
  return objects.filter((object) => {
    const isLabelled = object.metadata.labels?.[SET_LABEL] === name;
    return controllerOf(object.metadata)?.uid === uid && (isLabelled || !isAlive(object));
  });
}

/** An SSH key that a mutating admission policy adds; a set asks for none like it. */
export const POLICY_KEY = sshKeyOf('policy');

type Ordered = Pick<VirtualServer['spec'], OrderedField>;

/** The last restart of the set; undefined: it was never restarted, or a tool has taken that back. */
export const restartOf = ({ spec: { template } }: VirtualServerSet): string | undefined =>
  template.metadata?.annotations?.[RESTARTED_AT] || undefined;

/** The restart and the revision of its set that the member is from; undefined if no set wrote to it. */
export function originOf({ metadata }: VirtualServer): { restart: string | undefined; revision: string } | undefined {
  const text = metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION];
  if (text === undefined) return undefined;
  const { annotations, revision } = JSON.parse(text) as { annotations: Record<string, string>; revision: string };
  return { restart: annotations[RESTARTED_AT], revision };
}

/** What the set has written to the spec of the member besides what an order sends. */
export function throughOf({ metadata }: VirtualServer): Partial<VirtualServer['spec']> {
  const { spec } = JSON.parse(metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION] ?? '{}') as Partial<VirtualServer>;
  return spec ?? {};
}

type Stores = Pick<ApiServer, 'servers' | 'sets'>;

/**
 * Whether its spec matches the template, or did when the set created it: a user or a policy may have changed it since. Once the
 * set has changed it in place, only its spec counts. After a restart, a member from before it is not updated.
 */
export function isUpdated(member: VirtualServer, set: VirtualServerSet, api: Stores): boolean {
  return hasTemplate(member, set, api) && isSettled(member);
}

/** The same, also while its server is being changed. */
export function hasTemplate(member: VirtualServer, set: VirtualServerSet, api: Stores): boolean {
  const { spec, metadata } = member;
  const { template } = set.spec;
  const [origin, restart] = [originOf(member), restartOf(set)];
  if (restart !== undefined && origin !== undefined && origin.restart !== restart) return false;
  const text = textOf(template.spec);
  if (textOf(spec) === text) return true;
  const isOwn = ({ object }: ServerChange): boolean => object.metadata.uid === metadata.uid;
  const changed = changedAt(member);
  if (changed === undefined) {
    const created = api.servers.changes.find(isOwn)?.object;
    return created?.metadata.ownerReferences !== undefined && textOf(asked(created.spec)) === text;
  }
  if (textOf(asked(spec)) === text) return true;
  // What users change of a member, before or afterwards, does not make it one of an earlier template.
  const versions = api.servers.changes.filter(isOwn).map(({ object }) => object);
  const left = versions.filter((version) => version.metadata.generation === changed);
  const before = left[0] && templateBefore(left[0], set, api);
  const isKept = (field: OrderedField, version: VirtualServer): boolean =>
    isEdited(field, versions, version) && (before === undefined || isSameIn(field, before, template.spec));
  return left.some((version) =>
    ORDERED_FIELDS.every((field) => isSameIn(field, asked(version.spec), template.spec) || isKept(field, version)),
  );
}

/** The template of the set when this version of the member was written. */
function templateBefore({ metadata }: VirtualServer, set: VirtualServerSet, { sets }: Stores): Ordered | undefined {
  const isBefore = (other: VirtualServerSet): boolean =>
    Number(other.metadata.resourceVersion) < Number(metadata.resourceVersion);
  const isThen = ({ object }: { object: VirtualServerSet }): boolean =>
    object.metadata.uid === set.metadata.uid && isBefore(object);
  return sets.changes.findLast(isThen)?.object.spec.template.spec;
}

const isSameIn = (field: OrderedField, a: Ordered, b: Ordered): boolean => isDeepEqual(a[field], b[field]);

/** Whether a user was the last one to change the field up to this version. What a set changes, it notes in its annotation. */
function isEdited(field: OrderedField, versions: readonly VirtualServer[], { metadata }: VirtualServer): boolean {
  const noteOf = (version: VirtualServer | undefined): string | undefined =>
    version?.metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION];
  const last = versions.findLastIndex((after, index) => {
    const before = versions[index - 1];
    const isUpTo = before !== undefined && after.metadata.generation <= metadata.generation;
    return isUpTo && !isSameIn(field, before.spec, after.spec);
  });
  return last !== -1 && noteOf(versions[last - 1]) === noteOf(versions[last]);
}

const textOf = (ordered: Ordered): string => JSON.stringify(ORDERED_FIELDS.map((field) => inOrder(ordered[field])));

/** A patch adds the keys of an object at its end, which changes nothing. */
const inOrder = (value: unknown): unknown =>
  isObject(value) ? Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)) : value;

/** Without what a policy adds. */
const asked = ({ sshKeys, ...rest }: Ordered): Ordered => ({
  ...rest,
  ...(sshKeys && { sshKeys: sshKeys.filter((key) => key !== POLICY_KEY) }),
});

/** The generation of the member that the set changed in place last. */
function changedAt({ metadata }: VirtualServer): number | undefined {
  const text = metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION];
  return text === undefined ? undefined : (JSON.parse(text) as { changed?: number }).changed;
}

/** The server is known to be what the spec says. */
export function isSettled(member: VirtualServer): boolean {
  const { conditions = [], observedGeneration = -1 } = member.status ?? {};
  const seen = Math.min(changedAt(member) ?? -1, member.metadata.generation);
  return observedGeneration >= seen && !conditions.some(({ type }) => type === 'ChangePending');
}

/** Whether its deletion makes no call to the provider, and the servers that its records name may run on. */
export function isOnlyTrace(member: VirtualServer): boolean {
  const { uid, finalizers = [], annotations } = member.metadata;
  const records = [annotatedRecordOf(member), mirrorIn(member.status)].filter((record) => record?.owner === uid);
  const holds = records.some((record) => (record?.attempt ?? record?.task ?? record?.identifier) !== undefined);
  if (records.length > 0) return holds && !finalizers.includes(FINALIZER);
  const parsed = parseRecord(annotations?.[RECORD_ANNOTATION]);
  return parsed.ok && parsed.value !== undefined && annotations?.[START_OVER_ANNOTATION] !== uid;
}

/** The fields that a set may change in place, apart from the product's table. */
export const IN_PLACE = ['product', 'diskSize', 'advanced'] as const;

type Advanced = Readonly<Record<string, unknown>>;

/**
 * Whether the template gets into this outdated member without a new server: as far as its spec tells, or by what its server was
 * seen to have.
 */
export function isForInPlace(member: VirtualServer, set: VirtualServerSet, by: 'spec' | 'server'): boolean {
  const { changePolicy = 'Never', ...after } = set.spec.template.spec;
  const [origin, restart] = [originOf(member), restartOf(set)];
  // What a policy has added cannot be told from an earlier template that no status of the set has kept.
  const known = set.status?.revisions?.find(({ revision }) => revision === origin?.revision);
  const before = known === undefined ? member.spec : asked(member.spec);
  if (restart !== undefined && origin?.restart !== restart) return false;
  const mayChange = changePolicy !== 'Never';
  const { product, specs, advanced: devices = {}, serverStatus } = member.status ?? {};
  const isShown = by === 'server' && serverStatus !== undefined;
  const same = (field: OrderedField): boolean => isDeepEqual(before[field], after[field]);
  const mayGetDevices = (): boolean => {
    const [old, now, has]: [Advanced, Advanced, Advanced] = [before.advanced ?? {}, after.advanced ?? {}, devices];
    const text = (value: unknown): string => String(value).toLowerCase();
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].every((key) => {
      if (old[key] === now[key] || (changePolicy === 'AllowStop' && now[key] !== undefined)) return true;
      return has[key] !== undefined && (text(now[key] ?? old[key]) === text(has[key])) === (now[key] !== undefined);
    });
  };
  return ORDERED_FIELDS.every((field) => {
    if (same(field)) return true;
    if (field === 'product') return mayChange || (isShown && after.product === product);
    if (field === 'diskSize') {
      const isFrom = (size = Infinity): boolean => mayChange && after.diskSize > size;
      return isFrom(before.diskSize) || (isShown && (after.diskSize === specs?.diskSize || isFrom(specs?.diskSize)));
    }
    if (field !== 'advanced') return false;
    const old = Object.keys((known?.spec ?? before).advanced ?? {});
    const hasAll = old.every((key) => (after.advanced as Advanced | undefined)?.[key] !== undefined);
    const isAllowed = changePolicy === 'AllowStop' && after.advanced !== undefined && hasAll;
    return isAllowed || (isShown && mayGetDevices());
  });
}

/** Whether the template asks for nothing that the server does not have. */
export const isAsTemplate = (member: VirtualServer, set: VirtualServerSet): boolean => {
  const { template } = set.spec;
  const spec = { ...template.spec, changePolicy: 'Never' as const };
  return isForInPlace(member, { ...set, spec: { ...set.spec, template: { ...template, spec } } }, 'server');
};

/** Whether a request to change its server may be under way, as either copy of its record tells. */
export function mayBeChanging(member: VirtualServer): boolean {
  const copies = [annotatedRecordOf(member), member.status?.record as ReturnType<typeof annotatedRecordOf>];
  return copies.some((record) => record?.changeRequests !== undefined);
}

/** Since when the member is Ready (ms since the epoch); undefined: it is not. */
export function readySince({ status }: VirtualServer): number | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? Date.parse(ready.lastTransitionTime) : undefined;
}

export function isAvailable(member: VirtualServer, { spec }: VirtualServerSet, now: number): boolean {
  const since = readySince(member);
  const minReadyMs = spec.minReadySeconds * 1000;
  return isAlive(member) && since !== undefined && (minReadyMs === 0 || since + minReadyMs <= now);
}
