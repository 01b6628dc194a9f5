/** The page of metrics: what the operator has counted, and gauges that are read when the page is requested. */
import { openReason } from '../api/open.ts';
import { mirrorIn, type ServerRecord } from '../api/record.ts';
import { currentReason, REASONS, SET_REASONS } from '../api/conditions.ts';
import type { ServerCatalog } from '../api/server-catalog.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import type { Condition } from '../api/meta.ts';
import { isPaidFor, isLetGo } from '../api/server-state.ts';
import { collectDefaultMetrics } from 'prom-client';
import type { MetricDefinition, Metrics, Sample } from '../base/metrics.ts';
import type { VirtualServerSet, VirtualServerSetStatus } from '../api/virtual-server-set.ts';
import type { LoopVitals } from '../controller/controller.ts';
import { WITHHELD } from '../controller/observer.ts';
import { limitsOf } from '../virtual-server-set/decision/limits.ts';
import type { Page } from './page-server.ts';
import type { Vitals } from './vitals.ts';

/* Counts the VirtualServers from the cache on every call, so no number can drift. Pure. */

/** The number of objects of one kind with the same Ready status and reason. */
export interface Standing {
  ready: string;
  reason: string;
  count: number;
}

export interface Totals {
  servers: Standing[];
  price: number;
  /** Servers that run or are off on purpose, and their price, by namespace. */
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
  status?: { conditions?: Pick<Condition, 'type' | 'status' | 'reason'>[] | undefined };
}

/** What counts for an object that the operator has let go: its own conditions are those of before. */
const LET_GO: WithConditions = { status: { conditions: [{ type: 'Ready', status: 'False', reason: 'Deleting' }] } };

const KNOWN: ReadonlySet<string> = new Set([...Object.keys(REASONS), ...Object.keys(SET_REASONS)]);
const READY: ReadonlySet<string> = new Set(['True', 'False', 'Unknown']);

