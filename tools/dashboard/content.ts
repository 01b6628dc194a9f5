/** The dashboard's rows and their panels. */
import { heatmap, stat, timeSeries, type Unplaced } from './panels.ts';

const JOB = 'job="$job", namespace=~"$namespace"';
const POD = `${JOB}, pod=~"$pod"`;
const RATE = '[$__rate_interval]';

/** Query of a leader's gauge; the standby's is zero. */
const fleet = (metric: string): string => `sum(max by (namespace) (${metric}{${JOB}}))`;
/** The same by namespace of the objects. */
const byNamespace = (metric: string): string =>
  `sum by (object_namespace) (max by (namespace, object_namespace) (${metric}{${JOB}}))`;
/** The same by set. */
const bySet = (metric: string, matchers = ''): string =>
  `sum by (object_namespace, set) (max by (namespace, object_namespace, set) (${metric}{${JOB}${matchers}}))`;
/** The same by controller or queue. */
const byLoop = (by: string, metric: string): string => `sum by (${by}) (max by (namespace, ${by}) (${metric}{${JOB}}))`;
const rate = (by: string, metric: string, matchers = ''): string =>
  `sum by (${by}) (rate(${metric}{${JOB}${matchers}}${RATE}))`;
const quantile = (q: number, metric: string, by = ''): string =>
  `histogram_quantile(${q}, sum by (le${by}) (rate(${metric}_bucket{${JOB}}${RATE})))`;
const quantiles = (metric: string): Record<string, string> => ({
  median: quantile(0.5, metric),
  '90 %': quantile(0.9, metric),
  '99 %': quantile(0.99, metric),
});
const byReason = (matchers = ''): string =>
  `max by (namespace, ready, reason) (vps_operator_servers{${JOB}${matchers}})`;

interface Section {
  title: string;
  /** Number of panels in a row. */
  perLine: number;
  /** Height of each panel, in Grafana's units of about 30 pixels. */
  height: number;
  panels: Unplaced[];
}

const NOW: Unplaced[] = [
  stat({ title: 'Servers', description: 'VirtualServers in the cluster.', expr: `sum(${byReason()})` }),
  stat({
    title: 'Not ready',
    description: 'VirtualServers without Ready=True.',
    expr: `sum(${byReason(', ready!="True"')}) or vector(0)`,
  }),
  stat({
    title: 'Parked orders',
    description:
      'The answer to an order was lost, or its task tells nothing: a server may exist that only a person can find.',
    expr: fleet('vps_operator_parked_creates'),
    alarm: 1,
  }),
  stat({
    title: 'Orphaned servers',
    description: 'Servers that may exist without an object that refers to them.',
    expr: fleet('vps_operator_orphaned_servers'),
    alarm: 1,
  }),
  stat({
    title: 'Deletions',
    description: 'Objects that are being deleted and that the operator still holds.',
    expr: fleet('vps_operator_deleting_servers'),
  }),
  stat({
    title: 'Sum of prices',
    description: "Of all servers that run or are off on purpose, in the provider's currency unit.",
    expr: fleet('vps_operator_servers_price'),
  }),
  stat({
    title: 'Leaders',
    description: 'Replicas that lead; one per operator is normal.',
    expr: `sum(leader_election_master_status{${JOB}, name="vps-operator"})`,
  }),
  stat({
    title: 'Journals broken',
    description: 'Replicas that order nothing because their journal cannot be written.',
    expr: `sum(vps_operator_journal_broken{${JOB}})`,
    alarm: 1,
  }),
];

