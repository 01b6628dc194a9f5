/** The alerts, evaluated by Prometheus' own code: each fires for its purpose and for nothing else. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { SET_REASONS, type Meaning } from '../../../src/api/conditions.ts';
import { CASES } from './alert-cases.ts';
import { askPromql, BUILD_MS, buildPromql, readRules, ROOT, type Firing, type Rule } from './promql.ts';
import { always, everySeries, SET, seriesOf } from './replicas.ts';

let file: string;
let rules: Rule[];
beforeAll(async () => {
  await buildPromql();
  ({ file, rules } = await readRules());
}, BUILD_MS);

const NAMESPACE = 'vps-operator-system';
const cases = Object.entries(CASES).flatMap(([about, list]) => list.map((one) => ({ about, ...one })));

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

  it('have a case in which they fire and one in which they are silent', () => {
    for (const { alert } of rules) {
      const own = cases.filter(({ about }) => about === alert);
      expect(
        own.some(({ fires }) => fires.includes(alert)),
        `${alert} fires`,
      ).toBe(true);
      expect(
        own.some(({ fires }) => !fires.includes(alert)),
        `${alert} is silent`,
      ).toBe(true);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it('state their severity, a summary, and where to read more', () => {
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^VPSOperator[A-Z][A-Za-z]+$/);
      expect(['critical', 'warning'], alert).toContain(labels['severity']);
      expect(Object.keys(annotations).sort(), alert).toEqual(['description', 'runbook_url', 'summary']);
      const url = `https://github.com/vps-operator/vps-operator/blob/main/docs/reference/alerts.md#${alert.toLowerCase()}`;
      expect(annotations['runbook_url']).toBe(url);
    }
  });

  it('have exactly one row and one paragraph each in docs/reference/alerts.md', async () => {
    const page = await readFile(join(ROOT, 'docs/reference/alerts.md'), 'utf8');
    const alerts = rules.map(({ alert }) => alert).sort();
    const paragraphs = page.matchAll(/^### (VPSOperator\w+)\n\S/gm);
    expect([...paragraphs].map(([, name]) => name).sort()).toEqual(alerts);
    const rows = page.matchAll(/^\| \[`(VPSOperator\w+)`\]\(#(\w+)\) \| (\w+) \|.*\| (\w[\w ]*) \|$/gm);
    const expected = rules.map(({ alert, labels, for: after = 'at once' }) => [
      alert,
      alert.toLowerCase(),
      labels['severity'],
      after,
    ]);
    expect([...rows].map(([, ...row]) => row).sort()).toEqual(expected.sort());
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

  it('cover every reason with which a set is Stalled', () => {
    const stalled = Object.entries<Partial<Meaning>>(SET_REASONS).filter(([, { phase }]) => phase === 'stalled');
    const own = rules.find(({ alert }) => alert === 'VPSOperatorSetStalled')?.expr ?? '';
    const [, named = ''] = /reason=~"(.*)"/.exec(own) ?? [];
    expect([...named.split('|'), 'MemberUnresolved'].sort()).toEqual(stalled.map(([reason]) => reason).sort());
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