/** `now` is in ms since the epoch. */
export function countTotals(objects: readonly VirtualServer[], now: number): Totals {
  const totals: Totals = {
    servers: countStandings(objects.map((object) => (isLetGo(object) ? LET_GO : object))),
    price: 0,
    namespaces: new Map(),
    expiring: 0,
    parkedCreates: 0,
    orphans: 0,
    deleting: 0,
    oldestDeletionMs: 0,
  };
  for (const object of objects) {
    totals.orphans += orphansOf(object);
    if (isParked(object)) totals.parkedCreates += 1;
    if (isLetGo(object)) continue;
    if (isPaidFor(object)) addRunning(totals, object);
    if (object.status?.conditions?.some(({ type }) => type === 'Expiring') === true) totals.expiring += 1;
    const deletingMs = deletingFor(object, now);
    if (deletingMs === undefined) continue;
    totals.deleting += 1;
    totals.oldestDeletionMs = Math.max(totals.oldestDeletionMs, deletingMs);
  }
  return totals;
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
function addRunning(totals: Totals, { metadata, status }: VirtualServer): void {
  const price: unknown = status?.price;
  const known = typeof price === 'number' && Number.isFinite(price) ? price : 0;
  const total = totals.namespaces.get(metadata.namespace) ?? { servers: 0, price: 0 };
  totals.price += known;
  totals.namespaces.set(metadata.namespace, { servers: total.servers + 1, price: total.price + known });
}

function isParked(object: VirtualServer): boolean {
  return openReason(ownMirror(object), 'orderParked') !== undefined;
}

/** A record that was copied together with its object lists orphans of the original object, so they do not count. */
function orphansOf(object: VirtualServer): number {
  return ownMirror(object)?.orphans?.length ?? 0;
}

function ownMirror({ metadata, status }: VirtualServer): ServerRecord | undefined {
  const mirror = mirrorIn(status);
  return mirror?.owner === metadata.uid ? mirror : undefined;
}

function deletingFor(object: VirtualServer, now: number): number | undefined {
  const { deletionTimestamp } = object.metadata;
  if (deletionTimestamp === undefined) return undefined;
  // With spec.deletionDelay, there is nothing to do before its end. Without, the status may still show the expiry.
  const delayedTo = object.spec.deletionDelay === undefined ? undefined : object.status?.cancelsAt;
  const since = Date.parse(delayedTo ?? deletionTimestamp);
  return Number.isFinite(since) ? Math.max(0, now - since) : 0;
}

/** The values that a page shows. */
export interface Observed {
  vitals: Vitals;
  leads: boolean;
  /** Current time in ms since the epoch. */
  now: number;
}

interface Seen extends Observed {
  version: string;
  totals: Totals;
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
    const totals = countTotals(observed.vitals.objects(), observed.now);
    for (const gauge of GAUGES) metrics.show(gauge, gauge.read({ ...observed, version, totals }));
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
  values(name, help, ['object_namespace'], ({ totals }) =>
    [...totals.namespaces].map(([object_namespace, seen]) => ({ object_namespace, value: read(seen) })),
  );

/** By set, as kube-state-metrics does for Deployments: sets are few, and their members are never a label. */
const ofSets = (name: string, help: string, read: (set: VirtualServerSet) => number): GaugeDefinition =>
  values(name, help, ['object_namespace', 'set'], ({ vitals }) =>
    vitals.sets().map((set) => ({ ...namesOf(set), value: read(set) })),
  );

const namesOf = ({ metadata }: VirtualServerSet) => ({ object_namespace: metadata.namespace, set: metadata.name });

const listedIn = ({ metadata, status }: ServerCatalog) => {
  const { serverCounts } = status ?? {};
  if (serverCounts === undefined) return [];
  const { all, orphaned, unclear } = serverCounts;
  const states = { held: all - orphaned - unclear, orphaned, unclear };
  const named = { object_namespace: metadata.namespace, catalog: metadata.name };
  return Object.entries(states).map(([state, count]) => ({ ...named, state, value: count }));
};

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
    'VirtualServers by the status of Ready and the current reason: of Stalled, else Reconciling, else Ready. Deleting, if only finalizers of other controllers keep the object.',
    ({ totals }) => totals.servers,
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
    "Sum of the prices of the members that run or are off on purpose, in the provider's own unit.",
    ({ status }) => status?.price ?? 0,
  ),
  value(
    'vps_operator_servers_price',
    "Sum of the prices of all servers that run or are off on purpose, in the provider's own unit.",
    ({ totals }) => totals.price,
  ),
  ofNamespaces(
    'vps_operator_namespace_servers',
    'Servers that run or are off on purpose, by the namespace of their VirtualServers.',
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
    ({ totals }) => totals.expiring,
  ),
  value(
    'vps_operator_parked_creates',
    'VirtualServers whose order may have created a server that only you can find.',
    ({ totals }) => totals.parkedCreates,
  ),
  value(
    'vps_operator_orphaned_servers',
    'Servers that may exist without a VirtualServer, as named by OrphanedServer conditions.',
    ({ totals }) => totals.orphans,
  ),
  values(
    'vps_operator_catalog_servers',
    'Servers that the provider lists, by whether a VirtualServer holds them, as the status of a ServerCatalog with listServers counts them.',
    ['object_namespace', 'catalog', 'state'],
    ({ vitals }) => vitals.catalogs().flatMap(listedIn),
  ),
  value(
    'vps_operator_deleting_servers',
    'VirtualServers that are being deleted and still have the finalizer.',
    ({ totals }) => totals.deleting,
  ),
  value(
    'vps_operator_oldest_deletion_seconds',
    'How long the oldest of them has been waiting; 0 if there is none.',
    ({ totals }) => totals.oldestDeletionMs / 1000,
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
  values(
    'vps_operator_accounts',
    'API keys in use, by the way in which their orders go: named (under an identifier), anonymous, or unknown (orders wait).',
    ['orders'],
    ({ vitals }) => {
      const { named, anonymous, refused, unknown } = vitals.ordersGo();
      const counts = { named, anonymous: anonymous + refused, unknown };
      return Object.entries(counts).map(([orders, count]) => ({ orders, value: count }));
    },
  ),
  value('vps_operator_observe_only', '1 if the operator only observes (--observe-only).', ({ vitals }) =>
    vitals.withheld === undefined ? 0 : 1,
  ),
  values(
    'vps_operator_withheld_actions',
    'Objects by what the operator would do with them if it did not only observe.',
    ['action'],
    ({ vitals }) => WITHHELD.map((action) => ({ action, value: vitals.withheld?.[action] ?? 0 })),
  ),
  values('vps_operator_build_info', 'Always 1.', ['version'], ({ version }) => [{ version, value: 1 }]),
];
