/** What a set has at one moment, what it lacks, and what it has too much of. Pure. */
import { SET_LABEL } from '../../api/names.ts';
import { hasTrait } from '../../api/conditions.ts';
import { orderDifference } from '../../api/ordered-fields.ts';
import { keysProblem } from '../../api/public-key.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Ordered, VirtualServerSet } from '../../api/virtual-server-set.ts';
import { memberChangeOf, type MemberChange } from './in-place.ts';
import { changesOf, limitsOf, poolOf, victimsOf, type Changes, type Limits, type Victims } from './limits.ts';
import { memberOf, type Member } from './member.ts';
import { changesFor, createdFrom, isSinceRestart, nameOf, ordinalOf, revisionOf, shortName } from './template.ts';

/** The VirtualServers of a namespace, as one set sees them. */
export interface Groups {
  members: Member[];
  /** May be adopted. */
  orphans: VirtualServer[];
  /** The set is their controller, but you took its label away. */
  released: VirtualServer[];
  /** Everything else: whether it is being deleted, by name. */
  others: Map<string, boolean>;
}

export function groupsOf(set: VirtualServerSet, objects: readonly VirtualServer[]): Groups {
  const { name, uid } = set.metadata;
  const groups: Groups = { members: [], orphans: [], released: [], others: new Map() };
  for (const object of objects) {
    const { metadata } = object;
    const controller = metadata.ownerReferences?.find((owner) => owner.controller === true);
    const isLabelled = metadata.labels?.[SET_LABEL] === name;
    const isDeleting = metadata.deletionTimestamp !== undefined;
    const ordinal = ordinalOf(name, metadata.name);
    const isOwn = controller?.uid === uid;
    if (isOwn && (isLabelled || isDeleting)) {
      const written = { object, ordinal, createdFrom: createdFrom(object) };
      groups.members.push(memberOf(object, ordinal, changesFor(set, written)));
    } else {
      groups.others.set(metadata.name, isDeleting);
      if (isOwn) groups.released.push(object);
      else if ((metadata.ownerReferences ?? []).length === 0 && isLabelled && !isDeleting && ordinal !== undefined)
        groups.orphans.push(object);
    }
  }
  groups.members.sort((a, b) => inOrder(name, a.name, b.name));
  for (const objects of [groups.orphans, groups.released])
    objects.sort((a, b) => inOrder(name, a.metadata.name, b.metadata.name));
  return groups;
}

/** By ordinal: a cache has objects in the order of their last change, and the messages would change with each one. */
export function inOrder(set: string, a: string, b: string): number {
  const [first, second] = [ordinalOf(set, a), ordinalOf(set, b)];
  if (first !== undefined && second !== undefined) return first - second;
  if (first !== second) return first === undefined ? 1 : -1;
  return a < b ? -1 : 1;
}

/** Everything that the rules and the status need to know about a set at one moment. */
export interface Situation {
  set: VirtualServerSet;
  now: number;
  limits: Limits;
  members: readonly Member[];
  alive: readonly Member[];
  updated: readonly Member[];
  /** Also those whose change in place is not done. */
  outdated: readonly Member[];
  /** Have the template in their spec, and their servers do not yet. */
  changing: readonly Member[];
  /** Outdated members that get the template in place. */
  inPlace: ReadonlyMap<Member, MemberChange>;
  isAvailable: (member: Member) => boolean;
  unresolved: readonly Member[];
  blocked: readonly Member[];
  /** Changing members whose servers do not change until you act. */
  stuck: readonly Member[];
  /** Why no member can be ordered from the template, as far as the template alone tells. */
  refused: string | undefined;
  rolling: boolean;
  /** How many members are missing. */
  missing: number;
  /** Objects that are not members and have a name that the set could use. */
  taken: readonly string[];
  /** Those that are being deleted, so that the set can use the name later. */
  leaving: readonly string[];
  /** Free ordinals, lowest first. */
  free: readonly number[];
  victims: Victims;
  /** Only a new server brings the template to them. Empty unless members are replaced on their own. */
  replaced: readonly Member[];
  /** None while something stops the rollout. */
  changes: Changes;
  /** Until when the rollout waits after its last step (ms); undefined: it does not. */
  restsUntil: number | undefined;
}

