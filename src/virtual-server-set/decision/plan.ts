/** Decides the next step of a set: what to create, delete and change, and what its status shows. Pure. */
import { SET_LABEL } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet, VirtualServerSetStatus } from '../../api/virtual-server-set.ts';
import type { Rejection, SetAction, Version } from './action.ts';
import { limitsOf, nameOf, ordinalOf, poolOf, slotsOf, type Limits } from './limits.ts';
import { memberOf, type Member } from './member.ts';
import { revisionOf, shortName } from './revision.ts';
import { statusOf } from './status.ts';
import { changesFor, manifestOf } from './template.ts';
import { victimsOf, type Victims } from './victims.ts';

/** The VirtualServers of the set's namespace; `live`: listed at the API server for this step, not from a cache. */
export interface Surroundings {
  objects: readonly VirtualServer[];
  live: boolean;
}

export interface Plan {
  /** List the objects at the API server, and plan again: there is something to do that no cache may decide. */
  look: boolean;
  /** In this order. */
  actions: SetAction[];
  status: VirtualServerSetStatus;
  /** When to look again even if nothing changes (ms). */
  afterMs?: number;
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
  rejection: Rejection | undefined;
}

/** How many creates and DELETEs a step has at most. */
const STEP = 100;

/** `rejection`: what the API server answered to this plan, for the status. */
export function planSet(set: VirtualServerSet, seen: Surroundings, now: number, rejection?: Rejection): Plan {
  const groups = groupsOf(set, seen.objects);
  const situation = situationOf(set, groups, now, rejection);
  const isIdle = set.metadata.deletionTimestamp !== undefined || set.spec.paused;
  const { quiet, weighty } = isIdle ? { quiet: [], weighty: [] } : actionsOf(situation, groups);
  const look = weighty.length > 0 && !seen.live;
  return { look, actions: look ? quiet : [...quiet, ...weighty], ...statusOf(situation) };
}

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
  groups.orphans.sort((a, b) => (ordinalOf(name, a.metadata.name) ?? 0) - (ordinalOf(name, b.metadata.name) ?? 0));
  return groups;
}

export function situationOf(
  set: VirtualServerSet,
  { members, others }: Groups,
  now: number,
  rejection?: Rejection,
): Situation {
  const { spec, metadata } = set;
  const limits = limitsOf(spec);
  const revision = revisionOf(spec.template.spec);
  const minReadyMs = spec.minReadySeconds * 1000;
  const alive = members.filter(({ deleting }) => !deleting);
  const isUpdated = (member: Member): boolean =>
    member.revision === revision || member.createdFrom === shortName(revision);
  // Another replica wrote the time by its own clock. Without a wait, no clock matters.
  const isAvailable = ({ readyAt }: Member): boolean =>
    readyAt !== undefined && (minReadyMs === 0 || readyAt + minReadyMs <= now);
  const [updated, outdated] = [alive.filter(isUpdated), alive.filter((member) => !isUpdated(member))];
  const unresolved = members.filter((member) => member.unresolved !== undefined);
  const blocked = updated.filter((member) => member.blocked !== undefined);
  const rolling = spec.strategy.type === 'RollingUpdate' && outdated.length > 0;
  const stopped = unresolved.length > 0 || blocked.length > 0;
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
    rolling,
    missing: Math.max(0, limits.replicas - (rolling ? updated : alive).length),
    taken: taken.filter((name) => others.get(name) !== true),
    leaving: taken.filter((name) => others.get(name) === true),
    free: unused.filter((ordinal) => !isTaken(ordinal)),
    rejection,
    victims: victimsOf({ members: alive, isUpdated, isAvailable, rolling, stopped }, limits, spec.scaleDown.order),
  };
}

/** `quiet` actions are safe at any time, because they name a version. `weighty` ones may cost a server, or order one. */
function actionsOf(
  { set, limits, members, alive, unresolved, blocked, missing, free, victims }: Situation,
  { orphans, released }: Groups,
): { quiet: SetAction[]; weighty: SetAction[] } {
  const quiet: SetAction[] = released.map((object) => ({ type: 'release', ...versionOf(object) }));
  for (const member of alive) {
    const patch = changesFor(set, member);
    if (patch !== undefined) quiet.push({ type: 'update', patch, ...versionOf(member.object) });
  }
  const adopted = orphans.slice(0, Math.max(0, limits.replicas - slotsOf(members)));
  // The next step counts them.
  if (adopted.length > 0) return { quiet, weighty: adopted.map((object) => ({ type: 'adopt', ...versionOf(object) })) };
  const isStopped = unresolved.length > 0 || blocked.length > 0;
  const created = free.slice(0, isStopped ? 0 : missing);
  const weighty: SetAction[] = [
    ...victims.chosen.map(({ object }) => ({ type: 'delete' as const, ...versionOf(object) })),
    ...created.map((ordinal) => ({ type: 'create' as const, manifest: manifestOf(set, ordinal) })),
  ];
  return { quiet, weighty: weighty.slice(0, STEP) };
}

function versionOf({ metadata: { name, uid, resourceVersion } }: VirtualServer): Version {
  return { name, uid, resourceVersion };
}
