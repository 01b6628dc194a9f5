/** The monitoring overlay on a real API server with the prometheus-operator's CRDs. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { HELM_BUILD_MS, LEAST, useHelm, type Helm } from './helm.ts';
import { established, ROOT, startEmptyCluster, type Cluster } from '../integration/deploy/cluster.ts';

/** The CRDs are not a package, so they are read from the module's source; the checksum is the one for go.sum. */
const MODULE = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const SUM = 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=';
const PATH = 'deploy/manifests/overlays/monitoring';

let cluster: Cluster;
let folder: string;
let helm: Helm;

beforeAll(async () => {
  helm = await useHelm();
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-monitoring-'));
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', MODULE], { cwd: folder });
  const { Dir, Sum } = JSON.parse(stdout) as { Dir: string; Sum: string };
  expect(Sum).toBe(SUM);
  cluster = await startEmptyCluster();
  for (const kind of ['servicemonitors', 'prometheusrules']) {
    const file = join(Dir, 'example/prometheus-operator-crd', `monitoring.coreos.com_${kind}.yaml`);
    await cluster.kubectl('create', '-f', file);
    await established((...args) => cluster.kubectl(...args), `crd/${kind}.monitoring.coreos.com`);
  }
  await cluster.kubectl('create', 'namespace', 'vps-operator-system');
}, HELM_BUILD_MS);
afterAll(async () => {
  await cluster.stop();
  await helm.remove();
  await rm(folder, { recursive: true });
});

it('is accepted in a dry run without a warning', async () => {
  const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-k', PATH];
  const { stdout, stderr } = await cluster.kubectlWithWarnings(...args);
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n').sort()).toEqual([
    'configmap/vps-operator-dashboard serverside-applied (server dry run)',
    'prometheusrule.monitoring.coreos.com/vps-operator serverside-applied (server dry run)',
    'servicemonitor.monitoring.coreos.com/vps-operator serverside-applied (server dry run)',
  ]);
});

it('would be rejected with a field that the prometheus-operator does not know', async () => {
  const built = await cluster.kubectl('kustomize', PATH);
  await writeFile(join(folder, 'wrong.yaml'), built.replace('scrapeTimeout:', 'timeout:'));
  const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', join(folder, 'wrong.yaml')];
  await expect(cluster.kubectl(...args)).rejects.toThrow('timeout');
});

it('can be combined with the base, also in another namespace, and selects its Service', async () => {
  const built = { 'base.yaml': 'deploy/manifests/base', 'monitoring.yaml': PATH };
  for (const [file, path] of Object.entries(built))
    await writeFile(join(folder, file), await cluster.kubectl('kustomize', path));
  const both = { namespace: 'team-a', resources: Object.keys(built) };
  await writeFile(join(folder, 'kustomization.yaml'), JSON.stringify(both));
  const objects = parseAllDocuments(await cluster.kubectl('kustomize', folder)).map(
    (document) => document.toJS() as Found,
  );
  const of = (kind: string): Found | undefined => objects.find((object) => object.kind === kind);
  const [service, monitor] = [of('Service'), of('ServiceMonitor')];
  expect(monitor?.metadata.namespace).toBe('team-a');
  expect(service?.metadata).toMatchObject({ namespace: 'team-a', labels: monitor?.spec?.selector.matchLabels });
  expect(service?.metadata.labels[monitor?.spec?.jobLabel ?? '']).toBe('vps-operator');
  expect(service?.spec?.ports?.map(({ name }) => name)).toEqual(monitor?.spec?.endpoints?.map(({ port }) => port));
  const dashboard = of('ConfigMap');
  expect(dashboard?.metadata).toMatchObject({ name: 'vps-operator-dashboard', labels: { grafana_dashboard: '1' } });
  expect(JSON.parse(dashboard?.data?.['vps-operator.json'] ?? '')).toMatchObject({ uid: 'vps-operator' });
});

it('takes TLS and a token as docs/how-to/monitoring.md says', async () => {
  const page = await readFile(join(ROOT, 'docs/how-to/monitoring.md'), 'utf8');
  const [, block = ''] = /```text\n( +patches:\n.*?) +```/s.exec(page) ?? [];
  await writeFile(join(folder, 'monitoring.yaml'), await cluster.kubectl('kustomize', PATH));
  const text = block.replaceAll(/^ {3}/gm, '');
  await writeFile(join(folder, 'kustomization.yaml'), `resources: [monitoring.yaml]\n${text}`);
  await writeFile(join(folder, 'secure.yaml'), await cluster.kubectl('kustomize', folder));
  const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', join(folder, 'secure.yaml')];
  const { stderr } = await cluster.kubectlWithWarnings(...args);
  expect(stderr).toBe('');
  const secure = parseAllDocuments(await readFile(join(folder, 'secure.yaml'), 'utf8'))
    .map((document) => document.toJS() as Found)
    .find(({ kind }) => kind === 'ServiceMonitor');
  expect(secure?.spec?.endpoints).toMatchObject([
    { port: 'metrics', scheme: 'https', bearerTokenFile: expect.stringMatching(/token$/) as string },
  ]);
});

it('takes the token from a Secret if the chart is set to', async () => {
  const render = async (...values: string[]): Promise<string> => {
    const on = ['serviceMonitor.enabled', 'secure.enabled'].map((name) => `--set=metrics.${name}=true`);
    return helm.render('--values', LEAST, '--show-only=templates/servicemonitor.yaml', ...on, ...values);
  };
  const endpoint = { port: 'metrics', scheme: 'https' };
  const credentials = { name: 'reader', key: 'token' };
  for (const [values, token] of [
    [[], { bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' }],
    [['--set=metrics.serviceMonitor.tokenSecret.name=reader'], { authorization: { credentials } }],
  ] as const) {
    const file = join(folder, 'chart.yaml');
    await writeFile(file, await render(...values));
    const args = ['create', '--dry-run=server', '--validate=strict', '-o', 'json', '-f', file];
    const { spec } = JSON.parse(await cluster.kubectl(...args)) as Found;
    expect(spec?.endpoints).toMatchObject([{ ...endpoint, ...token }]);
    const [{ bearerTokenFile, authorization } = {}] = spec?.endpoints ?? [];
    expect([bearerTokenFile, authorization].filter((one) => one !== undefined)).toHaveLength(1);
  }
});

it('takes the relabelings of the chart', async () => {
  const relabelings = [{ sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' }];
  const metricRelabelings = [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }];
  const values = join(folder, 'values.json');
  const serviceMonitor = { enabled: true, relabelings, metricRelabelings };
  await writeFile(values, JSON.stringify({ metrics: { serviceMonitor } }));
  const only = '--show-only=templates/servicemonitor.yaml';
  const file = join(folder, 'relabeled.yaml');
  await writeFile(file, await helm.render('--values', LEAST, '--values', values, only));
  const args = ['create', '--dry-run=server', '--validate=strict', '-o', 'json', '-f', file];
  const { spec } = JSON.parse(await cluster.kubectl(...args)) as Found;
  expect(spec?.endpoints).toMatchObject([{ relabelings, metricRelabelings }]);
});

interface Found {
  kind: string;
  metadata: { name: string; namespace?: string; labels: Record<string, string> };
  data?: Record<string, string>;
  spec?: {
    selector: { matchLabels: Record<string, string> };
    jobLabel?: string;
    endpoints?: { port: string; bearerTokenFile?: string; authorization?: object }[];
    ports?: { name: string }[];
  };
}