const SERVERS: Unplaced[] = [
  timeSeries({
    title: 'Servers by readiness',
    description: 'Status of Ready, and the most relevant reason: of Stalled, otherwise Reconciling, otherwise Ready.',
    queries: { '{{ready}} {{reason}}': `sum by (ready, reason) (${byReason()})` },
    stacked: true,
  }),
  timeSeries({
    title: 'Parked orders, orphans, lost servers',
    description: 'Anything above zero may cost money without an object that refers to it.',
    queries: {
      'parked orders': fleet('vps_operator_parked_creates'),
      orphans: fleet('vps_operator_orphaned_servers'),
      'finalizers removed by force': `sum(increase(vps_operator_lost_servers_total{${JOB}}${RATE}))`,
    },
  }),
  timeSeries({
    title: 'Sum of prices',
    description: "Of all servers that run or are off on purpose, in the provider's currency unit.",
    queries: { price: fleet('vps_operator_servers_price') },
  }),
  timeSeries({
    title: 'Servers by namespace',
    description: 'Servers that run or are off on purpose, by the namespace of their objects.',
    queries: { '{{object_namespace}}': byNamespace('vps_operator_namespace_servers') },
    stacked: true,
  }),
  timeSeries({
    title: 'Price by namespace',
    description: "Of servers that run or are off on purpose, in the provider's currency unit.",
    queries: { '{{object_namespace}}': byNamespace('vps_operator_namespace_servers_price') },
    stacked: true,
  }),
  timeSeries({
    title: 'Expiring servers',
    description: 'Servers that expire within a day, or that have expired but are protected from cancellation.',
    queries: { servers: fleet('vps_operator_expiring_servers') },
  }),
  timeSeries({
    title: 'Catalogs by readiness',
    description: 'ServerCatalogs. Without "True Available", an API key does not work or the provider is down.',
    queries: {
      '{{ready}} {{reason}}': `sum by (ready, reason) (max by (namespace, ready, reason) (vps_operator_catalogs{${JOB}}))`,
    },
    stacked: true,
  }),
  timeSeries({
    title: 'API keys by the way of their orders',
    description: 'Orders of a key with "unknown" wait, because the provider has not said whether it lists servers.',
    queries: {
      '{{orders}}': `sum by (orders) (max by (namespace, orders) (vps_operator_accounts{${JOB}}))`,
    },
    stacked: true,
  }),
  timeSeries({
    title: 'Oldest deletion',
    description: 'How long the oldest deletion has been waiting.',
    unit: 's',
    queries: { oldest: `max(vps_operator_oldest_deletion_seconds{${JOB}})` },
  }),
  heatmap({
    title: 'Provisioning',
    description: 'Time from the decision to order a server until its first read at the provider.',
    unit: 's',
    expr: `sum by (le) (increase(vps_operator_provisioning_duration_seconds_bucket{${JOB}}${RATE}))`,
  }),
  timeSeries({
    title: 'Provisioning, quantiles',
    description: 'Time from the decision to order a server until its first read at the provider.',
    unit: 's',
    queries: quantiles('vps_operator_provisioning_duration_seconds'),
  }),
];

const SETS: Unplaced[] = [
  timeSeries({
    title: 'Sets by readiness',
    description: 'VirtualServerSets. "True Available" has all its members; any other reason says what a set waits for.',
    queries: {
      '{{ready}} {{reason}}': `sum by (ready, reason) (max by (namespace, ready, reason) (vps_operator_sets{${JOB}}))`,
    },
    stacked: true,
  }),
  timeSeries({
    title: 'Wanted and available members',
    description: 'How many servers each set wants, how many are available, and how many it keeps available.',
    queries: {
      '{{object_namespace}}/{{set}} wanted': bySet('vps_operator_set_spec_replicas'),
      '{{object_namespace}}/{{set}} available': bySet('vps_operator_set_status_replicas', ', state="available"'),
      '{{object_namespace}}/{{set}} minimum': bySet('vps_operator_set_min_available'),
    },
  }),
  timeSeries({
    title: 'Members by state',
    description: 'Of all sets. Each unresolved member stops the orders of its set until a person resolves it.',
    queries: {
      '{{state}}': `sum by (state) (max by (namespace, object_namespace, set, state) (vps_operator_set_status_replicas{${JOB}}))`,
    },
  }),
  timeSeries({
    title: 'Price by set',
    description: "Of members that run or are off on purpose, in the provider's currency unit.",
    queries: { '{{object_namespace}}/{{set}}': bySet('vps_operator_set_status_price') },
    stacked: true,
  }),
];

const PROVIDER: Unplaced[] = [
  timeSeries({
    title: 'Requests by operation',
    description: 'Requests to the provider, including logins.',
    unit: 'reqps',
    queries: { '{{operation}}': rate('operation', 'vps_operator_provider_requests_total') },
    stacked: true,
  }),
  timeSeries({
    title: 'Failed requests',
    description:
      'By operation and result. not_found: there is no such server, task or list. forbidden: HTTP 403, which some providers ' +
      'also answer for a server that does not exist.',
    unit: 'reqps',
    queries: {
      '{{operation}} {{result}}': `${rate('operation, result', 'vps_operator_provider_requests_total', ', result!="success"')} > 0`,
    },
  }),
  timeSeries({
    title: 'Request duration, 95 %',
    description: 'Until the answer was read or the request failed.',
    unit: 's',
    queries: { '{{operation}}': quantile(0.95, 'vps_operator_provider_request_duration_seconds', ', operation') },
  }),
  timeSeries({
    title: 'Logins',
    description: 'Token requests by result; refused means that an API key is not valid.',
    unit: 'reqps',
    queries: { '{{result}}': rate('result', 'vps_operator_token_logins_total') },
  }),
];

