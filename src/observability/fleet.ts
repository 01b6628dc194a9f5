/** The VirtualServers in numbers, counted anew from the cache each time, so that no number can drift. Pure. */
import { currentReason } from '../controller/conditions.ts';
import { REASONS, hasTrait } from '../api/conditions.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import type { Condition } from '../api/meta.ts';
import { hasRunningServer, isLetGo } from '../virtual-server/decision/running.ts';

/** Objects of one kind with the same status of Ready and the same reason. */
export interface Standing {
  ready: string;
  reason: string;
  count: number;
}

interface FleetSummary {
  servers: Standing[];
  price: number;
  /** Running servers and their price by namespace. */
  namespaces: Map<string, { servers: number; price: number }>;
  /** Servers whose end is less than a day away. */
  expiring: number;
  parkedCreates: number;
  orphans: number;
  deleting: number;
  /** ms; 0 when nothing is being deleted. */
  oldestDeletionMs: number;
}

interface Standee {
  status?: { conditions?: Condition[] | undefined };
}

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

/** Only those that there are, in the order in which they are met. */
export function countStandings(objects: readonly Standee[]): Standing[] {
  const counts = new Map<string, Standing>();
  for (const object of objects) {
    const { ready, reason } = standing(object);
    const entry = counts.get(`${ready} ${reason}`) ?? { ready, reason, count: 0 };
    entry.count += 1;
    counts.set(`${ready} ${reason}`, entry);
  }
  return [...counts.values()];
}

/** Nobody has looked yet at an object without conditions. */
function standing({ status }: Standee): { ready: string; reason: string } {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
  const reason = currentReason(status?.conditions) ?? 'Pending';
  return { ready: READY.has(ready) ? ready : 'Unknown', reason: Object.hasOwn(REASONS, reason) ? reason : 'Other' };
}

/** Whether the price is per hour or per month, and in what, is not known; a server without one adds nothing. */
function addRunning(fleet: FleetSummary, { metadata, status }: VirtualServer): void {
  const price: unknown = status?.price;
  const known = typeof price === 'number' && Number.isFinite(price) ? price : 0;
  const total = fleet.namespaces.get(metadata.namespace) ?? { servers: 0, price: 0 };
  fleet.price += known;
  fleet.namespaces.set(metadata.namespace, { servers: total.servers + 1, price: total.price + known });
}

/** Those of a record that was copied along with its object belong to the other one. */
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
