/**
 * What `kubectl vps undelete` does next, as the objects show it. A server returns to the name of its object in two
 * hand-overs, because the name is taken until the deleted object is gone: to an object between, and from there back. Pure.
 */
import * as z from 'zod';
import { currentReason } from '../../api/conditions.ts';
import {
  GROUP,
  HAND_OVER_ANNOTATION,
  HAND_OVER_MARK_ANNOTATION,
  SERVER_KIND,
  TAKE_OVER_ANNOTATION,
  UNDELETES_ANNOTATION,
} from '../../api/names.ts';
import { orderDifference } from '../../api/ordered-fields.ts';
import { isPaused } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { ServerRecord } from '../../api/record.ts';
import { timestamp } from '../../base/duration.ts';
import { quoted } from '../../base/text.ts';
import { expiryOf } from '../../virtual-server/decision/expiry.ts';
import { holdsSomething, knownRecord } from '../../virtual-server/decision/known-record.ts';
import { hasShorterDelay, takingProblem } from '../../virtual-server/decision/taking.ts';
import { nameProblem } from '../cluster/cluster.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { heldServer } from '../state/recorded-order.ts';
import { givenBack, ownersOf, ownersSchema } from './field-owners.ts';
import { isAppliers, type Manifest } from './replacement.ts';
import { inWords, verdict } from '../state/readiness.ts';
import { setArgument, setOf } from '../state/set-members.ts';

const entries = z.record(z.string(), z.string());
/** What the object between carries of the deleted one, for the object that gets its name. */
const markSchema = z.object({
  name: z.string(),
  uid: z.string(),
  labels: entries,
  annotations: entries,
  deletionProtection: z.boolean().optional(),
  owners: ownersSchema.optional(),
});
export type UndeletionMark = z.infer<typeof markSchema>;

export function undeletionMark({ metadata: { annotations } }: VirtualServer): UndeletionMark | undefined {
  try {
    return markSchema.parse(JSON.parse(annotations?.[UNDELETES_ANNOTATION] ?? ''));
  } catch {
    return undefined;
  }
}

/** The longest mark that the operator accepts. */
const MARK_LENGTH = 16_000;

/** What becomes of an object; null removes an annotation. */
interface Changes {
  metadata: { labels: Record<string, string>; annotations: Record<string, string | null> };
  spec: { deletionProtection: boolean };
}

export type UndeletionStep =
  /** Name the object that gets the server of this deleted one. */
  | { do: 'name'; object: VirtualServer; manifest: Manifest }
  | { do: 'create'; manifest: Manifest }
  /** Give the fields of the new object back to the tools that own them. */
  | { do: 'give'; object: VirtualServer; managedFields: object[] }
  /** Delete the object between, so that it hands its server over. `loses`: what the object after it does not keep. */
  | { do: 'delete'; object: VirtualServer; loses: string[] }
  /** Turn the object between into an ordinary object, which keeps the server. */
  | { do: 'keep'; object: VirtualServer; changes: Changes }
  /** Wait for the operator; `shown`: the object that shows how far it is. */
  | { do: 'wait'; shown: VirtualServer; why: string }
  | { do: 'end'; object: VirtualServer };

const isDying = ({ metadata }: VirtualServer): boolean => metadata.deletionTimestamp !== undefined;
const targetOf = ({ metadata: { annotations } }: VirtualServer): string | undefined =>
  annotations?.[HAND_OVER_ANNOTATION];

/**
 * `as`: the new name; undefined: the same. `where`: flags such as ` -n team`. `now`: ms since the epoch. `givesBack`: false
 * after the API server refused that. Throws CommandError if
 * the server cannot be taken back; undefined: there is no such object.
 */
