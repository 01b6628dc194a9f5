/** All metrics of the operator: name, type, help, labels. A test compares them with docs/reference/metrics.md. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

const VISIT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const QUEUE_SECONDS = [0.001, 0.01, 0.1, 1, 10, 100, 1000];
const REQUEST_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const PROVISIONING_SECONDS = [10, 30, 60, 120, 180, 240, 300, 420, 600, 900, 1800, 3600, 7200];
/** Sampling interval of the event loop (ms); prom-client's default of 10 wakes an idle process 100 times a second. */
const LOOP_PRECISION_MS = 100;
/** Gauges with a counter's name suffix, which promtool rejects. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export type Series = ReturnType<typeof createSeries>;

export function createSeries() {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string = never>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string = never>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <L extends string = never>(name: string, help: string, buckets: number[], ...labelNames: L[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });

  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);

  return {
    registry,
    ...controllerSeries(counter, gauge, histogram),
    ...workQueueSeries(counter, gauge, histogram),
    providerRequests: counter(
      'vps_operator_provider_requests_total',
      'Requests to the provider, including logins, by operation and result.',
      'operation',
      'result',
    ),
    providerDuration: histogram(
      'vps_operator_provider_request_duration_seconds',
      'Duration of requests to the provider, until the response was read or the request failed.',
      REQUEST_SECONDS,
      'operation',
    ),
    tokenLogins: counter(
      'vps_operator_token_logins_total',
      'Logins for a token. refused: the API key is invalid; error: no usable response.',
      'result',
    ),
    provisioning: histogram(
      'vps_operator_provisioning_duration_seconds',
      'Time from the decision to order a server until it was first read at the provider.',
      PROVISIONING_SECONDS,
    ),
    servers: gauge(
      'vps_operator_servers',
      'VirtualServers by the status of Ready and the current reason: of Stalled, else Reconciling, else Ready.',
      'ready',
      'reason',
    ),
    catalogs: gauge(
      'vps_operator_catalogs',
      'ServerCatalogs by the status of Ready and the current reason.',
      'ready',
      'reason',
    ),
    sets: gauge(
      'vps_operator_sets',
      'VirtualServerSets by the status of Ready and the current reason.',
      'ready',
      'reason',
    ),
    ...setSeries(gauge),
    price: gauge('vps_operator_servers_price', "Sum of the prices of all running servers, in the provider's own unit."),
    namespaceServers: gauge(
      'vps_operator_namespace_servers',
      'Running servers, by the namespace of their VirtualServers.',
      'object_namespace',
    ),
    namespacePrice: gauge(
      'vps_operator_namespace_servers_price',
      "Sum of their prices, in the provider's own unit.",
      'object_namespace',
    ),
    expiring: gauge(
      'vps_operator_expiring_servers',
      'Servers that expire within a day, or that expired but may not be cancelled.',
    ),
    parkedCreates: gauge(
      'vps_operator_parked_creates',
      'VirtualServers whose order may have created a server that only you can find.',
    ),
    orphans: gauge(
      'vps_operator_orphaned_servers',
      'Servers that may exist without a VirtualServer, as named by OrphanedServer conditions.',
    ),
    deleting: gauge(
      'vps_operator_deleting_servers',
      'VirtualServers that are being deleted and still have the finalizer.',
    ),
    oldestDeletion: gauge(
      'vps_operator_oldest_deletion_seconds',
      'How long the oldest of them has been waiting; 0 if there is none.',
    ),
    pollLag: gauge(
      'vps_operator_poll_lag_seconds',
      'How late the most overdue check of a task or a server is; 0 if none is overdue.',
    ),
    stretch: gauge(
      'vps_operator_interval_stretch_ratio',
      'Factor by which --provider-qps stretches the interval, in the namespace where the factor is largest; 1 means not at all.',
      'interval',
    ),
    lost: counter(
      'vps_operator_lost_servers_total',
      'Finalizers that someone else removed while a server may have existed. The log names the servers.',
    ),
    journalBroken: gauge(
      'vps_operator_journal_broken',
      '1 while the journal cannot be written: nothing is ordered until it can.',
    ),
    buildInfo: gauge('vps_operator_build_info', 'Always 1.', 'version'),
    leader: gauge('leader_election_master_status', 'Whether this process is the leader.', 'name'),
    restClientRequests: counter(
      'rest_client_requests_total',
      'Requests to the API server by method and HTTP status; <error> means no response.',
      'code',
      'method',
    ),
  };
}

type MakeCounter = <L extends string = never>(name: string, help: string, ...labels: L[]) => Counter<L>;
type MakeGauge = <L extends string = never>(name: string, help: string, ...labels: L[]) => Gauge<L>;
type MakeHistogram = <L extends string = never>(
  name: string,
  help: string,
  buckets: number[],
  ...labels: L[]
) => Histogram<L>;

/** By set, as kube-state-metrics does for Deployments: sets are few, and their members are never a label. */
function setSeries(gauge: MakeGauge) {
  return {
    setReplicas: gauge(
      'vps_operator_set_spec_replicas',
      'How many servers the VirtualServerSet wants.',
      'object_namespace',
      'set',
    ),
    setMembers: gauge(
      'vps_operator_set_status_replicas',
      'Members of the VirtualServerSet by state, as its status counts them.',
      'object_namespace',
      'set',
      'state',
    ),
    setMinAvailable: gauge(
      'vps_operator_set_min_available',
      'How many members the VirtualServerSet keeps available: replicas less maxUnavailable.',
      'object_namespace',
      'set',
    ),
    setPrice: gauge(
      'vps_operator_set_status_price',
      "Sum of the prices of the running members, in the provider's own unit.",
      'object_namespace',
      'set',
    ),
  };
}

