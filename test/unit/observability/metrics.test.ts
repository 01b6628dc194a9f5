import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../src/api/meta.ts';
import type { Vitals } from '../../../src/observability/vitals.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { Metrics } from '../../../src/observability/metrics.ts';
import { storedCatalog } from '../../gen/server-catalog.ts';
import { webSet } from '../../gen/virtual-server-set.ts';
import { stored } from '../../gen/virtual-server.ts';
import { providerResult } from '../../../src/observability/provider-result.ts';

const VITALS: Vitals = {
  phase: 'running',
  objects: () => [],
  catalogs: () => [],
  sets: () => [],
  loops: {
    virtualserver: { queued: 3, busyForMs: [500, 2_000], maxWorkers: 8, progressAgeMs: 0, informerSilentMs: 0 },
    servercatalog: { queued: 1, busyForMs: [700], maxWorkers: 4, progressAgeMs: 0, informerSilentMs: 0 },
  },
  longestStepMs: 1,
  pollLagMs: () => 1_500,
  stretch: () => ({ poll: 1.5, resync: 2 }),
  journalBroken: true,
};

function condition(type: string, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
}

function metrics() {
  const faults: unknown[] = [];
  const instance = new Metrics({ version: '1.2.3', onFault: (error) => faults.push(error) });
  const lines = async (): Promise<string[]> =>
    (await instance.page({ vitals: VITALS, leads: false, now: 0 })).body.split('\n');
  return { instance, faults, lines };
}

