/** The Helm chart without an API server: it renders the same objects as the manifests, and passes its own tests. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { CHART, readme } from '../../tools/chart/main.ts';
import { goProgram } from '../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../tools/go-programs.ts';
import { kustomize } from '../../tools/manifests.ts';
import { HELM_BUILD_MS, LEAST, manifestsIn, useHelm, type Helm, type Manifest } from './helm.ts';
import { SYSTEM } from '../integration/deploy/pod.ts';

const MANIFESTS = 'deploy/manifests';
/** Labels that tell the tool and the release, not the object. */
const OF_THE_TOOL = [
  'app.kubernetes.io/managed-by',
  'app.kubernetes.io/instance',
  'app.kubernetes.io/version',
  'helm.sh/chart',
];

/** Lists in which the order has no meaning. kustomize puts the entries of a component first. */
const UNORDERED = ['env', 'volumes', 'volumeMounts'];

let helm: Helm;
beforeAll(async () => {
  helm = await useHelm();
}, HELM_BUILD_MS);
afterAll(() => helm.remove());

const build = async (folder: string, ...components: string[]): Promise<Manifest[]> =>
  manifestsIn(
    await kustomize(inject('kubectl'), `${MANIFESTS}/${folder}`, ...components.map((one) => `${MANIFESTS}/${one}`)),
  );

/** The part of an installation for one watched namespace. */
const watched = async (folder: string, namespace: string): Promise<Manifest[]> =>
  (await build(folder)).map((one) => ({ ...one, metadata: { ...one.metadata, namespace } }));

interface Named {
  name: string;
}

const sorted = (list: Named[]): Named[] => list.toSorted((a, b) => (a.name < b.name ? -1 : 1));

function normalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalized);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([key]) => !OF_THE_TOOL.includes(key) && key !== 'helm.sh/resource-policy')
    .map(([key, inner]) => [key, normalized(UNORDERED.includes(key) ? sorted(inner as Named[]) : inner)] as const)
    .filter(([key, inner]) => !(['annotations', 'labels', 'env'].includes(key) && isEmpty(inner)));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const isEmpty = (value: unknown): boolean => Object.keys(value as object).length === 0;

