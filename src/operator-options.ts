/** What the operator is made of and told; all durations are in ms. */
import type { Informer, InformerHandler, Kube } from './kube/types.ts';
import type { Secrets } from './kube/secrets.ts';
import type { Logger } from './base/logger.ts';
import type { Provider } from './provider/types.ts';
import type { CatalogAccess } from './server-catalog/reconciler.ts';
import type { Instruments } from './controller/instruments.ts';
import type { Journal } from './virtual-server/journal/journal.ts';
import type { ReconcilerRooms } from './virtual-server/visit/reconciler.ts';
import type { Timers } from './base/timers.ts';

export interface OperatorOptions extends Pick<ReconcilerRooms, 'probe'> {
  kube: Kube;
  /** Makes the informer that tells `handler`; started and stopped by the operator. */
  informer: (handler: InformerHandler) => Informer;
  /** Left out: there are no ServerCatalogs. */
  catalogs?: CatalogAccess;
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
  /** Of every other request to the service. */
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
