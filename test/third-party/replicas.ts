/** The series of a healthy pair of replicas in Prometheus, and how a test changes them. */
/** Series of the leader and of the standby, one sample per minute; absent ones are undefined. */
export type Change = Record<string, { leader?: string | undefined; standby?: string | undefined }>;

const HOURS = 'x480';
export const always = (value: number): string => `${value}${HOURS}`;
/** A counter that grows by `step` per minute. */
export const growing = (step: number): string => `0+${step}${HOURS}`;
/** `first` before this minute, `then` from it on. */
export const from = (minute: number, first: number, then: number): string => `${first}x${minute - 1} ${then}${HOURS}`;
/** A series that ends at this minute, because its pod is gone. */
export const goneFrom = (minute: number, value: number): string => `${value}x${minute - 1} stale`;

const REQUESTS = 'vps_operator_provider_requests_total';
export const requests = (operation: string, result: string): string =>
  `${REQUESTS}{operation="${operation}",result="${result}"}`;

/** The labels of the set in the tests. */
export const SET = 'object_namespace="default",set="web"';

/** A standby exposes the same series as the leader: gauges are zero, and counters do not grow. */
const HEALTHY: Change = {
  up: { leader: always(1), standby: always(1) },
  'leader_election_master_status{name="vps-operator"}': { leader: always(1), standby: always(0) },
  'controller_runtime_reconcile_total{controller="virtualserver",result="success"}': {
    leader: growing(1),
    standby: always(0),
  },
  'controller_runtime_reconcile_total{controller="virtualserver",result="requeue_after"}': {
    leader: growing(20),
    standby: always(0),
  },
  'controller_runtime_reconcile_errors_total{controller="virtualserver"}': { leader: always(0), standby: always(0) },
  'controller_runtime_reconcile_total{controller="servercatalog",result="requeue_after"}': {
    leader: growing(1),
    standby: always(0),
  },
  'controller_runtime_reconcile_errors_total{controller="servercatalog"}': { leader: always(0), standby: always(0) },
  'workqueue_depth{name="virtualserver"}': { leader: always(2), standby: always(0) },
  vps_operator_poll_lag_seconds: { leader: always(3), standby: always(0) },
  'vps_operator_interval_stretch_ratio{interval="poll"}': { leader: always(1), standby: always(1) },
  'vps_operator_interval_stretch_ratio{interval="resync"}': { leader: always(1), standby: always(1) },
  vps_operator_journal_broken: { leader: always(0), standby: always(0) },
  vps_operator_parked_creates: { leader: always(0), standby: always(0) },
  vps_operator_orphaned_servers: { leader: always(0), standby: always(0) },
  vps_operator_oldest_deletion_seconds: { leader: always(40), standby: always(0) },
  vps_operator_lost_servers_total: { leader: always(0), standby: always(0) },
  'vps_operator_servers{ready="True",reason="Available"}': { leader: always(7), standby: always(0) },
  'vps_operator_sets{ready="True",reason="Available"}': { leader: always(2), standby: always(0) },
  // A standby knows no set, so it has no series of one.
  [`vps_operator_set_status_replicas{${SET},state="available"}`]: { leader: always(3) },
  [`vps_operator_set_status_replicas{${SET},state="unresolved"}`]: { leader: always(0) },
  [`vps_operator_set_min_available{${SET}}`]: { leader: always(3) },
  [requests('pollTask', 'success')]: { leader: growing(10), standby: always(0) },
  [requests('pollTask', 'timeout')]: { leader: always(0), standby: always(0) },
  [requests('createServer', 'success')]: { leader: growing(1), standby: always(0) },
  [requests('createServer', 'client_error')]: { leader: always(0), standby: always(0) },
  [requests('createServer', 'server_error')]: { leader: always(0), standby: always(0) },
};

/** Pod labels as the ServiceMonitor sets them. */
const POD = { leader: 'vps-operator-a', standby: 'vps-operator-b' };

/** The series of a pair of replicas in this namespace. */
export function seriesOf(change: Change, namespace = 'vps-operator-system'): Record<string, string> {
  const series: Record<string, string> = {};
  for (const [name, samples] of Object.entries({ ...HEALTHY, ...change })) {
    const [metric = '', labels] = name.replace('}', '').split('{');
    for (const role of ['leader', 'standby'] as const) {
      const sample = samples[role];
      const own = [`job="vps-operator"`, `namespace="${namespace}"`, `pod="${POD[role]}"`, ...(labels ? [labels] : [])];
      if (sample !== undefined) series[`${metric}{${own.join(',')}}`] = sample;
    }
  }
  return series;
}

/** Every series of both replicas, computed by `make` from its healthy samples. */
export function everySeries(make: (sample: string) => string | undefined): Change {
  const entries = Object.entries(HEALTHY).map(([name, { leader = '', standby = '' }]) => [
    name,
    { leader: make(leader), standby: make(standby) },
  ]);
  return Object.fromEntries(entries) as Change;
}
