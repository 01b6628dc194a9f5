/** What can be seen of a running operator from outside: probes and metrics are made of it. What takes time is a function. */
import { FINALIZER } from '../api/names.ts';
import type { ServerCatalog } from '../api/server-catalog.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { isPaused } from '../virtual-server/decision/inputs.ts';
import type { Memo } from '../virtual-server/decision/types.ts';
import type { LoopName } from './instruments.ts';

/** All durations are in ms. */
export interface LoopVitals {
  /** Keys that wait for a worker. */
  queued: number;
  /** For how long each busy worker has had its key. */
  busyForMs: readonly number[];
  maxWorkers: number;
  /** Since a worker last ended a step. */
  progressAgeMs: number;
}

/** All durations are in ms. */
export interface Vitals {
  /** `idle`: not started, as a standby is. */
  phase: 'idle' | 'syncing' | 'running' | 'stopping';
  /** Every object in the cache. */
  objects: () => readonly VirtualServer[];
  catalogs: () => readonly ServerCatalog[];
  /** That of catalogs is missing where there are none. */
  loops: Partial<Record<LoopName, LoopVitals>>;
  /** Workers of a loop that are all busy and make no progress for so long are stuck. */
  longestStepMs: number;
  /** Since the most silent reflector last showed a sign of life; a failure is one. */
  informerSilentMs: number;
  pollLagMs: () => number;
  /** By how much the intervals are stretched in the namespaces where they are stretched most; 1: not at all. */
  stretch: () => { poll: number; resync: number };
  journalBroken: boolean;
}

/** How late the most overdue look at a task or a server is (ms); 0 when none is. `now` is in ms since the epoch. */
export function pollLagMs(objects: readonly VirtualServer[], memo: (uid: string) => Memo, now: number): number {
  let lag = 0;
  for (const object of objects) {
    const { next } = memo(object.metadata.uid);
    if (next?.action !== 'pollTask' && next?.action !== 'readServer') continue;
    if (now - next.at > lag && !isLeftAlone(object)) lag = now - next.at;
  }
  return lag;
}

/** Nothing is due for it: it is paused, or only somebody else's finalizer still holds it. */
function isLeftAlone(object: VirtualServer): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  return isPaused(object) || (deletionTimestamp !== undefined && finalizers?.includes(FINALIZER) !== true);
}
