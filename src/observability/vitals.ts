/** What can be seen of a running operator from outside. What takes time is a function. */
import type { ServerCatalog } from '../api/server-catalog.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import type { LoopVitals } from '../controller/vitals.ts';

/** All durations are in ms. */
export interface Vitals {
  /** `idle`: not started, as a standby is. */
  phase: 'idle' | 'syncing' | 'running' | 'stopping';
  /** Every object in the cache. */
  objects: () => readonly VirtualServer[];
  catalogs: () => readonly ServerCatalog[];
  /** By the name of their controller. */
  loops: Readonly<Record<string, LoopVitals>>;
  /** Workers of a loop that are all busy and make no progress for so long are stuck. */
  longestStepMs: number;
  pollLagMs: () => number;
  /** By how much the intervals are stretched in the namespaces where they are stretched most; 1: not at all. */
  stretch: () => { poll: number; resync: number };
  journalBroken: boolean;
}
