/** What happens to a pair of replicas, and which alerts fire. */
import { always, everySeries, from, goneFrom, growing, requests, SET, type Change } from './replicas.ts';

const RECONCILES = 'controller_runtime_reconcile_total{controller="virtualserver",result="requeue_after"}';
const VISITS = 'controller_runtime_reconcile_total{controller="virtualserver",result="success"}';
const ERRORS = 'controller_runtime_reconcile_errors_total{controller="virtualserver"}';
const LEADER = 'leader_election_master_status{name="vps-operator"}';
const OBSERVES = 'vps_operator_observe_only';
const DEPTH = 'workqueue_depth{name="virtualserver"}';
const LOST = 'vps_operator_lost_servers_total';
const servers = (ready: string, reason: string): string => `vps_operator_servers{ready="${ready}",reason="${reason}"}`;
const members = (state: string): string => `vps_operator_set_status_replicas{${SET},state="${state}"}`;
const sets = (reason: string): string => `vps_operator_sets{ready="False",reason="${reason}"}`;
const listed = (state: string): string =>
  `vps_operator_catalog_servers{object_namespace="team",catalog="catalog",state="${state}"}`;
const stretch = (interval: string): string => `vps_operator_interval_stretch_ratio{interval="${interval}"}`;

/** A gauge of the leader; the standby's is zero. */
const gauge = (name: string, samples: string): Change => ({ [name]: { leader: samples, standby: always(0) } });
const NO_VISITS: Change = { ...gauge(RECONCILES, always(500)), ...gauge(VISITS, always(30)) };
/** The leader's pod is gone at minute 60, and the standby, whose counters start at zero, has taken over. */
const FAILOVER: Change = {
  ...everySeries((sample) => goneFrom(60, Number(sample.split(/[x+]/)[0]))),
  up: { leader: goneFrom(60, 1), standby: always(1) },
  [LEADER]: { leader: goneFrom(60, 1), standby: from(60, 0, 1) },
  [RECONCILES]: { leader: '0+20x59 stale', standby: '0x59 0+20x400' },
  [requests('pollTask', 'success')]: { leader: '0+10x59 stale', standby: '0x59 0+10x400' },
  vps_operator_parked_creates: { leader: '0x59 stale', standby: always(0) },
};

/** All servers are Ready with this reason from minute 30 on. */
const turned = (reason: string): Change => ({
  ...gauge(servers('True', 'Available'), from(30, 7, 0)),
  ...gauge(servers('True', reason), from(30, 0, 7)),
});

interface AlertCase {
  sentence: string;
  /** How the series differ from those of a healthy pair. */
  change: Change;
  /** Minutes since the first scrape. */
  minutes: number;
  /** Exactly the alerts that fire then. */
  fires: string[];
}