export function nextStep(
  objects: readonly VirtualServer[],
  name: string,
  as: string | undefined,
  { where, now, givesBack = true }: { where: string; now: number; givesBack?: boolean | undefined },
): UndeletionStep | undefined {
  const named = (wanted: string): VirtualServer | undefined => objects.find(({ metadata }) => metadata.name === wanted);
  const old = named(name);
  if (old !== undefined && isDying(old)) {
    const target = targetOf(old);
    if (target === name || (target !== undefined && nameProblem(target) !== undefined)) {
      const free = as === undefined || named(as) !== undefined ? freeName(objects, name) : as;
      throw failed(
        `annotation ${HAND_OVER_ANNOTATION} of ${name} is ${JSON.stringify(target)}, which names no other ${SERVER_KIND}`,
        `kubectl annotate vps ${name}${where} --overwrite ${HAND_OVER_ANNOTATION}=${free}`,
      );
    }
    if (target !== undefined && as !== undefined && target !== as)
      throw failed(`${name} hands its server over to ${target} already`, undeleteAs(name, target, where));
    const taker = target === undefined ? undefined : named(target);
    if (taker !== undefined && knownRecord(taker)?.takenFrom?.uid === old.metadata.uid)
      return { do: 'wait', shown: taker, why: `${name} is about to go` };
    requireUndeletable(old, as, where, now);
    const wanted = target ?? as ?? freeName(objects, name);
    if (target === undefined && taker === undefined && named(wanted) !== undefined)
      throw failed(`there is already a ${SERVER_KIND} ${wanted}`);
    const isBetween = as === undefined;
    if (isBetween && taker !== undefined && targetOf(taker) !== name)
      throw failed(`${name} hands its server over to ${wanted} already`, undeleteAs(name, wanted, where));
    if (taker !== undefined && isStranger(taker, old)) {
      const free = freeName(objects, name);
      throw failed(
        `another client has created ${wanted}, which does not get the server: ${name} keeps it. Choose another name`,
        `kubectl annotate vps ${name}${where} --overwrite ${HAND_OVER_ANNOTATION}=${free}`,
        undeleteAs(name, free, where),
      );
    }
    const manifest = isBetween ? betweenOf(old, wanted) : standaloneOf(old, wanted);
    if (target === undefined) return { do: 'name', object: old, manifest };
    return taker === undefined
      ? { do: 'create', manifest }
      : { do: 'wait', shown: taker, why: 'the operator hands over' };
  }
  if (as !== undefined) return kept(named(as), old, name, where) ?? endOf(named(as), name, where);
  const between = objects.find((object) => targetOf(object) === name && undeletionMark(object)?.name === name);
  if (between === undefined) return endOf(old, name, where);
  if (old !== undefined && knownRecord(old)?.takenFrom?.uid === between.metadata.uid)
    return { do: 'wait', shown: old, why: `${between.metadata.name} is about to go` };
  requireServer(between, where);
  // A paused object hands nothing over. The object that waits for it does not show the pause.
  if (isPaused(between)) return { do: 'wait', shown: between, why: 'it is paused' };
  if (old === undefined) {
    requireEnd(between, restoredOf(between).spec as VirtualServer['spec'], where, now);
    return { do: 'create', manifest: restoredOf(between) };
  }
  if (isDying(between)) return { do: 'wait', shown: old, why: `${between.metadata.name} is about to go` };
  const loses = requireTaker(old, between, where, now);
  const managedFields = givesBack ? givenBack(old.metadata, undeletionMark(between)?.owners ?? []) : undefined;
  if (managedFields !== undefined) return { do: 'give', object: old, managedFields };
  if (heldServer(between) !== undefined) return { do: 'delete', object: between, loses };
  return { do: 'wait', shown: between, why: 'the operator hands over' };
}

/**
 * The object between is to keep the server. Throws CommandError if an object waits for that server: it would order one of its
 * own.
 */
