/** The alerts, evaluated by Prometheus' own code: each fires for its purpose and for nothing else. */
import { beforeAll, describe, expect, it } from 'vitest';
import { CASES } from './alert-cases.ts';
import { askPromql, BUILD_MS, buildPromql, type Firing } from './promql.ts';
import { readRules } from '../integration/monitoring/rules.ts';
import { always, everySeries, SET, seriesOf } from './replicas.ts';

let file: string;
beforeAll(async () => {
  await buildPromql();
  ({ file } = await readRules());
}, BUILD_MS);

const NAMESPACE = 'vps-operator-system';

async function firing(series: Record<string, string>, minutes: number): Promise<Firing[]> {
  const { errors, cases: outcomes } = await askPromql({ rules: file, cases: [{ name: 'it', series, minutes }] });
  expect(errors).toEqual([]);
  return outcomes[0]?.firing ?? [];
}
const names = (alerts: Firing[]): (string | undefined)[] => alerts.map(({ labels }) => labels['alertname']);

describe.each(Object.keys(CASES))('%s', (about) => {
  it.each(CASES[about] ?? [])('$sentence', async ({ change, minutes, fires }) => {
    const alerts = await firing(seriesOf(change), minutes);
    expect(names(alerts)).toEqual(fires);
    expect(JSON.stringify(alerts)).not.toMatch(/<no value>|<error|NaN/);
  });
});

describe('the alerts', () => {
  it('are rules that Prometheus accepts', async () => {
    expect((await askPromql({ rules: file })).errors).toEqual([]);
    expect((await askPromql({ rules: file.replace('absent(', 'absence(') })).errors.join()).toContain('absence');
    expect(
      (await askPromql({ rules: file.replace('summary: No replica', 'summary: "{{ $labels. }}"\n#') })).errors,
    ).not.toEqual([]);
  });

  it('name the operator and the amount in their annotations', async () => {
    const change = { vps_operator_orphaned_servers: { leader: always(3), standby: always(0) } };
    const [orphaned] = await firing(seriesOf(change), 10);
    expect(orphaned?.labels).toMatchObject({ namespace: NAMESPACE, severity: 'critical' });
    expect(orphaned?.annotations['description']).toMatch(/^3 servers may exist/);
  });

  it('name a set in the alerts about one set', async () => {
    const change = { [`vps_operator_set_status_replicas{${SET},state="unresolved"}`]: { leader: always(2) } };
    const [unresolved] = await firing(seriesOf(change), 10);
    expect(unresolved?.annotations['description']).toMatch(
      /^2 members of the VirtualServerSet default\/web are unresolved/,
    );
  });

  it('distinguish two operators in one cluster', async () => {
    const sick = { vps_operator_journal_broken: { leader: always(1), standby: always(0) } };
    const dead = everySeries(() => undefined);
    const deadButFound = { ...dead, up: { leader: always(0), standby: always(0) } };
    const alerts = await firing(
      { ...seriesOf({}), ...seriesOf(sick, 'team-a'), ...seriesOf(deadButFound, 'team-b') },
      30,
    );
    expect(alerts.map(({ labels }) => `${labels['alertname'] ?? ''} ${labels['namespace'] ?? ''}`).sort()).toEqual([
      'VPSOperatorDown team-b',
      'VPSOperatorJournalBroken team-a',
    ]);
  });
});
