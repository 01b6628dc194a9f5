/** How long a server usually takes from its order until it is first ready, by other servers of the same product. Pure. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { usualMs } from '../virtual-server/decision/next-poll.ts';
import { knownRecord } from '../virtual-server/decision/known-record.ts';
import { conditionOf } from './readiness.ts';

/** The median (ms); undefined if no other server of this product tells. */
export function usualReadyMs({ metadata, spec }: VirtualServer, all: readonly VirtualServer[]): number | undefined {
  const others = all.filter((other) => other.metadata.uid !== metadata.uid && other.spec.product === spec.product);
  return usualMs(others.flatMap(readyMs).sort((a, b) => a - b));
}

/** A longer time includes an outage of the server, or your own work: Ready shows only when it became True the last time. */
const LONGEST_MS = 60 * 60_000;

function readyMs(object: VirtualServer): number[] {
  const { mode, attemptedAt, readyAt } = knownRecord(object) ?? {};
  const ready = conditionOf(object, 'Ready');
  const since = readyAt ?? (ready?.status === 'True' ? ready.lastTransitionTime : undefined);
  if (mode === 'adopt' || attemptedAt === undefined || since === undefined) return [];
  const ms = Date.parse(since) - Date.parse(attemptedAt);
  return ms > 0 && ms <= LONGEST_MS ? [ms] : [];
}