export function situationOf(set: VirtualServerSet, { members, others }: Groups, now: number): Situation {
  const { spec, metadata } = set;
  const limits = limitsOf(spec);
  const revision = revisionOf(spec.template.spec);
  const minReadyMs = spec.minReadySeconds * 1000;
  const alive = members.filter(({ deleting }) => !deleting);
  // No server is replaced for what no order sends, such as spaces around a key.
  const isSame = (other: Ordered): boolean => orderDifference(other, spec.template.spec).length === 0;
  const earlier = (set.status?.revisions ?? []).filter((known) => isSame(known.spec));
  const hashes = new Set<string | undefined>([shortName(revision), ...earlier.map((known) => known.revision)]);
  const isOfRevision = (member: Member): boolean =>
    member.revision === revision || hashes.has(member.createdFrom) || isSame(member.object.spec);
  // Found once for each member: the sort of the victims asks many times.
  const current = alive.filter((member) => isOfRevision(member) && isSinceRestart(set, member.object));
  const updated = current.filter(({ changing }) => !changing);
  const done = new Set(updated);
  const isUpdated = (member: Member): boolean => done.has(member);
  // Another replica wrote the time by its own clock. Without a wait, no clock matters.
  const isAvailable = ({ readyAt }: Member): boolean =>
    readyAt !== undefined && (minReadyMs === 0 || readyAt + minReadyMs <= now);
  const outdated = alive.filter((member) => !isUpdated(member));
  const unresolved = members.filter((member) => member.unresolved !== undefined);
  const blocked = updated.filter((member) => member.blocked !== undefined);
  const rolling = spec.strategy.type === 'RollingUpdate' && outdated.length > 0;
  const refused = keysProblem(spec.template.spec);
  const changing = current.filter((member) => member.changing);
  const stuck = rolling ? changing.filter(needsYou) : [];
  const inPlace = new Map<Member, MemberChange>();
  for (const member of outdated) {
    const way = changing.includes(member) ? undefined : memberChangeOf(set, member);
    if (way !== undefined) inPlace.set(member, way);
  }
  const isToReplace = (member: Member): boolean =>
    !done.has(member) && !changing.includes(member) && !inPlace.has(member);
  const replaced = rolling ? outdated.filter(isToReplace) : [];
  const isStopped = unresolved.length > 0 || blocked.length > 0 || refused !== undefined;
  const stopped = isStopped || stuck.length > 0;
  // The change of a member may be about to stop its server.
  const isSteady = (member: Member): boolean => isAvailable(member) && !member.changing;
  const steps = {
    members: alive,
    isUpdated,
    isToReplace,
    isServing: isAvailable,
    isAvailable: isSteady,
    replacing: replaced.length > 0,
    stopped,
  };
  const { order } = spec.scaleDown;
  const victims = victimsOf(steps, limits, order);
  const restsUntil = rolling && inPlace.size > 0 ? restOf(set, updated, now) : undefined;
  const isQuiet = (member: Member): boolean => inPlace.get(member)?.isQuiet === true;
  const due = alive.filter((member) => inPlace.get(member)?.isDue === true);
  const busy = current.filter((member) => !isSteady(member)).length;
  const mayChange = rolling && !stopped && restsUntil === undefined;
  const names = new Set(members.map(({ name }) => name));
  const pool = Array.from({ length: poolOf(members, limits) }, (_, ordinal) => ordinal);
  const unused = pool.filter((ordinal) => !names.has(nameOf(metadata.name, ordinal)));
  const isTaken = (ordinal: number): boolean => others.has(nameOf(metadata.name, ordinal));
  const taken = unused.filter(isTaken).map((ordinal) => nameOf(metadata.name, ordinal));
  return {
    set,
    now,
    limits,
    members,
    alive,
    updated,
    outdated,
    changing,
    inPlace,
    isAvailable,
    unresolved,
    blocked,
    stuck,
    refused,
    rolling,
    missing: Math.max(0, limits.replicas - alive.length + (stuck.length > 0 ? 0 : replaced.length)),
    taken: taken.filter((name) => others.get(name) !== true),
    leaving: taken.filter((name) => others.get(name) === true),
    free: unused.filter((ordinal) => !isTaken(ordinal)),
    victims,
    replaced,
    changes: changesOf(mayChange ? due : [], steps, limits, { busy, gone: victims.chosen, order, isQuiet }),
    restsUntil,
  };
}

/** True if the template does not get into this member in place until you act. */
export const isObstructed = ([member, { obstacle, waits }]: readonly [Member, MemberChange]): boolean =>
  obstacle !== undefined || (waits === true && needsYou(member));

/** Whether the operator changes the server of this member only after you have acted. */
function needsYou({ change, mayStop }: Member): boolean {
  // The operator restarts the server if it may.
  if (change?.reason === 'RestartPending') return !mayStop;
  return change !== undefined && !hasTrait(change.reason, 'calm');
}

/** A server that runs on while it is changed stays Ready, so the time of its condition does not tell when it was changed. */
function restOf(
  { spec: { minReadySeconds }, metadata, status = {} }: VirtualServerSet,
  updated: readonly Member[],
  now: number,
): number | undefined {
  if (minReadySeconds === 0 || updated.length === 0) return undefined;
  const isSame = status.updatedReplicas === updated.length && status.observedGeneration === metadata.generation;
  const until = (isSame ? Math.min(Date.parse(status.lastProgressTime ?? ''), now) : now) + minReadySeconds * 1000;
  return until > now ? until : undefined;
}
