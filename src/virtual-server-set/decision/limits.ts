/** How many servers a set may have, and the names that keep this promise. Pure. */
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

/** The ordinal in a name that the set gives; undefined for any other name. */
export function ordinalOf(set: string, name: string): number | undefined {
  const digits = name.startsWith(`${set}-`) ? name.slice(set.length + 1) : '';
  return /^(0|[1-9][0-9]{0,4})$/.test(digits) ? Number(digits) : undefined;
}

/** The name of the set that would give this name; undefined if none would. */
export function setOf(name: string): string | undefined {
  const set = name.slice(0, name.lastIndexOf('-'));
  return ordinalOf(set, name) === undefined ? undefined : set;
}

export const nameOf = (set: string, ordinal: number): string => `${set}-${ordinal}`;