/** Objects by kind, namespace and name. Helm itself creates the Namespace, if asked to. */
function byName(manifests: Manifest[]): Record<string, unknown> {
  const own = manifests.filter(({ kind }) => kind !== 'Namespace');
  const named = own.map((one) => [nameOf(one), normalized(one)] as const);
  expect(new Set(named.map(([name]) => name)).size).toBe(own.length);
  return Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

interface Deployment extends Manifest {
  spec: { template: { spec: { containers: { args: string[]; env?: { name: string }[] }[] } } };
}

/**
 * The chart passes the watched namespaces as a flag, because it knows them. The manifests take them from the ConfigMap.
 * This removes both.
 */
function withoutWatched(manifests: Manifest[]): { manifests: Manifest[]; removed: unknown[] } {
  const removed: unknown[] = [];
  const copy = structuredClone(manifests);
  for (const { spec } of copy.filter(({ kind }) => kind === 'Deployment') as Deployment[]) {
    for (const container of spec.template.spec.containers) {
      removed.push(...container.args.filter((arg) => arg.startsWith('--watch-namespace=')));
      removed.push(...(container.env ?? []).filter(({ name }) => name === 'VPS_WATCH_NAMESPACE'));
      container.args = container.args.filter((arg) => !removed.includes(arg));
      container.env = (container.env ?? []).filter((one) => !removed.includes(one));
    }
  }
  return { manifests: copy, removed };
}

interface Choice {
  name: string;
  values: string[];
  manifests: () => Promise<Manifest[]>;
}

const NAMESPACES = ['team-a', 'team-b'];
const MONITORING = ['serviceMonitor', 'prometheusRule', 'dashboard'].map((name) => `metrics.${name}.enabled=true`);

const CHOICES: Choice[] = [
  { name: 'the defaults', values: [], manifests: () => build('base') },
  {
    name: 'connection Secrets',
    values: ['connectionSecrets.enabled=true'],
    manifests: () => build('base', 'components/connection-secrets'),
  },
  {
    name: 'user data of ConfigMaps',
    values: ['userDataConfigMaps.enabled=true'],
    manifests: () => build('base', 'components/user-data-config-maps'),
  },
  {
    name: 'only observing',
    values: ['observeOnly.enabled=true'],
    manifests: () => build('base', 'components/observe-only'),
  },
  {
    name: 'secure metrics',
    values: ['metrics.secure.enabled=true'],
    manifests: () => build('base', 'components/metrics-secure'),
  },
  { name: 'SSH checks', values: ['sshCheck.enabled=true'], manifests: () => build('base', 'components/ssh-check') },
  {
    name: 'monitoring',
    values: MONITORING,
    manifests: async () => [...(await build('base')), ...(await build('overlays/monitoring'))],
  },
  {
    name: 'single namespaces',
    values: [`watchNamespaces={${NAMESPACES.join(',')}}`],
    manifests: async () => [
      ...(await build('overlays/namespaced')),
      ...(await Promise.all(NAMESPACES.map((one) => watched('overlays/namespaced/watched', one)))).flat(),
    ],
  },
  {
    name: 'single namespaces with connection Secrets, and with user data of ConfigMaps',
    values: [
      `watchNamespaces={${NAMESPACES.join(',')}}`,
      'connectionSecrets.enabled=true',
      'userDataConfigMaps.enabled=true',
    ],
    manifests: async () => [
      ...(await build('overlays/namespaced', 'components/connection-secrets/namespaced')),
      ...(
        await Promise.all(
          [
            'overlays/namespaced/watched',
            'components/connection-secrets/watched',
            'components/user-data-config-maps/watched',
          ].flatMap((folder) => NAMESPACES.map((one) => watched(folder, one))),
        )
      ).flat(),
    ],
  },
];

const set = (values: string[]): string[] => values.flatMap((value) => ['--set', value]);

describe('the chart', () => {
  it.each(CHOICES)('renders the objects of the manifests, with $name', async ({ values, manifests }) => {
    const rendered = await helm.render('--skip-tests', ...set(['existingConfigMap=vps-operator-config', ...values]));
    const chart = withoutWatched(manifestsIn(rendered));
    const kustomized = withoutWatched(await manifests());
    expect(byName(chart.manifests)).toEqual(byName(kustomized.manifests));
    const isWatching = values.some((value) => value.startsWith('watchNamespaces'));
    expect(chart.removed).toEqual(isWatching ? [`--watch-namespace=${NAMESPACES.join(',')}`] : []);
    expect(kustomized.removed).toHaveLength(isWatching ? 1 : 0);
  });

  it('keeps with Helm what the manifests keep from GitOps tools: CRDs and policies', async () => {
    const rendered = manifestsIn(await helm.render('--values', LEAST, '--set=connectionSecrets.enabled=true'));
    const having = (annotation: string): string[] =>
      rendered.filter(({ metadata }) => metadata.annotations?.[annotation] !== undefined).map(nameOf);
    expect(having('helm.sh/resource-policy')).toEqual(having('kustomize.toolkit.fluxcd.io/prune'));
    expect(having('helm.sh/resource-policy')).toHaveLength(27);
  });

  it('gives commonLabels to every object that it can create, and to the pods', async () => {
    const all = ['connectionSecrets', 'sshCheck', 'metrics.secure'].map((name) => `${name}.enabled=true`);
    const values = set([...all, ...MONITORING, 'watchNamespaces={team-a}', 'commonLabels.team=platform']);
    const rendered = manifestsIn(await helm.render('--values', LEAST, ...values));
    expect(rendered.filter(({ metadata }) => metadata.labels?.['team'] !== 'platform').map(nameOf)).toEqual([]);
    const kinds = new Set(rendered.map(({ kind }) => kind));
    expect(kinds).toContain('ServiceMonitor');
    expect(kinds.size).toBe(16);
    const deployment = rendered.find(({ kind }) => kind === 'Deployment');
    expect(deployment).toHaveProperty('spec.template.metadata.labels.team', 'platform');
  });

  it('gives commonAnnotations to every object that it can create, beside the annotations that it sets itself', async () => {
    const all = ['connectionSecrets', 'sshCheck', 'metrics.secure'].map((name) => `${name}.enabled=true`);
    const render = async (...more: string[]): Promise<Manifest[]> =>
      manifestsIn(
        await helm.render('--values', LEAST, ...set([...all, ...MONITORING, 'watchNamespaces={team-a}', ...more])),
      );
    const [before, after] = [await render(), await render('commonAnnotations.team=platform')];
    expect(after.map(nameOf)).toEqual(before.map(nameOf));
    expect(after.map(({ metadata }) => metadata.annotations)).toEqual(
      before.map(({ metadata }) => ({ team: 'platform', ...metadata.annotations })),
    );
  });

  it('creates the ConfigMap that the Deployment mounts', async () => {
    const rendered = await helm.render('--values', LEAST, '--set=settings.resyncInterval=5m');
    const [config] = manifestsIn(rendered).filter(({ kind }) => kind === 'ConfigMap');
    expect(config).toMatchObject({
      metadata: { name: 'vps-operator-config', namespace: SYSTEM },
      data: { VPS_BASE_URL: 'https://api.example.org', VPS_RESYNC_INTERVAL: '5m' },
    });
    const volumes = expect.arrayContaining([
      { name: 'settings', configMap: { name: 'vps-operator-config' } },
    ]) as unknown;
    expect(manifestsIn(rendered).find(({ kind }) => kind === 'Deployment')).toHaveProperty(
      'spec.template.spec.volumes',
      volumes,
    );
  });

  it.each([
    ['replica=1', 'replica'],
    ['replicas=many', '/replicas'],
    ['settings.pollIntervall=5m', 'pollIntervall'],
    ['settings.leaderElect=false', 'leaderElect'],
    ['provider.baseUrl=api.example.org', '/provider/baseUrl'],
    ["guards.operators={a'b}", '/guards/operators/0'],
    ['guards.operators={a"b}', '/guards/operators/0'],
    ['image.digest=sha256:1', '/image/digest'],
    ['extraEnv[0].value=debug', "/extraEnv/0': missing property 'name'"],
    [String.raw`commonLabels.app\.kubernetes\.io/name=mine`, '/commonLabels/app.kubernetes.io~1name'],
    [String.raw`podLabels.app\.kubernetes\.io/component=mine`, '/podLabels/app.kubernetes.io~1component'],
    [String.raw`podLabels.helm\.sh/chart=mine`, '/podLabels/helm.sh~1chart'],
    [String.raw`commonAnnotations.helm\.sh/hook=test`, '/commonAnnotations/helm.sh~1hook'],
    [
      String.raw`commonAnnotations.vps-operator\.dev/allow-deletion=true`,
      '/commonAnnotations/vps-operator.dev~1allow-deletion',
    ],
    [
      String.raw`commonAnnotations.argocd\.argoproj\.io/sync-options=Prune`,
      '/commonAnnotations/argocd.argoproj.io~1sync-options',
    ],
    ['nameOverride=Web', '/nameOverride'],
    ['strategy.type=Rolling', '/strategy/type'],
    ['dnsPolicy=Host', '/dnsPolicy'],
    ['hostAliases=web', '/hostAliases'],
    ['extraObjects={1}', '/extraObjects/0'],
    ['metrics.serviceMonitor.relabelings=drop', '/metrics/serviceMonitor/relabelings'],
  ])('refuses the value %s, and names it', async (value, named) => {
    await expect(helm.render('--values', LEAST, '--set', value)).rejects.toThrow(named);
  });

  it('does not quote the password in the URL of a proxy that it refuses', async () => {
    for (const scheme of ['http', 'ftp']) {
      const rendering = helm.render('--values', LEAST, '--set', `proxy.httpsProxy=${scheme}://user:hidden@proxy:3128`);
      const refusal = await rendering.catch((error: unknown) => (error as { stderr: string }).stderr);
      expect(refusal).toContain('proxy.httpsProxy must be');
      expect(refusal).not.toContain('hidden');
    }
  });

  it('can be a dependency of another chart, with a condition and global values', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-parent-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await cp(CHART, join(folder, 'charts/vps-operator'), { recursive: true });
    const dependencies = [{ name: 'vps-operator', version: '*', condition: 'vps-operator.enabled' }];
    const chart = { apiVersion: 'v2', name: 'platform', version: '1.0.0', dependencies };
    await writeFile(join(folder, 'Chart.yaml'), stringify(chart));
    const render = (...values: string[]): Promise<string> =>
      helm.run('template', 'platform', folder, '--namespace', SYSTEM, ...set(['global.region=eu', ...values]));
    const urls = ['baseUrl', 'authUrl'].map((name) => `vps-operator.provider.${name}=https://api.example.org`);
    const rendered = manifestsIn(await render('vps-operator.enabled=true', ...urls));
    expect(rendered.map(nameOf)).toContain(`Deployment ${SYSTEM}/platform-vps-operator`);
    expect(manifestsIn(await render('vps-operator.enabled=false'))).toEqual([]);
    await expect(render('vps-operator.enabled=true', 'vps-operator.replica=1', ...urls)).rejects.toThrow('replica');
  });

  it('has no finding of helm lint', async () => {
    const said = await helm.run('lint', '--strict', CHART, '--values', LEAST);
    expect(said).toContain('1 chart(s) linted, 0 chart(s) failed');
    expect(said).not.toMatch(/\[(WARNING|ERROR)\]/);
  });

  it('passes its own unit tests', { timeout: HELM_BUILD_MS }, async () => {
    const unittest = await goProgram(GO_PROGRAMS.helmUnittest);
    const { stdout } = await promisify(execFile)(unittest, ['--strict', CHART], {
      env: { ...process.env, ...helm.env },
    });
    expect(stdout).toMatch(/^Tests: +\d+ passed, \d+ total/m);
  });
});

it('has the README that npm run chart generates', { timeout: HELM_BUILD_MS }, async () => {
  expect(await readFile(join(CHART, 'README.md'), 'utf8'), 'run npm run chart').toBe(await readme(CHART));
});