export const CASES: Record<string, AlertCase[]> = {
  'a healthy pair': [
    { sentence: 'fires nothing', change: {}, minutes: 90, fires: [] },
    { sentence: 'fires nothing in its first minutes', change: {}, minutes: 7, fires: [] },
    { sentence: 'fires nothing while one replica takes over from the other', change: FAILOVER, minutes: 63, fires: [] },
    { sentence: 'fires nothing after a failover', change: FAILOVER, minutes: 90, fires: [] },
    {
      sentence: 'fires nothing when counters restart at zero',
      change: { [RECONCILES]: { leader: '0+20x60 0+20x400', standby: always(0) } },
      minutes: 75,
      fires: [],
    },
    {
      sentence: 'fires nothing for servers that were shut down on purpose',
      change: { ...NO_VISITS, ...turned('PoweredOff'), ...gauge(DEPTH, always(0)) },
      minutes: 200,
      fires: [],
    },
    {
      sentence: 'fires nothing for servers that are dormant on purpose',
      change: { ...NO_VISITS, ...turned('Dormant'), ...gauge(DEPTH, always(0)) },
      minutes: 200,
      fires: [],
    },
    {
      sentence: 'fires nothing without any server',
      change: { ...NO_VISITS, ...gauge(servers('True', 'Available'), always(0)), ...gauge(DEPTH, always(0)) },
      minutes: 90,
      fires: [],
    },
  ],
  VPSOperatorDown: [
    {
      sentence: 'fires when no series is scraped',
      change: everySeries(() => undefined),
      minutes: 10,
      fires: ['VPSOperatorDown'],
    },
    { sentence: 'waits five minutes', change: everySeries(() => undefined), minutes: 4, fires: [] },
    {
      sentence: 'fires when no replica answers',
      change: { ...everySeries(() => goneFrom(60, 0)), up: { leader: from(60, 1, 0), standby: from(60, 1, 0) } },
      minutes: 70,
      fires: ['VPSOperatorDown'],
    },
    {
      sentence: 'is silent while one replica answers',
      change: { up: { leader: always(1), standby: always(0) } },
      minutes: 70,
      fires: [],
    },
  ],
  VPSOperatorNoLeader: [
    {
      sentence: 'fires when both replicas are standbys',
      change: { ...gauge(LEADER, from(60, 1, 0)) },
      minutes: 70,
      fires: ['VPSOperatorNoLeader'],
    },
    {
      sentence: 'fires when no replica reports who leads',
      change: { [LEADER]: {} },
      minutes: 70,
      fires: ['VPSOperatorNoLeader'],
    },
    {
      sentence: 'is silent while the Lease changes hands',
      change: { ...gauge(LEADER, '1x59 0x2 1x400') },
      minutes: 62,
      fires: [],
    },
    {
      sentence: 'is silent where all replicas only observe',
      change: { ...gauge(LEADER, always(0)), [OBSERVES]: { leader: always(1), standby: always(1) } },
      minutes: 70,
      fires: [],
    },
    {
      sentence: 'fires when both replicas are standbys beside one that only observes',
      change: { ...gauge(LEADER, from(60, 1, 0)), ...gauge(OBSERVES, always(1)) },
      minutes: 70,
      fires: ['VPSOperatorNoLeader'],
    },
    {
      sentence: 'fires when a replica of a version without this metric is a standby beside one that only observes',
      change: { ...gauge(LEADER, from(60, 1, 0)), [OBSERVES]: { leader: undefined, standby: always(1) } },
      minutes: 70,
      fires: ['VPSOperatorNoLeader'],
    },
  ],
  VPSOperatorNotReconciling: [
    {
      sentence: 'fires when objects wait and no reconcile ends, although catalogs are read',
      change: { ...NO_VISITS, ...gauge(DEPTH, always(5)) },
      minutes: 30,
      fires: ['VPSOperatorNotReconciling'],
    },
    {
      sentence: 'fires when polls are due and no reconcile ends',
      change: { ...NO_VISITS, ...gauge(DEPTH, always(0)), ...gauge('vps_operator_poll_lag_seconds', '0+60x400') },
      minutes: 20,
      fires: ['VPSOperatorNotReconciling'],
    },
    {
      sentence: 'fires when the leader reports no series of its servers',
      change: { vps_operator_parked_creates: {} },
      minutes: 30,
      fires: ['VPSOperatorNotReconciling'],
    },
    {
      sentence: 'is silent while a quiet fleet waits for users',
      change: { ...NO_VISITS, ...gauge(DEPTH, always(0)) },
      minutes: 90,
      fires: [],
    },
  ],
  VPSOperatorReconcileErrors: [
    {
      sentence: 'fires when a fifth of the reconciles fail',
      change: gauge(ERRORS, growing(4)),
      minutes: 60,
      fires: ['VPSOperatorReconcileErrors'],
    },
    {
      sentence: 'fires when catalogs cannot be written, even if there are few',
      change: gauge(ERRORS.replace('virtualserver', 'servercatalog'), growing(0.5)),
      minutes: 60,
      fires: ['VPSOperatorReconcileErrors'],
    },
    {
      sentence: 'is silent for a burst of failures',
      change: gauge(ERRORS, '0x30 0+20x3 60x400'),
      minutes: 38,
      fires: [],
    },
    {
      sentence: 'is silent for one failure in forty reconciles',
      change: gauge(ERRORS, growing(0.5)),
      minutes: 60,
      fires: [],
    },
  ],
  VPSOperatorJournalBroken: [
    {
      sentence: 'fires when the journal is broken',
      change: gauge('vps_operator_journal_broken', from(60, 0, 1)),
      minutes: 62,
      fires: ['VPSOperatorJournalBroken'],
    },
    {
      sentence: 'is silent before it breaks',
      change: gauge('vps_operator_journal_broken', from(60, 0, 1)),
      minutes: 59,
      fires: [],
    },
    {
      sentence: 'ends when the journal is writable again',
      change: gauge('vps_operator_journal_broken', '1x30 0x400'),
      minutes: 40,
      fires: [],
    },
  ],
  VPSOperatorIntervalStretched: [
    {
      sentence: 'fires for the interval that is stretched',
      change: { [stretch('resync')]: { leader: always(3.5), standby: always(1) } },
      minutes: 40,
      fires: ['VPSOperatorIntervalStretched'],
    },
    {
      sentence: 'is silent when the interval is doubled, and for a short stretch',
      change: {
        [stretch('resync')]: { leader: always(2), standby: always(1) },
        [stretch('poll')]: { leader: '1x30 9x20 1x400', standby: always(1) },
      },
      minutes: 50,
      fires: [],
    },
  ],
  VPSOperatorPollsLate: [
    {
      sentence: 'fires when a poll is long overdue although reconciles end',
      change: gauge('vps_operator_poll_lag_seconds', from(30, 3, 1200)),
      minutes: 50,
      fires: ['VPSOperatorPollsLate'],
    },
    {
      sentence: 'is silent for a temporary delay',
      change: gauge('vps_operator_poll_lag_seconds', '3x30 1200x10 3x400'),
      minutes: 38,
      fires: [],
    },
  ],
  VPSOperatorCreateParked: [
    {
      sentence: 'fires once, not once per replica',
      change: gauge('vps_operator_parked_creates', from(30, 0, 2)),
      minutes: 36,
      fires: ['VPSOperatorCreateParked'],
    },
    {
      sentence: 'is silent when a user acts at once',
      change: gauge('vps_operator_parked_creates', '0x30 2x3 0x400'),
      minutes: 33,
      fires: [],
    },
    {
      sentence: 'keeps firing when another replica takes over',
      change: { ...FAILOVER, vps_operator_parked_creates: { leader: '0x20 2x38 stale', standby: '0x59 2x400' } },
      minutes: 61,
      fires: ['VPSOperatorCreateParked'],
    },
  ],
  VPSOperatorServerOrphaned: [
    {
      sentence: 'fires for an orphan',
      change: gauge('vps_operator_orphaned_servers', from(30, 0, 1)),
      minutes: 36,
      fires: ['VPSOperatorServerOrphaned'],
    },
    {
      sentence: 'is silent once the orphan is handled',
      change: gauge('vps_operator_orphaned_servers', '0x30 1x20 0x400'),
      minutes: 55,
      fires: [],
    },
  ],
  VPSOperatorServerUnheld: [
    {
      sentence: 'fires for a server that nothing holds for two hours',
      change: { [listed('orphaned')]: { leader: from(30, 0, 1) } },
      minutes: 155,
      fires: ['VPSOperatorServerUnheld'],
    },
    {
      sentence: 'is silent if the next read of the list finds it held',
      change: { [listed('orphaned')]: { leader: '0x30 1x60 0x400' } },
      minutes: 155,
      fires: [],
    },
    {
      sentence: 'is silent while no catalog lists servers, and for servers that an object may hold',
      change: { [listed('unclear')]: { leader: from(30, 0, 3) } },
      minutes: 200,
      fires: [],
    },
  ],
  VPSOperatorServerLost: [
    {
      sentence: 'fires when a finalizer is removed by force',
      change: gauge(LOST, from(60, 0, 1)),
      minutes: 62,
      fires: ['VPSOperatorServerLost'],
    },
    {
      sentence: 'fires when that happened before the first scrape',
      change: gauge(LOST, always(1)),
      minutes: 5,
      fires: ['VPSOperatorServerLost'],
    },
    {
      sentence: 'keeps firing although the process that counted it is gone',
      change: { ...FAILOVER, [LOST]: { leader: '0x30 1x28 stale', standby: always(0) } },
      minutes: 90,
      fires: ['VPSOperatorServerLost'],
    },
    { sentence: 'ends after six hours', change: gauge(LOST, from(60, 0, 1)), minutes: 425, fires: [] },
  ],
  VPSOperatorDeletionStuck: [
    {
      sentence: 'fires for a deletion of more than an hour',
      change: gauge('vps_operator_oldest_deletion_seconds', '0+60x400'),
      minutes: 67,
      fires: ['VPSOperatorDeletionStuck'],
    },
    {
      sentence: 'is silent for a shorter one',
      change: gauge('vps_operator_oldest_deletion_seconds', '0+60x400'),
      minutes: 60,
      fires: [],
    },
  ],
  VPSOperatorProviderErrors: [
    {
      sentence: 'fires for an operation that fails, however well others do',
      change: {
        ...gauge(requests('createServer', 'server_error'), '0x30 0+1x400'),
        ...gauge(requests('pollTask', 'success'), growing(1000)),
      },
      minutes: 60,
      fires: ['VPSOperatorProviderErrors'],
    },
    {
      sentence: 'fires when the pauses between failures have reached their maximum',
      change: {
        ...gauge(requests('pollTask', 'success'), '0+10x30 300x400'),
        ...gauge(
          requests('pollTask', 'timeout'),
          `0x30 ${Array.from({ length: 30 }, (_, i) => `${i + 1}x9`).join(' ')}`,
        ),
      },
      minutes: 90,
      fires: ['VPSOperatorProviderErrors'],
    },
    {
      sentence: 'is silent for orders that the provider rejects',
      change: gauge(requests('createServer', 'client_error'), growing(5)),
      minutes: 60,
      fires: [],
    },
    {
      sentence: 'does not fire for servers that do not exist, whatever form the denial has',
      change: {
        ...gauge(requests('readServer', 'not_found'), growing(5)),
        ...gauge(requests('deleteServer', 'forbidden'), growing(5)),
      },
      minutes: 60,
      fires: [],
    },
    {
      sentence: 'is silent for an outage of minutes',
      change: gauge(requests('pollTask', 'timeout'), '0x30 0+20x5 100x400'),
      minutes: 38,
      fires: [],
    },
    {
      sentence: 'is silent for a few failures',
      change: gauge(requests('pollTask', 'timeout'), growing(2)),
      minutes: 60,
      fires: [],
    },
  ],
  VPSOperatorDefinitionDeleted: [
    {
      sentence: 'fires as soon as one server is held back',
      change: gauge(servers('True', 'CRDDeleting'), from(30, 0, 1)),
      minutes: 32,
      fires: ['VPSOperatorDefinitionDeleted'],
    },
    {
      sentence: 'is silent for intended deletions',
      change: gauge(servers('False', 'Deleting'), always(4)),
      minutes: 36,
      fires: [],
    },
  ],
  VPSOperatorSetUnresolved: [
    {
      sentence: 'fires after five minutes',
      change: { [members('unresolved')]: { leader: from(30, 0, 1) } },
      minutes: 36,
      fires: ['VPSOperatorSetUnresolved'],
    },
    {
      sentence: 'keeps firing when another replica takes over',
      change: { ...FAILOVER, [members('unresolved')]: { leader: '0x20 1x38 stale', standby: '_x59 1x400' } },
      minutes: 61,
      fires: ['VPSOperatorSetUnresolved'],
    },
    {
      sentence: 'is silent while the answer to an order may still come',
      change: { [members('unresolved')]: { leader: '0x30 1x3 0x400' } },
      minutes: 34,
      fires: [],
    },
    {
      sentence: 'is silent once the member is resolved',
      change: { [members('unresolved')]: { leader: '1x30 0x400' } },
      minutes: 32,
      fires: [],
    },
  ],
  VPSOperatorSetStalled: [
    {
      sentence: 'fires when a rollout makes no progress',
      change: gauge(sets('ProgressDeadlineExceeded'), from(30, 0, 1)),
      minutes: 46,
      fires: ['VPSOperatorSetStalled'],
    },
    {
      sentence: 'fires when only protected members are left to delete',
      change: gauge(sets('DeletionBlocked'), from(30, 0, 2)),
      minutes: 46,
      fires: ['VPSOperatorSetStalled'],
    },
    {
      sentence: 'waits fifteen minutes',
      change: gauge(sets('MemberBlocked'), from(30, 0, 1)),
      minutes: 44,
      fires: [],
    },
    {
      sentence: 'is silent for a long rollout that makes progress',
      change: gauge(sets('RollingOut'), always(1)),
      minutes: 90,
      fires: [],
    },
    {
      sentence: 'leaves unresolved members to the alert of their own',
      change: gauge(sets('MemberUnresolved'), always(1)),
      minutes: 90,
      fires: [],
    },
  ],
  VPSOperatorSetUnavailable: [
    {
      sentence: 'fires when fewer members are available than the set keeps available',
      change: { [members('available')]: { leader: from(30, 3, 2) } },
      minutes: 46,
      fires: ['VPSOperatorSetUnavailable'],
    },
    {
      sentence: 'is silent while a rollout leaves as many as maxUnavailable allows',
      change: {
        [members('available')]: { leader: from(30, 3, 2) },
        [`vps_operator_set_min_available{${SET}}`]: { leader: always(2) },
      },
      minutes: 90,
      fires: [],
    },
    {
      sentence: 'waits fifteen minutes for new members',
      change: { [members('available')]: { leader: '3x30 2x13 3x400' } },
      minutes: 60,
      fires: [],
    },
  ],
  VPSOperatorCredentialsInvalid: [
    {
      sentence: 'fires for running servers whose key is refused',
      change: gauge(servers('True', 'InvalidCredentials'), from(30, 0, 2)),
      minutes: 36,
      fires: ['VPSOperatorCredentialsInvalid'],
    },
    {
      sentence: 'fires for a key that has lost its rights',
      change: gauge(servers('True', 'PermissionDenied'), from(30, 0, 2)),
      minutes: 36,
      fires: ['VPSOperatorCredentialsInvalid'],
    },
    {
      sentence: 'fires for a missing Secret',
      change: gauge(servers('False', 'SecretNotFound'), from(30, 0, 1)),
      minutes: 36,
      fires: ['VPSOperatorCredentialsInvalid'],
    },
    {
      sentence: 'is silent for other problems',
      change: gauge(servers('False', 'InvalidSpec'), always(4)),
      minutes: 36,
      fires: [],
    },
  ],
};
