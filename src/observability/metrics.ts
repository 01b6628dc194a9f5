/** The page of metrics: what the operator has counted, and gauges that are read when the page is requested. */
import { collectDefaultMetrics } from 'prom-client';
import type { MetricDefinition, Metrics, Sample } from '../base/metrics.ts';
import type { VirtualServerSet, VirtualServerSetStatus } from '../api/virtual-server-set.ts';
import type { LoopVitals } from '../controller/controller.ts';
import { limitsOf } from '../virtual-server-set/decision/limits.ts';
import { countFleet, countStandings, type FleetSummary, type Standing } from './fleet.ts';
import type { Page } from './page-server.ts';
import type { Vitals } from './vitals.ts';

/** The values that a page shows. */
export interface Observed {
  vitals: Vitals;
  leads: boolean;
  /** Current time in ms since the epoch. */
  now: number;
}

interface Seen extends Observed {
  version: string;
  fleet: FleetSummary;
}

interface GaugeDefinition extends MetricDefinition<string> {
  read: (seen: Seen) => readonly Sample[];
}

/** Sampling interval of the event loop (ms); prom-client's default of 10 wakes an idle process 100 times a second. */
const LOOP_PRECISION_MS = 100;
/** Gauges with a counter's name suffix, which promtool rejects. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Returns the function that renders the page. */
export function createMetricsPage(metrics: Metrics, version: string): (observed: Observed) => Promise<Page> {
  const { registry } = metrics;
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return async (observed) => {
    const fleet = countFleet(observed.vitals.objects(), observed.now);
    for (const gauge of GAUGES) metrics.show(gauge, gauge.read({ ...observed, version, fleet }));
    return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
  };
}

/** A value without labels. */
const value = (name: string, help: string, read: (seen: Seen) => number): GaugeDefinition => ({
  name,
  help,
  labels: [],
  read: (seen) => [{ labels: {}, value: read(seen) }],
});

const values = <L extends string>(
  name: string,
  help: string,
  labels: readonly L[],
  read: (seen: Seen) => readonly (Record<L, string> & { value: number })[],
): GaugeDefinition => ({
  name,
  help,
  labels,
  read: (seen) => read(seen).map(({ value, ...named }) => ({ labels: named as Record<string, string>, value })),
});

const ofLoops = (
  label: 'controller' | 'name',
  name: string,
  help: string,
  read: (loop: LoopVitals) => number,
): GaugeDefinition => ({
  name,
  help,
  labels: [label],
  read: ({ vitals }) =>
    Object.entries(vitals.loops).map(([loop, seen]) => ({ labels: { [label]: loop }, value: read(seen) })),
});

const standings = (name: string, help: string, read: (seen: Seen) => readonly Standing[]): GaugeDefinition =>
  values(name, help, ['ready', 'reason'], (seen) => [
    // Keeps the series present when there are no objects.
    { ready: 'True', reason: 'Available', value: 0 },
    ...read(seen).map(({ ready, reason, count }) => ({ ready, reason, value: count })),
  ]);

const ofNamespaces = (
  name: string,
  help: string,
  read: (namespace: { servers: number; price: number }) => number,
): GaugeDefinition =>
  values(name, help, ['object_namespace'], ({ fleet }) =>
    [...fleet.namespaces].map(([object_namespace, seen]) => ({ object_namespace, value: read(seen) })),
  );

/** By set, as kube-state-metrics does for Deployments: sets are few, and their members are never a label. */
const ofSets = (name: string, help: string, read: (set: VirtualServerSet) => number): GaugeDefinition =>
  values(name, help, ['object_namespace', 'set'], ({ vitals }) =>
    vitals.sets().map((set) => ({ ...namesOf(set), value: read(set) })),
  );

const namesOf = ({ metadata }: VirtualServerSet) => ({ object_namespace: metadata.namespace, set: metadata.name });

const MEMBER_STATES = {
  all: 'replicas',
  ready: 'readyReplicas',
  updated: 'updatedReplicas',
  available: 'availableReplicas',
  terminating: 'terminatingReplicas',
  unresolved: 'unresolvedReplicas',
} as const satisfies Record<string, keyof VirtualServerSetStatus>;