function kept(
  between: VirtualServer | undefined,
  waiting: VirtualServer | undefined,
  name: string,
  where: string,
): UndeletionStep | undefined {
  if (between === undefined || isDying(between)) return undefined;
  const mark = undeletionMark(between);
  if (targetOf(between) !== name || mark?.name !== name) return undefined;
  requireServer(between, where);
  const { name: ownName } = between.metadata;
  const record = waiting && knownRecord(waiting);
  if (waiting !== undefined && !(record !== undefined && holdsSomething(record))) {
    throw failed(
      `${name} exists and waits for the server of ${ownName}. If ${ownName} keeps the server, ${name} orders another one`,
      `kubectl annotate vps ${ownName}${where} ${HAND_OVER_ANNOTATION}- ${UNDELETES_ANNOTATION}-   # to have both`,
      `kubectl vps undelete ${quoted(name)}${where}   # to give the server to ${name}`,
    );
  }
  const { deletionProtection = between.spec.deletionProtection } = mark;
  const labels = without(mark.labels, isOthers);
  const none = { [HAND_OVER_ANNOTATION]: null, [TAKE_OVER_ANNOTATION]: null, [UNDELETES_ANNOTATION]: null };
  const annotations = { ...without(mark.annotations, isOthers), ...none };
  return { do: 'keep', object: between, changes: { metadata: { labels, annotations }, spec: { deletionProtection } } };
}

/** Throws CommandError if the object between has no server to give: the object that waits for it would order another one. */
function requireServer(between: VirtualServer, where: string): void {
  const { name } = between.metadata;
  const record = knownRecord(between);
  const status = `kubectl vps status ${name}${where}`;
  if (record?.expiredAt !== undefined || record?.missingAt !== undefined)
    throw failed(`the server of ${name} no longer exists: ${inWords(verdict(between))}`, status);
  if (record?.identifier === undefined)
    throw failed(`${name} holds no server, so there is nothing to take back`, status);
}

/**
 * Throws CommandError if the server must not go to this object, which someone else may have created. Returns what else
 * that object does not keep.
 */
function requireTaker(taker: VirtualServer, between: VirtualServer, where: string, now: number): string[] {
  const { name } = taker.metadata;
  const record = knownRecord(taker);
  const status = `kubectl vps status ${name}${where}`;
  const kept = `${between.metadata.name} keeps the server`;
  if (record !== undefined && holdsSomething(record)) {
    const keep = `${undeleteAs(name, between.metadata.name, where)}   # ${between.metadata.name} keeps it for good`;
    throw failed(`there is a new ${name} that has its own server or order: ${kept}`, keep, status);
  }
  // The object between has no protection, because this command deletes it.
  const giver = { ...between, spec: restoredOf(between).spec as VirtualServer['spec'] };
  const own = knownRecord(between);
  const differing = orderDifference(giver.spec, taker.spec);
  const problem = own && takingProblem({ giver, record: own, taker, now }, name);
  const why =
    differing.length > 0 ? `with another ${differing.join(', ')}` : problem && `that must not get it: ${problem}`;
  if (why === undefined) return lossesOf(giver, own, taker);
  throw failed(
    `there is a new ${name} ${why}: ${kept}. Give ${name} the values of ${between.metadata.name}, and run the command again`,
    status,
  );
}

/** What is weaker than before, and ends the server neither now nor without you. */
function lossesOf(giver: VirtualServer, record: ServerRecord | undefined, taker: VirtualServer): string[] {
  const { name } = taker.metadata;
  const end = expiryOf(taker, record);
  const isEarlier = end !== undefined && end < (expiryOf(giver, record) ?? Infinity);
  return [
    ...(isEarlier ? [`${name} ends the server at ${timestamp(end)}, earlier than before its deletion`] : []),
    ...(hasShorterDelay(giver, taker) ? [`spec.deletionDelay of ${name} is shorter than before its deletion`] : []),
  ];
}

