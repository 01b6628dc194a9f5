/** How many servers a set may have, which names keep this promise, and which members have to go. Pure. */
import type { VirtualServerSetSpec } from '../../api/virtual-server-set.ts';
import { isKeptByYou, type Member } from './member.ts';

export interface Limits {
  /** How many members are wanted. */
  replicas: number;
  /** How many servers may exist, or may be about to. */
  servers: number;
  /** The set leaves at least this many members available. */
  available: number;
}

/** Rounds as Deployments do, and lets a rollout proceed if both percentages come to 0. */
export function limitsOf({ replicas, strategy: { rollingUpdate } }: VirtualServerSetSpec): Limits {
  const surge = Math.ceil(part(rollingUpdate.maxSurge, replicas));
  const unavailable = Math.floor(part(rollingUpdate.maxUnavailable, replicas));
  const isStuck = surge === 0 && unavailable === 0;
  return { replicas, servers: replicas + surge, available: Math.max(0, replicas - (isStuck ? 1 : unavailable)) };
}

function part(amount: number | string, of: number): number {
  return typeof amount === 'number' ? amount : (Number.parseInt(amount, 10) * of) / 100;
}

export const slotsOf = (members: readonly Member[]): number => members.reduce((sum, { slots }) => sum + slots, 0);

/**
 * How many ordinals, from 0, may be created: the largest number that, with all slots outside of these names, stays within
 * the limit. So every free name may be created without counting, and the API server refuses a name that is taken.
 */
export function poolOf(members: readonly Member[], { servers }: Limits): number {
  const ordinals = new Set(members.map(({ ordinal }) => ordinal));
  const inside = [...ordinals].filter((ordinal) => ordinal !== undefined && ordinal < servers).length;
  let outside = slotsOf(members) - inside;
  let pool = servers;
  for (; pool > 0 && pool + outside > servers; pool -= 1) if (ordinals.has(pool - 1)) outside += 1;
  return pool;
}

/** The members that are not being deleted, as the rules see them. */
export interface Alive {
  members: readonly Member[];
  isUpdated: (member: Member) => boolean;
  /** Only a new server brings the template to it. */
  isToReplace: (member: Member) => boolean;
  /** Its users have its server now; a change may be about to stop it. */
  isServing: (member: Member) => boolean;
  /** It serves, and no change may be about to stop its server. */
  isAvailable: (member: Member) => boolean;
  /** A rollout is replacing members. */
  replacing: boolean;
  /** Something stops the rollout. */
  stopped: boolean;
}

export interface Victims {
  chosen: Member[];
  /** To be deleted when enough members are available. */
  postponed: Member[];
  /** To be deleted, but the set must not. */
  kept: Member[];
}

export function victimsOf(alive: Alive, limits: Limits, order: VirtualServerSetSpec['scaleDown']['order']): Victims {
  const { members, isToReplace, isServing, isAvailable, replacing, stopped } = alive;
  const result: Victims = { chosen: [], postponed: [], kept: [] };
  let available = members.filter(isAvailable).length;
  let serving = members.filter(isServing).length;
  // A member whose change is pending may count for nothing, and its users lose a server all the same.
  const isNeeded = (member: Member): boolean =>
    (isAvailable(member) && available <= limits.available) || (isServing(member) && serving <= limits.available);
  const take = (candidates: readonly Member[], count: number, others: 'wait' | 'insteadOfPostponed'): void => {
    let left = count;
    for (const member of [...candidates].sort((a, b) => compare(a, b, alive, order))) {
      if (left <= 0) break;
      const isPostponed = member.kept === undefined && isNeeded(member);
      if (isPostponed) result.postponed.push(member);
      else if (member.kept !== undefined) result.kept.push(member);
      else {
        result.chosen.push(member);
        if (isAvailable(member)) available -= 1;
        if (isServing(member)) serving -= 1;
      }
      if (!isPostponed || others === 'wait') left -= 1;
    }
  };
  const staying = members.filter((member) => !isToReplace(member));
  if (!replacing) take(members, members.length - limits.replicas, 'wait');
  else if (stopped) take(members, members.length - (limits.replicas === 0 ? 0 : limits.servers), 'wait');
  else {
    take(staying, staying.length - limits.replicas, 'wait');
    const outdated = members.filter(isToReplace);
    const left = staying.filter((member) => !result.chosen.includes(member));
    // A template that makes no member available must not cost more than these.
    const unavailable = left.filter((member) => !isAvailable(member)).length;
    // All of them are deleted in the end, so one that has to wait must not delay the others.
    take(outdated, outdated.length + left.length - limits.available - unavailable, 'insteadOfPostponed');
  }
  return result;
}

/** A total order: two processes choose the same members. */
function compare(
  a: Member,
  b: Member,
  alive: Pick<Alive, 'isUpdated' | 'isServing' | 'isAvailable'>,
  order: VirtualServerSetSpec['scaleDown']['order'],
): number {
  const rules: ((member: Member) => boolean)[] = [
    (member) => !isKeptByYou(member),
    ({ deleteFirst }) => deleteFirst,
    (member) => !alive.isServing(member),
    (member) => !alive.isAvailable(member),
    (member) => !alive.isUpdated(member),
  ];
  for (const rule of rules) if (rule(a) !== rule(b)) return rule(a) ? -1 : 1;
  const older =
    a.createdAt - b.createdAt || (a.ordinal ?? Infinity) - (b.ordinal ?? Infinity) || (a.name < b.name ? -1 : 1);
  return order === 'Oldest' ? older : -older;
}

/** The next members to change in place, and those that wait until more members are available. */
export interface Changes {
  chosen: Member[];
  postponed: Member[];
}

/**
 * At most `maxUnavailable` members are changed at a time, or one if that is 0. `busy`: how many members with the template are
 * not available again. Members that the step deletes are neither changed nor available anymore.
 */
export function changesOf(
  candidates: readonly Member[],
  alive: Alive,
  limits: Limits,
  {
    busy,
    gone,
    order,
    isQuiet,
  }: {
    busy: number;
    gone: readonly Member[];
    order: VirtualServerSetSpec['scaleDown']['order'];
    /** Whether the member's change sends nothing to its server. */
    isQuiet: (member: Member) => boolean;
  },
): Changes {
  const result: Changes = { chosen: [], postponed: [] };
  let available = alive.members.filter((member) => alive.isAvailable(member) && !gone.includes(member)).length;
  let left = Math.max(1, limits.replicas - limits.available) - busy;
  for (const member of [...candidates].sort((a, b) => compare(a, b, alive, order))) {
    if (left <= 0) break;
    if (gone.includes(member)) continue;
    const stops = member.mayStop && !isQuiet(member) && alive.isAvailable(member);
    if (stops && available <= limits.available) {
      result.postponed.push(member);
      continue;
    }
    result.chosen.push(member);
    if (stops) available -= 1;
    left -= 1;
  }
  return result;
}
