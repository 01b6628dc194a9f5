import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../src/api/meta.ts';
import type { Vitals } from '../../../src/observability/vitals.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { createMetricsPage } from '../../../src/observability/metrics.ts';
import { storedCatalog } from '../../fixtures/server-catalog.ts';
import { webSet } from '../../fixtures/virtual-server-set.ts';
import { stored } from '../../fixtures/virtual-server.ts';

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
  ordersGo: () => ({ named: 3, anonymous: 2, refused: 1, unknown: 0 }),
};

function condition(type: string, status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
}

function metricsPage() {
  const page = createMetricsPage(new Metrics(), '1.2.3');
  const lines = async (): Promise<string[]> => (await page({ vitals: VITALS, leads: false, now: 0 })).body.split('\n');
  return { page, lines };
}

describe('metrics', () => {
  it('show the values read on request, in seconds', async () => {
    const { lines } = metricsPage();
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

  it('drop reasons that no object has, but always keep Available', async () => {
    const { page } = metricsPage();
    const servers = async (...names: string[]): Promise<string[]> => {
      const vitals = { ...VITALS, objects: () => names.map((name) => stored(name)) };
      const { body } = await page({ vitals, leads: true, now: 0 });
      return body.split('\n').filter((line) => line.startsWith('vps_operator_servers{'));
    };
    const available = 'vps_operator_servers{ready="True",reason="Available"} 0';
    expect(await servers('web')).toEqual([available, 'vps_operator_servers{ready="Unknown",reason="Pending"} 1']);
    expect(await servers()).toEqual([available]);
  });

  it('count the servers of catalogs that list them', async () => {
    const { page } = metricsPage();
    const status = { serverCounts: { all: 10, orphaned: 2, unclear: 1 } };
    const catalogs = [storedCatalog('a'), storedCatalog('b', { status })];
    const { body } = await page({ vitals: { ...VITALS, catalogs: () => catalogs }, leads: true, now: 0 });
    expect(body.split('\n').filter((line) => line.startsWith('vps_operator_catalog_servers{'))).toEqual([
      'vps_operator_catalog_servers{object_namespace="default",catalog="b",state="held"} 7',
      'vps_operator_catalog_servers{object_namespace="default",catalog="b",state="orphaned"} 2',
      'vps_operator_catalog_servers{object_namespace="default",catalog="b",state="unclear"} 1',
    ]);
  });

  it('count accounts by the way of their orders', async () => {
    const { body } = await metricsPage().page({ vitals: VITALS, leads: true, now: 0 });
    expect(body.split('\n').filter((line) => line.startsWith('vps_operator_accounts{'))).toEqual([
      'vps_operator_accounts{orders="named"} 3',
      'vps_operator_accounts{orders="anonymous"} 3',
      'vps_operator_accounts{orders="unknown"} 0',
    ]);
  });

  it('count catalogs by readiness and reason', async () => {
    const { page } = metricsPage();
    const conditions = [condition('Ready', 'False', 'SecretNotFound'), condition('Stalled', 'True', 'SecretNotFound')];
    const catalogs = [
      storedCatalog('new'),
      ...['a', 'b'].map((name) => storedCatalog(name, { status: { conditions } })),
    ];
    const { body } = await page({ vitals: { ...VITALS, catalogs: () => catalogs }, leads: true, now: 0 });
    expect(body.split('\n').filter((line) => line.startsWith('vps_operator_catalogs{'))).toEqual([
      'vps_operator_catalogs{ready="True",reason="Available"} 0',
      'vps_operator_catalogs{ready="Unknown",reason="Pending"} 1',
      'vps_operator_catalogs{ready="False",reason="SecretNotFound"} 2',
    ]);
  });

  it('show each set by name, and its members by state', async () => {
    const { page } = metricsPage();
    const conditions = [condition('Ready', 'False', 'RollingOut'), condition('Reconciling', 'True', 'RollingOut')];
    const status = { replicas: 4, readyReplicas: 3, updatedReplicas: 1, availableReplicas: 2, price: 9.5, conditions };
    const sets = [{ ...webSet({ replicas: 4, maxUnavailable: '50%' }), status }];
    const lines = async (found: VirtualServerSet[]): Promise<string[]> => {
      const { body } = await page({ vitals: { ...VITALS, sets: () => found }, leads: true, now: 0 });
      return body.split('\n').filter((line) => /^vps_operator_sets?[_{]/.test(line));
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
});