const LOOP: Unplaced[] = [
  timeSeries({
    title: 'Reconciles',
    description: 'By kind and result; requeue_after: scheduled to run again later.',
    unit: 'ops',
    queries: { '{{controller}} {{result}}': rate('controller, result', 'controller_runtime_reconcile_total') },
    stacked: true,
  }),
  timeSeries({
    title: 'Failed reconciles',
    description:
      'Faults and bugs, writes that the API server refused, and the retries that follow; failed provider calls do not count.',
    unit: 'ops',
    queries: {
      '{{controller}} errors': rate('controller', 'controller_runtime_reconcile_errors_total'),
      '{{controller}} {{write}} refused': rate('controller, write', 'vps_operator_refused_writes_total'),
      '{{name}} retries': rate('name', 'workqueue_retries_total'),
    },
  }),
  timeSeries({
    title: 'Reconcile duration',
    description: "A reconcile that orders or cancels waits for the provider's answer.",
    unit: 's',
    queries: quantiles('controller_runtime_reconcile_time_seconds'),
  }),
  timeSeries({
    title: 'Queue',
    description: 'Objects waiting for a worker, and busy workers.',
    queries: {
      '{{name}} waiting': byLoop('name', 'workqueue_depth'),
      '{{controller}} busy workers': byLoop('controller', 'controller_runtime_active_workers'),
      '{{controller}} workers': byLoop('controller', 'controller_runtime_max_concurrent_reconciles'),
    },
  }),
  timeSeries({
    title: 'Queue wait, 95 %',
    description: 'And how long the longest reconcile has been running; if it keeps growing, a worker is stuck.',
    unit: 's',
    queries: {
      waiting: quantile(0.95, 'workqueue_queue_duration_seconds'),
      'longest reconcile now': `max(workqueue_longest_running_processor_seconds{${JOB}})`,
    },
  }),
  timeSeries({
    title: 'Poll lag',
    description: 'Delay of the most overdue poll of a task or a server.',
    unit: 's',
    queries: { lag: `max(vps_operator_poll_lag_seconds{${JOB}})` },
  }),
  timeSeries({
    title: 'Interval stretch',
    description: 'Factor by which --provider-qps stretches the intervals; 1 means not at all.',
    queries: { '{{interval}}': `max by (interval) (vps_operator_interval_stretch_ratio{${JOB}})` },
  }),
  timeSeries({
    title: 'Requests to the API server',
    description: 'By method and HTTP status; <error> means no answer.',
    unit: 'reqps',
    queries: { '{{method}} {{code}}': rate('method, code', 'rest_client_requests_total') },
    stacked: true,
  }),
];

const PROCESS: Unplaced[] = [
  timeSeries({
    title: 'Leader',
    description: '1: this replica is active. 0: it is a standby.',
    queries: { '{{pod}}': `max by (pod) (leader_election_master_status{${POD}, name="vps-operator"})` },
  }),
  timeSeries({
    title: 'Version',
    description: 'Replicas by version.',
    queries: { '{{version}}': `count by (version) (vps_operator_build_info{${POD}})` },
  }),
  timeSeries({
    title: 'Memory',
    description: 'Resident memory, and the part of it that is used heap.',
    unit: 'bytes',
    queries: {
      '{{pod}}': `process_resident_memory_bytes{${POD}}`,
      '{{pod}} heap': `nodejs_heap_size_used_bytes{${POD}}`,
    },
  }),
  timeSeries({
    title: 'CPU',
    description: 'Cores in use.',
    queries: { '{{pod}}': `rate(process_cpu_seconds_total{${POD}}${RATE})` },
  }),
  timeSeries({
    title: 'Event loop lag, 99 %',
    description: 'Delay of due events in the process.',
    unit: 's',
    queries: { '{{pod}}': `nodejs_eventloop_lag_p99_seconds{${POD}}` },
  }),
  timeSeries({
    title: 'Uptime',
    description: 'Time since the process started; a drop to zero is a restart.',
    unit: 's',
    queries: { '{{pod}}': `time() - process_start_time_seconds{${POD}}` },
  }),
  timeSeries({
    title: 'Withheld actions',
    description: 'Objects by what an operator with --observe-only would do with them.',
    queries: { '{{pod}} {{action}}': `vps_operator_withheld_actions{${POD}}` },
  }),
];

export const SECTIONS: Section[] = [
  { title: 'Now', perLine: 8, height: 4, panels: NOW },
  { title: 'Servers', perLine: 2, height: 8, panels: SERVERS },
  { title: 'Sets', perLine: 2, height: 8, panels: SETS },
  { title: 'The provider', perLine: 2, height: 8, panels: PROVIDER },
  { title: 'The loop', perLine: 2, height: 8, panels: LOOP },
  { title: 'The process', perLine: 2, height: 8, panels: PROCESS },
];