/** Throws CommandError if an object with this spec would cancel the server at once. */
function requireEnd(of: VirtualServer, spec: VirtualServer['spec'], where: string, now: number): void {
  const { name } = of.metadata;
  const record = knownRecord(of);
  const { annotations: _, ...metadata } = of.metadata;
  const problem =
    record && takingProblem({ giver: { ...of, spec }, record, taker: { ...of, metadata, spec }, now }, name);
  if (problem === undefined) return;
  throw failed(
    `the server would be cancelled as soon as it is taken back: ${problem}`,
    `kubectl patch vps ${name}${where} --type merge -p '{"spec":{"ttl":null,"expiresAt":null}}'`,
  );
}

/** Whether an object that this command did not create has the name. */
const isStranger = (taker: VirtualServer, { metadata: { annotations } }: VirtualServer): boolean =>
  annotations?.[HAND_OVER_MARK_ANNOTATION] !== taker.metadata.annotations?.[TAKE_OVER_ANNOTATION];

/** An earlier run was successful, or nothing was to do. */
function endOf(object: VirtualServer | undefined, name: string, where: string): UndeletionStep | undefined {
  if (object === undefined) return undefined;
  const { name: holder } = object.metadata;
  if (isDying(object)) {
    const target = targetOf(object) === name ? name : holder;
    const hands = target === name ? `, and hands its server over to ${name}` : '';
    throw failed(`${holder} is being deleted${hands}`, `kubectl vps undelete ${quoted(target)}${where}`);
  }
  if (knownRecord(object)?.takenFrom !== undefined) return { do: 'end', object };
  throw failed(`${holder} is not being deleted`, name);
}

function failed(message: string, ...hints: string[]): CommandError {
  return new CommandError(
    EXIT.failed,
    message,
    hints.filter((hint) => hint.startsWith('kubectl')),
  );
}

const undeleteAs = (name: string, as: string, where: string): string =>
  `kubectl vps undelete ${quoted(name)}${where} --name ${quoted(as)}`;

/** The reasons with which the provider may already have been asked to cancel the server. */
const TOO_LATE = new Set(['Deleting', 'CancellationUnconfirmed']);

function requireUndeletable(old: VirtualServer, as: string | undefined, where: string, now: number): void {
  const { name } = old.metadata;
  const set = setOf(old);
  if (set !== undefined && as === undefined) {
    throw failed(
      `${name} is a member of a set, which decides whether there is a ${name}: take its server back under another name`,
      undeleteAs(name, `${name}-kept`, where),
      `kubectl vps status ${setArgument(set)}${where}`,
    );
  }
  if (old.spec.deletionPolicy === 'Retain') throw failed(`${name} has deletionPolicy Retain: its server stays anyway`);
  if (isPaused(old))
    throw failed(`${name} is paused: the operator hands nothing over`, `kubectl vps resume ${name}${where}`);
  const record = knownRecord(old);
  const shown = verdict(old);
  if (record?.expiredAt !== undefined || record?.missingAt !== undefined)
    throw failed(`the server of ${name} no longer exists: ${inWords(shown)}`);
  if (record?.identifier === undefined || record.fingerprint === undefined)
    throw failed(`not yet: the operator does not know the server of ${name}`, `kubectl vps status ${name}${where}`);
  const isAsked =
    old.status?.cancelRequestedAt !== undefined || TOO_LATE.has(currentReason(old.status?.conditions) ?? '');
  if (targetOf(old) === undefined && isAsked)
    throw failed(`too late: the operator is cancelling the server of ${name}`, `kubectl vps status ${name}${where}`);
  requireEnd(old, old.spec, where, now);
}

/** The command that takes the deletion of this object back, or comes before that; none if nothing does. */
export function undeletionHints(old: VirtualServer, where: string, now: number): readonly string[] {
  try {
    requireUndeletable(old, undefined, where, now);
    return [`kubectl vps undelete ${quoted(old.metadata.name)}${where}`];
  } catch (error) {
    if (error instanceof CommandError) return error.hints;
    throw error;
  }
}

