/** What the operator is made of and told; all durations are in ms. */
import type { ServerCatalog } from './api/server-catalog.ts';
import type { Logger } from './base/logger.ts';
import type { Timers } from './base/timers.ts';
import type { LoopInstruments } from './controller/instruments.ts';
import type { VirtualServer } from './api/virtual-server.ts';
import type { Client } from './kube/client.ts';
import type { Informer } from './kube/types.ts';
import type { Kube } from './virtual-server/kube.ts';
import type { Secrets } from './kube/secrets.ts';
import type { Provider } from './provider/types.ts';
import type { ServerInstruments } from './virtual-server/instruments.ts';
import type { Journal } from './virtual-server/journal/journal.ts';
import type { VisitRooms } from './virtual-server/visit/visits.ts';

/** Every method returns at once and never throws. */
export interface Instruments extends ServerInstruments {
  /** Those of the controller of this name. */
  loop(name: string): LoopInstruments;
}

export interface OperatorOptions extends Pick<VisitRooms, 'probe'> {
  kube: Kube;
  /** Of VirtualServers; started and stopped by the operator. */
  servers: Informer<VirtualServer>;
  /** Left out: there are no ServerCatalogs. */
  catalogs?: { informer: Informer<ServerCatalog>; client: Pick<Client<ServerCatalog>, 'writeStatus'> };
  /** Left out: no connection Secret is written. */
  secrets?: Secrets;
  provider: Provider;
  journal: Journal;
  log: Logger;
  pollIntervalMs: number;
  resyncIntervalMs: number;
  maxConcurrentReconciles: number;
  providerQps: number;
  /** Per namespace; 0: no limit. */
  maxCreatesPerHour: number;
  /** 0: no limit. */
  maxServersPerNamespace: number;
  createTimeoutMs: number;
  /** Of every other request to the provider. */
  providerTimeoutMs: number;
  kubeTimeoutMs: number;
  takeoverGraceMs: number;
  /** How long the provider has to deny a server until it counts as gone. */
  absenceGraceMs: number;
  /** True while no other process can be the active one; always, where there is no leader election. */
  leads?: () => boolean;
  /** How long another process may go on after its last sign of life (ms); 0 without leader election. */
  leaseDurationMs?: number;
  operatorNamespace: string | undefined;
  timers?: Timers;
  instruments?: Instruments;
  /** Names an attempt; random if left out. */
  mint?: () => string;
}