describe('metrics', () => {
  it('show the values read on request, in seconds', async () => {
    const { lines } = metrics();
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'workqueue_depth{name="virtualserver"} 3',
        'workqueue_unfinished_work_seconds{name="virtualserver"} 2.5',
        'workqueue_longest_running_processor_seconds{name="virtualserver"} 2',
        'controller_runtime_active_workers{controller="virtualserver"} 2',
        'controller_runtime_max_concurrent_reconciles{controller="virtualserver"} 8',
        'workqueue_depth{name="servercatalog"} 1',
        'workqueue_longest_running_processor_seconds{name="servercatalog"} 0.7',
        'controller_runtime_active_workers{controller="servercatalog"} 1',
        'controller_runtime_max_concurrent_reconciles{controller="servercatalog"} 4',
        'leader_election_master_status{name="vps-operator"} 0',
        'vps_operator_poll_lag_seconds 1.5',
        'vps_operator_interval_stretch_ratio{interval="poll"} 1.5',
        'vps_operator_interval_stretch_ratio{interval="resync"} 2',
        'vps_operator_journal_broken 1',
        'vps_operator_build_info{version="1.2.3"} 1',
      ]),
    );
  });

  it('count reported events, in seconds', async () => {
    const { instance, lines } = metrics();
    const [virtualserver, servercatalog] = [instance.loop('virtualserver'), instance.loop('servercatalog')];
    virtualserver.keyAdded();
    virtualserver.keyTaken(20);
    virtualserver.keyDone(2_000);
    virtualserver.keyRetried();
    virtualserver.visited('error', 300);
    virtualserver.visited('requeue_after', 100);
    servercatalog.keyAdded();
    servercatalog.keyAdded();
    servercatalog.visited('requeue', 500);
    instance.provisioned(61_000);
    instance.serverLost();
    instance.login('refused');
    instance.kubeRequest({ method: 'PATCH', status: 409 });
    instance.kubeRequest({ method: 'GET', status: undefined });
    instance.providerRequest({ operation: 'pollTask', status: 303, durationMs: 250 });
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'workqueue_adds_total{name="virtualserver"} 1',
        'workqueue_adds_total{name="servercatalog"} 2',
        'workqueue_retries_total{name="virtualserver"} 1',
        'workqueue_retries_total{name="servercatalog"} 0',
        'controller_runtime_reconcile_total{controller="servercatalog",result="requeue"} 1',
        'controller_runtime_reconcile_errors_total{controller="servercatalog"} 0',
        'controller_runtime_reconcile_time_seconds_sum{controller="servercatalog"} 0.5',
        'workqueue_queue_duration_seconds_sum{name="virtualserver"} 0.02',
        'workqueue_work_duration_seconds_sum{name="virtualserver"} 2',
        'controller_runtime_reconcile_total{controller="virtualserver",result="error"} 1',
        'controller_runtime_reconcile_total{controller="virtualserver",result="requeue_after"} 1',
        'controller_runtime_reconcile_total{controller="virtualserver",result="success"} 0',
        'controller_runtime_reconcile_errors_total{controller="virtualserver"} 1',
        'controller_runtime_reconcile_time_seconds_sum{controller="virtualserver"} 0.4',
        'vps_operator_provisioning_duration_seconds_bucket{le="60"} 0',
        'vps_operator_provisioning_duration_seconds_bucket{le="120"} 1',
        'vps_operator_lost_servers_total 1',
        'vps_operator_token_logins_total{result="refused"} 1',
        'rest_client_requests_total{code="409",method="PATCH"} 1',
        'rest_client_requests_total{code="<error>",method="GET"} 1',
        'vps_operator_provider_requests_total{operation="pollTask",result="success"} 1',
        'vps_operator_provider_request_duration_seconds_sum{operation="pollTask"} 0.25',
      ]),
    );
  });

  it('drop reasons that no object has, but always keep Available', async () => {
    const { instance } = metrics();
    const servers = async (...names: string[]): Promise<string[]> => {
      const vitals = { ...VITALS, objects: () => names.map((name) => stored(name)) };
      const { body } = await instance.page({ vitals, leads: true, now: 0 });
      return body.split('\n').filter((line) => line.startsWith('vps_operator_servers{'));
    };
    const available = 'vps_operator_servers{ready="True",reason="Available"} 0';
    expect(await servers('web')).toEqual([available, 'vps_operator_servers{ready="Unknown",reason="Pending"} 1']);
    expect(await servers()).toEqual([available]);
  });

  it('count catalogs by readiness and reason', async () => {
    const { instance } = metrics();
    const conditions = [condition('Ready', 'False', 'SecretNotFound'), condition('Stalled', 'True', 'SecretNotFound')];
    const catalogs = [
      storedCatalog('new'),
      ...['a', 'b'].map((name) => storedCatalog(name, { status: { conditions } })),
    ];
    const { body } = await instance.page({ vitals: { ...VITALS, catalogs: () => catalogs }, leads: true, now: 0 });
    expect(body.split('\n').filter((line) => line.startsWith('vps_operator_catalogs{'))).toEqual([
      'vps_operator_catalogs{ready="True",reason="Available"} 0',
      'vps_operator_catalogs{ready="Unknown",reason="Pending"} 1',
      'vps_operator_catalogs{ready="False",reason="SecretNotFound"} 2',
    ]);
  });

  it('show each set by name, and its members by state', async () => {
    const { instance } = metrics();
    const conditions = [condition('Ready', 'False', 'RollingOut'), condition('Reconciling', 'True', 'RollingOut')];
    const status = { replicas: 4, readyReplicas: 3, updatedReplicas: 1, availableReplicas: 2, price: 9.5, conditions };
    const sets = [{ ...webSet({ replicas: 4, maxUnavailable: '50%' }), status }];
    const lines = async (found: VirtualServerSet[]): Promise<string[]> => {
      const page = await instance.page({ vitals: { ...VITALS, sets: () => found }, leads: true, now: 0 });
      return page.body.split('\n').filter((line) => /^vps_operator_sets?[_{]/.test(line));
    };
    const web = 'object_namespace="default",set="web"';
    expect(await lines(sets)).toEqual([
      'vps_operator_sets{ready="True",reason="Available"} 0',
      'vps_operator_sets{ready="False",reason="RollingOut"} 1',
      `vps_operator_set_spec_replicas{${web}} 4`,
      `vps_operator_set_status_replicas{${web},state="all"} 4`,
      `vps_operator_set_status_replicas{${web},state="ready"} 3`,
      `vps_operator_set_status_replicas{${web},state="updated"} 1`,
      `vps_operator_set_status_replicas{${web},state="available"} 2`,
      `vps_operator_set_status_replicas{${web},state="terminating"} 0`,
      `vps_operator_set_status_replicas{${web},state="unresolved"} 0`,
      `vps_operator_set_min_available{${web}} 2`,
      `vps_operator_set_status_price{${web}} 9.5`,
    ]);
    expect(await lines([])).toEqual(['vps_operator_sets{ready="True",reason="Available"} 0']);
  });

  it('never throw into the operator, and report only the first failure', () => {
    const { instance, faults } = metrics();
    instance.loop('virtualserver').keyTaken(NaN);
    instance.loop('virtualserver').visited('success', Infinity);
    expect(faults).toHaveLength(1);
  });

  it.each([
    [{ operation: 'readServer', status: 200 }, 'success'],
    [{ operation: 'createServer', status: 202 }, 'success'],
    [{ operation: 'pollTask', status: 303 }, 'success'],
    [{ operation: 'readServer', status: 303 }, 'protocol_error'],
    [{ operation: 'readServer', status: 101 }, 'protocol_error'],
    [{ operation: 'login', status: 401 }, 'unauthorized'],
    [{ operation: 'readServer', status: 404 }, 'not_found'],
    [{ operation: 'readServer', status: 429 }, 'rate_limited'],
    [{ operation: 'createServer', status: 422 }, 'client_error'],
    [{ operation: 'createServer', status: 503 }, 'server_error'],
    [{ operation: 'createServer', status: 202, code: 'PROVIDER_TIMEOUT' }, 'timeout'],
    [{ operation: 'images', code: 'PROVIDER_UNREACHABLE' }, 'unreachable'],
    [{ operation: 'images', code: 'PROVIDER_PROTOCOL' }, 'protocol_error'],
    [{ operation: 'deleteServer', code: 'PROVIDER_WITHHELD' }, 'withheld'],
    [{ operation: 'images', code: 'PROVIDER_RATE_LIMITED' }, 'rate_limited'],
    [{ operation: 'images' }, 'unreachable'],
  ] as const)('label %j as %s', (info, result) => {
    expect(providerResult({ ...info, durationMs: 1 })).toBe(result);
  });
});
