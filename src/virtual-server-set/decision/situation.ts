/** What a set has at one moment, what it lacks, and what it has too much of. Pure. */
import { SET_LABEL } from '../../api/names.ts';
import { keysProblem } from '../../api/public-key.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import { limitsOf, poolOf, victimsOf, type Limits, type Victims } from './limits.ts';
import { memberOf, type Member } from './member.ts';
import { isSinceRestart, nameOf, ordinalOf, revisionOf, shortName } from './template.ts';

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
    if (isOwn && (isLabelled || isDeleting)) groups.members.push(memberOf(object, ordinal));
    else {
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
  outdated: readonly Member[];
  isAvailable: (member: Member) => boolean;
  unresolved: readonly Member[];
  blocked: readonly Member[];
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
}

export function situationOf(set: VirtualServerSet, { members, others }: Groups, now: number): Situation {
  const { spec, metadata } = set;
  const limits = limitsOf(spec);
  const revision = revisionOf(spec.template.spec);
  const minReadyMs = spec.minReadySeconds * 1000;
  const alive = members.filter(({ deleting }) => !deleting);
  const hash = shortName(revision);
  const isOfRevision = (member: Member): boolean => member.revision === revision || member.createdFrom === hash;
  // Found once for each member: the sort of the victims asks many times.
  const updated = alive.filter((member) => isOfRevision(member) && isSinceRestart(set, member.object));
  const current = new Set(updated);
  const isUpdated = (member: Member): boolean => current.has(member);
  // Another replica wrote the time by its own clock. Without a wait, no clock matters.
  const isAvailable = ({ readyAt }: Member): boolean =>
    readyAt !== undefined && (minReadyMs === 0 || readyAt + minReadyMs <= now);
  const outdated = alive.filter((member) => !isUpdated(member));
  const unresolved = members.filter((member) => member.unresolved !== undefined);
  const blocked = updated.filter((member) => member.blocked !== undefined);
  const rolling = spec.strategy.type === 'RollingUpdate' && outdated.length > 0;
  const refused = keysProblem(spec.template.spec);
  const stopped = unresolved.length > 0 || blocked.length > 0 || refused !== undefined;
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
    isAvailable,
    unresolved,
    blocked,
    refused,
    rolling,
    missing: Math.max(0, limits.replicas - (rolling ? updated : alive).length),
    taken: taken.filter((name) => others.get(name) !== true),
    leaving: taken.filter((name) => others.get(name) === true),
    free: unused.filter((ordinal) => !isTaken(ordinal)),
    victims: victimsOf({ members: alive, isUpdated, isAvailable, rolling, stopped }, limits, spec.scaleDown.order),
  };
}