/** Same names as in controller-runtime, so existing dashboards work. */
function controllerSeries(counter: MakeCounter, gauge: MakeGauge, histogram: MakeHistogram) {
  return {
    reconciles: counter(
      'controller_runtime_reconcile_total',
      'Reconciles by result. requeue: the object had changed; requeue_after: planned for later.',
      'controller',
      'result',
    ),
    reconcileErrors: counter(
      'controller_runtime_reconcile_errors_total',
      'Reconciles that failed. A failed call to the provider does not count.',
      'controller',
    ),
    reconcileTime: histogram(
      'controller_runtime_reconcile_time_seconds',
      'Duration of reconciles.',
      VISIT_SECONDS,
      'controller',
    ),
    activeWorkers: gauge('controller_runtime_active_workers', 'Busy workers.', 'controller'),
    maxWorkers: gauge('controller_runtime_max_concurrent_reconciles', 'Maximum number of workers.', 'controller'),
  };
}

/** Same names as in client-go. */
function workQueueSeries(counter: MakeCounter, gauge: MakeGauge, histogram: MakeHistogram) {
  return {
    queueDepth: gauge('workqueue_depth', 'Objects waiting for a worker.', 'name'),
    queueAdds: counter('workqueue_adds_total', 'Objects added to the queue.', 'name'),
    queueDuration: histogram(
      'workqueue_queue_duration_seconds',
      'How long objects waited for a worker.',
      QUEUE_SECONDS,
      'name',
    ),
    workDuration: histogram(
      'workqueue_work_duration_seconds',
      'How long workers processed an object.',
      QUEUE_SECONDS,
      'name',
    ),
    queueRetries: counter('workqueue_retries_total', 'Failed reconciles that are retried after a backoff.', 'name'),
    unfinished: gauge(
      'workqueue_unfinished_work_seconds',
      'How long busy workers have been processing their objects, in total.',
      'name',
    ),
    longestRunning: gauge(
      'workqueue_longest_running_processor_seconds',
      'The longest of these times. If it keeps growing, a worker is stuck.',
      'name',
    ),
  };
}