const GAUGES: readonly GaugeDefinition[] = [
  // Same names as in controller-runtime and client-go, so existing dashboards work.
  ofLoops('controller', 'controller_runtime_active_workers', 'Busy workers.', ({ busyForMs }) => busyForMs.length),
  ofLoops(
    'controller',
    'controller_runtime_max_concurrent_reconciles',
    'Maximum number of workers.',
    ({ maxWorkers }) => maxWorkers,
  ),
  ofLoops('name', 'workqueue_depth', 'Objects waiting for a worker.', ({ queued }) => queued),
  ofLoops(
    'name',
    'workqueue_unfinished_work_seconds',
    'How long busy workers have been processing their objects, in total.',
    ({ busyForMs }) => busyForMs.reduce((sum, ms) => sum + ms, 0) / 1000,
  ),
  ofLoops(
    'name',
    'workqueue_longest_running_processor_seconds',
    'The longest of these times. If it keeps growing, a worker is stuck.',
    ({ busyForMs }) => Math.max(0, ...busyForMs) / 1000,
  ),
  values('leader_election_master_status', 'Whether this process is the leader.', ['name'], ({ leads }) => [
    { name: 'vps-operator', value: leads ? 1 : 0 },
  ]),
  standings(
    'vps_operator_servers',
    'VirtualServers by the status of Ready and the current reason: of Stalled, else Reconciling, else Ready.',
    ({ fleet }) => fleet.servers,
  ),
  standings('vps_operator_catalogs', 'ServerCatalogs by the status of Ready and the current reason.', ({ vitals }) =>
    countStandings(vitals.catalogs()),
  ),
  standings('vps_operator_sets', 'VirtualServerSets by the status of Ready and the current reason.', ({ vitals }) =>
    countStandings(vitals.sets()),
  ),
  ofSets('vps_operator_set_spec_replicas', 'How many servers the VirtualServerSet wants.', ({ spec }) => spec.replicas),
  values(
    'vps_operator_set_status_replicas',
    'Members of the VirtualServerSet by state, as its status counts them.',
    ['object_namespace', 'set', 'state'],
    ({ vitals }) =>
      vitals.sets().flatMap((set) =>
        Object.entries(MEMBER_STATES).map(([state, field]) => ({
          ...namesOf(set),
          state,
          value: set.status?.[field] ?? 0,
        })),
      ),
  ),
  ofSets(
    'vps_operator_set_min_available',
    'How many members the VirtualServerSet keeps available: replicas less maxUnavailable.',
    ({ spec }) => limitsOf(spec).available,
  ),
  ofSets(
    'vps_operator_set_status_price',
    "Sum of the prices of the running members, in the provider's own unit.",
    ({ status }) => status?.price ?? 0,
  ),
  value(
    'vps_operator_servers_price',
    "Sum of the prices of all running servers, in the provider's own unit.",
    ({ fleet }) => fleet.price,
  ),
  ofNamespaces(
    'vps_operator_namespace_servers',
    'Running servers, by the namespace of their VirtualServers.',
    ({ servers }) => servers,
  ),
  ofNamespaces(
    'vps_operator_namespace_servers_price',
    "Sum of their prices, in the provider's own unit.",
    ({ price }) => price,
  ),
  value(
    'vps_operator_expiring_servers',
    'Servers that expire within a day, or that expired but may not be cancelled.',
    ({ fleet }) => fleet.expiring,
  ),
  value(
    'vps_operator_parked_creates',
    'VirtualServers whose order may have created a server that only you can find.',
    ({ fleet }) => fleet.parkedCreates,
  ),
  value(
    'vps_operator_orphaned_servers',
    'Servers that may exist without a VirtualServer, as named by OrphanedServer conditions.',
    ({ fleet }) => fleet.orphans,
  ),
  value(
    'vps_operator_deleting_servers',
    'VirtualServers that are being deleted and still have the finalizer.',
    ({ fleet }) => fleet.deleting,
  ),
  value(
    'vps_operator_oldest_deletion_seconds',
    'How long the oldest of them has been waiting; 0 if there is none.',
    ({ fleet }) => fleet.oldestDeletionMs / 1000,
  ),
  value(
    'vps_operator_poll_lag_seconds',
    'How late the most overdue check of a task or a server is; 0 if none is overdue.',
    ({ vitals }) => vitals.pollLagMs() / 1000,
  ),
  values(
    'vps_operator_interval_stretch_ratio',
    'Factor by which --provider-qps stretches the interval, in the namespace where the factor is largest; 1 means not at all.',
    ['interval'],
    ({ vitals }) => Object.entries(vitals.stretch()).map(([interval, factor]) => ({ interval, value: factor })),
  ),
  value(
    'vps_operator_journal_broken',
    '1 while the journal cannot be written: nothing is ordered until it can.',
    ({ vitals }) => (vitals.journalBroken ? 1 : 0),
  ),
  values('vps_operator_build_info', 'Always 1.', ['version'], ({ version }) => [{ version, value: 1 }]),
];
