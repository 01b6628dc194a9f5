/** Health data of a running operator. Values that take time to compute are functions. */
import type { ServerCatalog } from '../api/server-catalog.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import type { VirtualServerSet } from '../api/virtual-server-set.ts';
import type { LoopVitals } from '../controller/controller.ts';
import type { Withheld } from '../controller/observer.ts';
import type { OrdersGo } from '../provider/types.ts';

/** All durations are in ms. */
export interface Vitals {
  /** `idle` means not started, for example a standby. */
  phase: 'idle' | 'syncing' | 'running' | 'stopping';
  /** Every object in the cache. */
  objects: () => readonly VirtualServer[];
  catalogs: () => readonly ServerCatalog[];
  sets: () => readonly VirtualServerSet[];
  /** Loops by the name of their controller. */
  loops: Readonly<Record<string, LoopVitals>>;
  /** If all workers of a loop are busy and make no progress for this long, they are stuck. */
  longestStepMs: number;
  pollLagMs: () => number;
  /** The largest factors by which intervals are stretched in any namespace; 1 means not stretched. */
  stretch: () => { poll: number; resync: number };
  journalBroken: boolean;
  /** What an operator that only observes would do, by action; undefined for any other operator. */
  withheld?: Readonly<Record<Withheld, number>> | undefined;
  /** How many accounts there are by the way of their orders. */
  ordersGo: () => Readonly<Record<OrdersGo, number>>;
}