/** A name that no object has. */
function freeName(objects: readonly VirtualServer[], name: string): string {
  const base = `${name.slice(0, 240)}-back`;
  const isTaken = (wanted: string): boolean => objects.some(({ metadata }) => metadata.name === wanted);
  for (let number = 1; ; number += 1) {
    const wanted = number === 1 ? base : `${base}-${number}`;
    if (!isTaken(wanted)) return wanted;
  }
}

/** What one object says about itself to the operator is not for another object. */
const isOwn = (key: string): boolean => key.startsWith(`${GROUP}/`);
const isKubectls = (key: string): boolean => key.startsWith('kubectl.kubernetes.io/');
/** Nor is what kubectl and GitOps tools note on their objects for an object with another name. */
const isOthers = (key: string): boolean => isOwn(key) || isKubectls(key) || isAppliers(key);

/**
 * No tool and no set takes this object for its own: it has no labels, owners or annotations of others. It has no protection
 * either, because the guards would refuse to delete it; the annotation on it keeps its server.
 */
function betweenOf(old: VirtualServer, name: string): Manifest {
  const { labels, annotations, name: oldName, uid } = old.metadata;
  const { deletionProtection } = old.spec;
  const kept = { labels: without(labels, isOwn), annotations: without(annotations, isOwn) };
  const least: UndeletionMark = { name: oldName, uid, labels: kept.labels, annotations: {}, deletionProtection };
  const whole: UndeletionMark[] = [
    { ...least, annotations: kept.annotations, owners: ownersOf(old.metadata) },
    { ...least, annotations: kept.annotations },
    { ...least, annotations: without(kept.annotations, isKubectls) },
    least,
  ];
  const texts = whole.map((mark) => JSON.stringify(mark));
  const mark = texts.find(({ length }) => length <= MARK_LENGTH) ?? JSON.stringify(least);
  const annotated = { [HAND_OVER_ANNOTATION]: oldName, [UNDELETES_ANNOTATION]: mark, ...markFor(old) };
  const spec = { ...old.spec, deletionProtection: false };
  return { kind: SERVER_KIND, metadata: { name, labels: {}, annotations: annotated }, spec };
}

/** The object with a new name belongs to no tool and to no set. */
function standaloneOf(old: VirtualServer, name: string): Manifest {
  const { labels, annotations } = old.metadata;
  const kept = { ...without(annotations, isOthers), ...markFor(old) };
  return {
    kind: SERVER_KIND,
    metadata: { name, labels: without(labels, isOthers), annotations: kept },
    spec: old.spec,
  };
}

/** What tells the object of this command from one of the same name that another client creates. */
function markFor({ metadata: { annotations = {}, uid } }: VirtualServer): Record<string, string> {
  const { [HAND_OVER_ANNOTATION]: target, [HAND_OVER_MARK_ANNOTATION]: mark } = annotations;
  // You have named the object without this command, and without a mark.
  if (target !== undefined && mark === undefined) return {};
  return { [TAKE_OVER_ANNOTATION]: mark ?? uid };
}

/** The annotations that name the object of this manifest. */
export function naming({ metadata: { name, annotations } }: Manifest): Record<string, string> {
  const { [TAKE_OVER_ANNOTATION]: mark } = annotations;
  return { [HAND_OVER_ANNOTATION]: name, ...(mark !== undefined && { [HAND_OVER_MARK_ANNOTATION]: mark }) };
}

/** The object with the old name, as it was. */
function restoredOf(between: VirtualServer): Manifest {
  const { name = '', labels = {}, annotations = {}, deletionProtection } = undeletionMark(between) ?? {};
  const spec = { ...between.spec, deletionProtection: deletionProtection ?? between.spec.deletionProtection };
  return { kind: SERVER_KIND, metadata: { name, labels, annotations }, spec };
}

function without(map: Record<string, string> | undefined, isLeftOut: (key: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !isLeftOut(key)));
}
