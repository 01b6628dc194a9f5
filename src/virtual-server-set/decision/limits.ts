/** How many servers a set may have, which names keep this promise, and which members have to go. Pure. */
import type { VirtualServerSetSpec } from '../../api/virtual-server-set.ts';
import type { Member } from './member.ts';

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
  isAvailable: (member: Member) => boolean;
  /** A rollout is under way. */
  rolling: boolean;
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
  const { members, isUpdated, isAvailable, rolling, stopped } = alive;
  const result: Victims = { chosen: [], postponed: [], kept: [] };
  let available = members.filter(isAvailable).length;
  const take = (candidates: readonly Member[], count: number, others: 'wait' | 'insteadOfPostponed'): void => {
    let left = count;
    for (const member of [...candidates].sort((a, b) => compare(a, b, alive, order))) {
      if (left <= 0) break;
      const isPostponed = member.kept === undefined && isAvailable(member) && available <= limits.available;
      if (isPostponed) result.postponed.push(member);
      else if (member.kept !== undefined) result.kept.push(member);
      else {
        result.chosen.push(member);
        if (isAvailable(member)) available -= 1;
      }
      if (!isPostponed || others === 'wait') left -= 1;
    }
  };
  const updated = members.filter(isUpdated);
  if (!rolling) take(members, members.length - limits.replicas, 'wait');
  else if (stopped) take(members, members.length - (limits.replicas === 0 ? 0 : limits.servers), 'wait');
  else {
    take(updated, updated.length - limits.replicas, 'wait');
    const outdated = members.filter((member) => !isUpdated(member));
    const left = updated.filter((member) => !result.chosen.includes(member));
    // A template that makes no member available must not cost more than these.
    const unavailable = left.filter((member) => !isAvailable(member)).length;
    // All of them are deleted in the end, so one that has to wait must not delay the others.
    take(outdated, outdated.length + left.length - limits.available - unavailable, 'insteadOfPostponed');
  }
  return result;
}

/** A total order: two processes choose the same members. */
function compare(a: Member, b: Member, alive: Alive, order: VirtualServerSetSpec['scaleDown']['order']): number {
  const rules: ((member: Member) => boolean)[] = [
    ({ kept }) => kept === undefined,
    ({ deleteFirst }) => deleteFirst,
    (member) => !alive.isAvailable(member),
    (member) => !alive.isUpdated(member),
  ];
  for (const rule of rules) if (rule(a) !== rule(b)) return rule(a) ? -1 : 1;
  const older =
    a.createdAt - b.createdAt || (a.ordinal ?? Infinity) - (b.ordinal ?? Infinity) || (a.name < b.name ? -1 : 1);
  return order === 'Oldest' ? older : -older;
}
