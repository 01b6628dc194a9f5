/** The operator's dependencies and settings; all durations are in ms. */
import type { ServerCatalog } from './api/server-catalog.ts';
import type { Logger } from './base/logger.ts';
import type { Metrics } from './base/metrics.ts';
import type { Timers } from './base/timers.ts';
import type { VirtualServer } from './api/virtual-server.ts';
import type { VirtualServerSet } from './api/virtual-server-set.ts';
import type { Client } from './kube/client.ts';
import type { Informer } from './controller/informer.ts';
import type { Kube } from './virtual-server/kube.ts';
import type { Secrets } from './kube/kinds.ts';
import type { Provider } from './provider/types.ts';
import type { Journal } from './virtual-server/journal/journal.ts';
import type { VisitServices } from './virtual-server/visit.ts';
import type { Members } from './virtual-server-set/members.ts';

export interface OperatorOptions extends Pick<VisitServices, 'probe'> {
  kube: Kube;
  /** The informer of VirtualServers; the operator starts and stops it. */
  servers: Informer<VirtualServer>;
  /** Without it, the operator ignores ServerCatalogs. */
  catalogs?: { informer: Informer<ServerCatalog>; client: Pick<Client<ServerCatalog>, 'writeStatus'> };
  /** Without it, the operator ignores VirtualServerSets. */
  sets?: {
    informer: Informer<VirtualServerSet>;
    client: Pick<Client<VirtualServerSet>, 'get' | 'writeStatus'>;
    members: Members;
  };
  /** Without it, the operator writes no connection Secrets. */
  secrets?: Secrets;
  provider: Provider;
  journal: Journal;
  log: Logger;
  pollIntervalMs: number;
  resyncIntervalMs: number;
  maxConcurrentReconciles: number;
  providerQps: number;
  /** Maximum orders per namespace and hour; 0 means no limit. */
  maxCreatesPerHour: number;
  /** 0 means no limit. */
  maxServersPerNamespace: number;
  createTimeoutMs: number;
  /** Timeout of every other provider request. */
  providerTimeoutMs: number;
  kubeTimeoutMs: number;
  takeoverGraceMs: number;
  /** How long the provider must answer 404 for a server before it counts as gone. */
  absenceGraceMs: number;
  /** True while no other process can be the leader; always true without leader election. */
  leads?: () => boolean;
  /** How long another process may keep working after its last lease renewal (ms); 0 without leader election. */
  leaseDurationMs?: number;
  operatorNamespace: string | undefined;
  timers?: Timers;
  metrics?: Metrics;
  /** Creates the name of an attempt; random by default. */
  mint?: () => string;
}
