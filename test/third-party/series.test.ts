/** Checks every expression of the alerts and the dashboard against what a real operator exposes. */
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { REASONS, SET_REASONS } from '../../src/api/conditions.ts';
import { DASHBOARD_FILE } from '../../tools/dashboard/main.ts';
import type { Dashboard, Panel } from '../../tools/dashboard/grafana.ts';
import { createListing } from '../integration/support/listing.ts';
import { readyServer } from '../integration/support/records.ts';
import { spawnOperator } from '../integration/support/process.ts';
import { pageUrl, scrape, type Sample } from '../integration/support/scrape.ts';
import { createSet } from '../integration/support/sets.ts';
import { createWorld } from '../integration/support/world.ts';
import { CASES } from './alert-cases.ts';
import { askPromql, BUILD_MS, buildPromql, type Expression, type Selector } from './promql.ts';
import { readRules } from '../integration/monitoring/rules.ts';
import { seriesOf } from './replicas.ts';

/** Labels that Prometheus adds to each scraped series, and its own series about the scrape. */
const OF_THE_TARGET = ['job', 'namespace', 'pod'];
const OF_PROMETHEUS = ['up'];

/** Label values that exist only when they apply; the tests of the metrics check that they do. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  'vps_operator_servers reason': Object.keys(REASONS),
  'vps_operator_servers ready': ['True', 'False', 'Unknown'],
  'vps_operator_sets reason': Object.keys({ ...REASONS, ...SET_REASONS }),
  'vps_operator_sets ready': ['True', 'False', 'Unknown'],
  'vps_operator_set_status_replicas object_namespace': ['default'],
  'vps_operator_set_min_available object_namespace': ['default'],
  'vps_operator_catalog_servers object_namespace': ['team'],
};

let samples: Sample[];

beforeAll(async () => {
  await buildPromql();
}, BUILD_MS);

/** Samples of an operator that leads, has ordered one server, lists it, and keeps one set, which wants none. */
async function realSamples(): Promise<Sample[]> {
  const world = await createWorld({ operator: false, simulator: { api: 'public' } });
  await spawnOperator(world, ['--metrics-bind-address=127.0.0.1:0']);
  const url = await pageUrl(world, '/metrics');
  await readyServer(world, 'web');
  await createListing(world);
  await createSet(world, { replicas: 0 });
  // The operator counts from its cache, which may see the Ready server later than the test.
  let running: Sample[] = [];
  const counts = async (): Promise<string[]> =>
    (running = (await scrape(url)).flatMap((family) => family.samples)).map(({ name }) => name);
  const wanted = ['vps_operator_namespace_servers', 'vps_operator_set_spec_replicas', 'vps_operator_catalog_servers'];
  await expect.poll(counts).toEqual(expect.arrayContaining(wanted));
  return running;
}

/** The expression as Grafana sends it. */
const filledIn = (expr: string): string => expr.replaceAll('$__rate_interval', '5m');

async function dashboardExpressions(): Promise<string[]> {
  const { panels, templating } = JSON.parse(await readFile(DASHBOARD_FILE, 'utf8')) as Dashboard;
  const asked = panels.filter((panel): panel is Panel => panel.type !== 'row').flatMap(({ targets }) => targets);
  const variables = (templating?.list ?? []).flatMap(({ query }) => {
    const text = typeof query === 'object' ? String(query['query']) : '';
    const [, selector, label] = /^label_values\((.*), (\w+)\)$/.exec(text) ?? [];
    return selector === undefined || label === undefined ? [] : [`count by (${label}) (${selector})`];
  });
  expect(variables).toHaveLength(3);
  return [...asked.map(({ expr }) => filledIn(expr)), ...variables];
}

async function takenApart(expressions: string[]): Promise<Expression[]> {
  const { expressions: parts } = await askPromql({ expressions });
  expect(parts.flatMap(({ error = [] }) => error)).toEqual([]);
  expect(parts).toHaveLength(expressions.length);
  return parts;
}

/** Series, labels and values of the expression that do not exist. */
function missing({ selectors, labels }: Expression): string[] {
  const problems = selectors.filter(({ metric }) => !OF_PROMETHEUS.includes(metric)).flatMap(missingIn);
  const own = selectors.flatMap(({ metric }) => labelsOf(metric));
  const unknown = labels.filter((label) => !OF_THE_TARGET.includes(label) && !own.includes(label));
  return [...problems, ...unknown.map((label) => `no series has the label ${label}`)];
}

function missingIn({ metric, matchers }: Selector): string[] {
  if (samples.every(({ name }) => name !== metric)) return [`there is no series ${metric}`];
  return matchers
    .filter(({ label }) => !OF_THE_TARGET.includes(label))
    .flatMap(({ label, type, value }) => {
      if (!labelsOf(metric).includes(label)) return [`${metric} has no label ${label}`];
      const present = new Set(samples.filter(({ name }) => name === metric).map(({ labels }) => labels[label]));
      const values = [...(KNOWN[`${metric} ${label}`] ?? []), ...present];
      const wanted = type.endsWith('~') ? value.split('|') : [value];
      return wanted.filter((one) => !values.includes(one)).map((one) => `${metric} has no ${label}="${one}"`);
    });
}

const labelsOf = (metric: string): string[] =>
  samples.filter(({ name }) => name === metric).flatMap(({ labels }) => Object.keys(labels));

describe('a real operator', () => {
  it('exposes every series, label and value that alerts, dashboard and alert cases use', async () => {
    samples = await realSamples();
    const { rules } = await readRules();
    const cases = Object.values(CASES).flatMap((list) => list.flatMap(({ change }) => Object.keys(seriesOf(change))));
    const expressions = [...rules.map(({ expr }) => expr), ...(await dashboardExpressions()), ...new Set(cases)];
    const parts = await takenApart(expressions);
    const problems = parts.flatMap((part, index) =>
      missing(part).map((problem) => `${problem}: ${expressions[index] ?? ''}`),
    );
    expect(problems).toEqual([]);

    // Checks that the same function detects errors.
    const wrong = await takenApart([
      'vps_operator_parked_orders{job="vps-operator"}',
      'vps_operator_provider_requests_total{outcome="success"}',
      'vps_operator_provider_requests_total{result=~"success|broken"}',
      'sum by (object) (vps_operator_servers)',
    ]);
    expect(wrong.map(missing)).toEqual([
      ['there is no series vps_operator_parked_orders'],
      ['vps_operator_provider_requests_total has no label outcome'],
      ['vps_operator_provider_requests_total has no result="broken"'],
      ['no series has the label object'],
    ]);
  });

  it('exposes only series that have a panel or an alert', async () => {
    const { rules } = await readRules();
    const parts = await takenApart([...rules.map(({ expr }) => expr), ...(await dashboardExpressions())]);
    const used = new Set(
      parts.flatMap(({ selectors }) => selectors.map(({ metric }) => metric.replace(/_bucket$/, ''))),
    );
    const own = new Set(
      (await realSamples())
        .map(({ name }) => name.replace(/_(bucket|sum|count)$/, ''))
        .filter((name) => name.startsWith('vps_operator_')),
    );
    expect([...own].filter((name) => !used.has(name))).toEqual([]);
  });
});
