/** Counts the VirtualServers from the cache on every call, so no number can drift. Pure. */
import { currentReason } from '../controller/conditions.ts';
import { REASONS, SET_REASONS, hasTrait } from '../api/conditions.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import type { Condition } from '../api/meta.ts';
import { hasRunningServer, isLetGo } from '../api/server-state.ts';

/** The number of objects of one kind with the same Ready status and reason. */
export interface Standing {
  ready: string;
  reason: string;
  count: number;
}

export interface FleetSummary {
  servers: Standing[];
  price: number;
  /** Running servers and their price by namespace. */
  namespaces: Map<string, { servers: number; price: number }>;
  /** Servers that expire within a day. */
  expiring: number;
  parkedCreates: number;
  orphans: number;
  deleting: number;
  /** Age of the oldest pending deletion (ms); 0 if there is none. */
  oldestDeletionMs: number;
}

interface WithConditions {
  status?: { conditions?: Condition[] | undefined };
}

const KNOWN: ReadonlySet<string> = new Set([...Object.keys(REASONS), ...Object.keys(SET_REASONS)]);
const READY: ReadonlySet<string> = new Set(['True', 'False', 'Unknown']);

/** `now` is in ms since the epoch. */
export function countFleet(objects: readonly VirtualServer[], now: number): FleetSummary {
  const fleet: FleetSummary = {
    servers: countStandings(objects),
    price: 0,
    namespaces: new Map(),
    expiring: 0,
    parkedCreates: 0,
    orphans: 0,
    deleting: 0,
    oldestDeletionMs: 0,
  };
  for (const object of objects) {
    const { reason } = standing(object);
    if (hasTrait(reason, 'orderParked')) fleet.parkedCreates += 1;
    if (hasRunningServer(object)) addRunning(fleet, object);
    if (object.status?.conditions?.some(({ type }) => type === 'Expiring') === true) fleet.expiring += 1;
    fleet.orphans += orphansOf(object);
    const deletingMs = deletingFor(object, now);
    if (deletingMs === undefined) continue;
    fleet.deleting += 1;
    fleet.oldestDeletionMs = Math.max(fleet.oldestDeletionMs, deletingMs);
  }
  return fleet;
}

/** The combinations that occur, in order of first occurrence. */
export function countStandings(objects: readonly WithConditions[]): Standing[] {
  const counts = new Map<string, Standing>();
  for (const object of objects) {
    const { ready, reason } = standing(object);
    const entry = counts.get(`${ready} ${reason}`) ?? { ready, reason, count: 0 };
    entry.count += 1;
    counts.set(`${ready} ${reason}`, entry);
  }
  return [...counts.values()];
}

/** An object without conditions has not been visited yet, so it counts as Pending. */
function standing({ status }: WithConditions): { ready: string; reason: string } {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
  const reason = currentReason(status?.conditions) ?? 'Pending';
  return { ready: READY.has(ready) ? ready : 'Unknown', reason: KNOWN.has(reason) ? reason : 'Other' };
}

/** The period and currency of the price are unknown. A server without a price adds 0. */
function addRunning(fleet: FleetSummary, { metadata, status }: VirtualServer): void {
  const price: unknown = status?.price;
  const known = typeof price === 'number' && Number.isFinite(price) ? price : 0;
  const total = fleet.namespaces.get(metadata.namespace) ?? { servers: 0, price: 0 };
  fleet.price += known;
  fleet.namespaces.set(metadata.namespace, { servers: total.servers + 1, price: total.price + known });
}

/** A record that was copied together with its object lists orphans of the original object, so they do not count. */
function orphansOf({ metadata, status }: VirtualServer): number {
  const { owner, orphans } = status?.record ?? {};
  return owner === metadata.uid ? (orphans?.length ?? 0) : 0;
}

function deletingFor(object: VirtualServer, now: number): number | undefined {
  const { deletionTimestamp } = object.metadata;
  if (deletionTimestamp === undefined || isLetGo(object)) return undefined;
  const since = Date.parse(deletionTimestamp);
  return Number.isFinite(since) ? Math.max(0, now - since) : 0;
}
