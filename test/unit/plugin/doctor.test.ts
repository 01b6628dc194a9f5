/** The checks of `kubectl vps doctor` that depend on versions and clocks, and the policies that it expects. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { checkApiServer, checkDefinitions, GUARDS } from '../../../src/plugin/checks/installation.ts';
import type { ClusterView } from '../../../src/plugin/cluster.ts';
import { skew } from '../../../src/plugin/skew.ts';

/** Answers every path as `answers` says; others with `{}`. */
function cluster(answers: Record<string, object>, serverTime?: number): ClusterView {
  const ask = ({ path }: { path: string }) => Promise.resolve(answers[path] ?? {});
  return { ask, where: ' --context=c', serverTime: () => serverTime } as unknown as ClusterView;
}

const NOW = Date.parse('2026-01-01T00:00:00Z');

describe('the clock', () => {
  it.each([
    [0, 'ok', 'agrees'],
    [4_999, 'ok', 'agrees'],
    [-300_000, 'wrong', '5m behind'],
    [20_000, 'wrong', '20s ahead of'],
  ])('%d ms ahead is %s', async (ahead, state, says) => {
    const [, clock] = await checkApiServer(cluster({}, NOW - ahead), () => NOW);
    expect(clock).toMatchObject({ state, message: expect.stringContaining(says) as string });
  });

  it('is unknown if the API server does not tell the time', async () => {
    expect((await checkApiServer(cluster({}), () => NOW))[1]?.state).toBe('unknown');
  });
});

describe('the CRDs', () => {
  const PLURALS = ['virtualservers', 'virtualserversets', 'servercatalogs'];
  const definitions = (versions: readonly (string | undefined)[], plurals = PLURALS): ClusterView =>
    cluster({
      '/apis': { groups: [{ name: 'apps' }, { name: 'vps-operator.dev' }] },
      '/apis/vps-operator.dev/v1alpha1': { resources: plurals.map((name) => ({ name })) },
      ...Object.fromEntries(
        PLURALS.map((plural, index) => {
          const labels = { 'app.kubernetes.io/version': versions[index] };
          return [
            `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.vps-operator.dev`,
            { metadata: versions[index] === undefined ? {} : { labels } },
          ];
        }),
      ),
    });

  it.each<[string, ClusterView, string | undefined, string, string]>([
    ['of the version of the operator', definitions(['1.2.3', '1.2.3', '1.2.3']), '1.2.3', 'ok', 'version 1.2.3'],
    [
      'older than the operator',
      definitions(['1.2.3', '1.2.3', '1.2.3']),
      '1.3.0',
      'wrong',
      'but the operator is 1.3.0',
    ],
    ['of different versions', definitions(['1.2.3', '1.2.3', undefined]), '1.2.3', 'wrong', '1.2.3, none'],
    ['without a version', definitions([]), '1.2.3', 'ok', 'without a label'],
    [
      'beside an operator of unknown version',
      definitions(['1.2.3', '1.2.3', '1.2.3']),
      undefined,
      'ok',
      'version 1.2.3',
    ],
    [
      'of which one is missing',
      definitions([], ['virtualservers', 'servercatalogs']),
      '1.2.3',
      'wrong',
      'virtualserversets of',
    ],
    ['that are missing', cluster({ '/apis': { groups: [] } }), '1.2.3', 'wrong', 'are not installed'],
  ])('%s', async (_what, view, operator, state, says) => {
    expect(await checkDefinitions(view, operator)).toMatchObject({
      state,
      message: expect.stringContaining(says) as string,
    });
  });
});

it('expects the policies that deploy/guards.yaml installs', () => {
  const yaml = readFileSync(join(import.meta.dirname, '../../../deploy/guards.yaml'), 'utf8');
  const objects = parseAllDocuments(yaml).map(
    (document) => document.toJS() as { kind: string; metadata: { name: string } },
  );
  for (const kind of ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']) {
    const names = objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual([...GUARDS].sort());
  }
});

describe('the versions of operator and plugin', () => {
  it.each([
    ['0.1.0', '0.2.0', 'the operator is version 0.1.0, older than this plugin (0.2.0)'],
    ['v1.10.0', '1.9.1', 'the operator is version v1.10.0, newer than this plugin (1.9.1)'],
    ['1.0.0', '1.0.0', undefined],
    ['1.0.0-rc.1', '1.0.0', undefined],
    ['development', '1.0.0', undefined],
    ['1.0.0', 'development', undefined],
  ])('%s and %s', (operator, plugin, says) => {
    if (says === undefined) expect(skew(operator, plugin)).toBeUndefined();
    else expect(skew(operator, plugin)).toContain(says);
  });
});
