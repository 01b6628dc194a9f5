/** The manifests as kubectl builds them, without an API server: values that must agree do agree. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { FLAGS } from '../../../src/config/flags.ts';
import { parseConfig } from '../../../src/config/config.ts';
import { parseDuration } from '../../../src/base/duration.ts';
import { INSTALL_FILES, installFiles, kustomize } from '../../../tools/manifests.ts';
import { ROOT } from './cluster.ts';

interface Labels {
  [name: string]: string;
}
interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}
interface Container {
  name: string;
  image: string;
  args: string[];
  env?: { name: string; value?: string }[];
  ports: { name: string; containerPort: number }[];
  volumeMounts?: { name: string; mountPath: string }[];
  [probe: `${string}Probe`]: { httpGet?: { path: string; port: string } } | undefined;
}
interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Labels; annotations?: Labels };
  data?: Labels;
  rules?: Rule[];
  roleRef?: { kind: string; name: string };
  subjects?: { kind: string; name: string; namespace?: string }[];
  spec?: {
    selector?: Labels | { matchLabels: Labels };
    podSelector?: { matchLabels: Labels };
    ports?: { targetPort: string }[];
    ingress?: { ports: { port: string }[] }[];
    template?: {
      metadata: { labels: Labels };
      spec: {
        terminationGracePeriodSeconds: number;
        topologySpreadConstraints?: { labelSelector: { matchLabels: Labels } }[];
        containers: Container[];
        volumes?: { name: string; emptyDir?: object }[];
      };
    };
  };
}

const MANIFESTS = 'deploy/manifests';
const COMPONENT = 'app.kubernetes.io/component';
/** Builds a folder of deploy/manifests with components. */
const build = async (...names: string[]): Promise<Manifest[]> => {
  const [folder = '', ...components] = names.map((name) => `${MANIFESTS}/${name}`);
  const yaml = await kustomize(inject('kubectl'), folder, ...components);
  return parseAllDocuments(yaml).map((document) => document.toJS() as Manifest);
};
const base = await build('base');
const demo = await build('overlays/demo');
const namespaced = await build('overlays/namespaced');
const watched = await build('overlays/namespaced/watched');
const connecting = await build('base', 'components/connection-secrets');
const connectingNamespaced = await build('overlays/namespaced', 'components/connection-secrets/namespaced');
const withOperator = { base, demo, namespaced, connecting, connectingNamespaced };

const find = (manifests: Manifest[], kind: string, name: string): Manifest | undefined =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);

function podOf(manifests: Manifest[], name = 'vps-operator') {
  const template = find(manifests, 'Deployment', name)?.spec?.template;
  const [container] = template?.spec.containers ?? [];
  if (template === undefined || container === undefined) throw new Error(`there is no Deployment ${name}`);
  return { template, container, labels: template.metadata.labels };
}

describe('the install files', () => {
  it.each(INSTALL_FILES)('match the base (else run: npm run manifests): %s', async (name) => {
    expect(await readFile(join(ROOT, name), 'utf8')).toBe((await installFiles(inject('kubectl')))[name]);
  });

  it('keep the guards in a separate file, which survives the removal of the rest', async () => {
    const [install = [], guards = []] = await Promise.all(
      INSTALL_FILES.map(async (name) =>
        parseAllDocuments(await readFile(join(ROOT, name), 'utf8')).map((one) => one.toJS() as Manifest),
      ),
    );
    expect(install.map(({ kind }) => kind).filter((kind) => kind.startsWith('ValidatingAdmission'))).toEqual([]);
    expect(install.map(({ kind }) => kind)).toContain('CustomResourceDefinition');
    const kinds = [
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
      'ClusterRole',
      'ClusterRoleBinding',
    ];
    expect([...new Set(guards.map(({ kind }) => kind))].sort()).toEqual(kinds.sort());
    expect(install.length + guards.length).toBe(base.length);
  });

  it('keep CRDs and guards when a GitOps tool prunes or deletes what it has applied', () => {
    const kept = base.filter(
      ({ kind, metadata }) => kind === 'CustomResourceDefinition' || metadata.labels?.[COMPONENT] === 'guards',
    );
    expect(kept).toHaveLength(12);
    for (const { metadata } of kept)
      expect(metadata.annotations).toMatchObject({
        'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
        'kustomize.toolkit.fluxcd.io/prune': 'disabled',
      });
  });

  it('begin with Namespace and CRD, and contain no settings that an upgrade would overwrite', () => {
    expect(base.slice(0, 2).map(({ kind }) => kind)).toEqual(['Namespace', 'CustomResourceDefinition']);
    expect(base.map(({ kind }) => kind)).not.toContain('ConfigMap');
    expect(base.map(({ kind }) => kind)).not.toContain('Secret');
  });
});

describe.each(Object.entries(withOperator))('the operator of %s', (_name, manifests) => {
  const { template, container, labels } = podOf(manifests);

  it('has known flags only, and leaves other settings to the ConfigMap', () => {
    const env = { VPS_BASE_URL: 'https://a.example', VPS_AUTH_URL: 'https://b.example' };
    const parsed = parseConfig(container.args, env);
    expect(parsed).toMatchObject({ kind: 'run', config: { leaderElect: true, baseUrl: 'https://a.example' } });
    const variables = Object.values(FLAGS).map(({ flag }) => `VPS_${flag.toUpperCase().replaceAll('-', '_')}`);
    const set = [
      ...(container.env ?? []).map(({ name }) => name),
      ...manifests.flatMap(({ data = {} }) => Object.keys(data)),
    ];
    expect(set.filter((name) => !variables.includes(name))).toEqual([]);
  });

  it('listens on the declared ports that the probes use', () => {
    const { config } = parseConfig(container.args, {
      VPS_BASE_URL: 'https://a.example',
      VPS_AUTH_URL: 'https://b.example',
    }) as {
      config: Record<'metricsBindAddress' | 'healthProbeBindAddress', { port: number }>;
    };
    expect(Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]))).toEqual({
      metrics: config.metricsBindAddress.port,
      probes: config.healthProbeBindAddress.port,
    });
    expect(container.livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'probes' });
    expect(container.startupProbe?.httpGet).toEqual({ path: '/livez', port: 'probes' });
    expect(container.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'probes' });
  });

  it('keeps its journal in a volume of its pod', () => {
    const folder = container.args.find((arg) => arg.startsWith('--journal-dir='))?.split('=')[1];
    const mount = container.volumeMounts?.find(({ mountPath }) => mountPath === folder);
    expect(template.spec.volumes?.find(({ name }) => name === mount?.name)).toHaveProperty('emptyDir');
  });

  it('is selected by Deployment, budget, Service, network policy and spread, whose ports exist', () => {
    const selectors = [
      find(manifests, 'Deployment', 'vps-operator')?.spec?.selector,
      find(manifests, 'PodDisruptionBudget', 'vps-operator')?.spec?.selector,
      find(manifests, 'NetworkPolicy', 'vps-operator')?.spec?.podSelector,
      { matchLabels: find(manifests, 'Service', 'vps-operator-metrics')?.spec?.selector },
      ...(template.spec.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector),
    ];
    expect(selectors).toHaveLength(6);
    for (const selector of selectors) {
      const { matchLabels } = selector as { matchLabels: Labels };
      expect(Object.keys(matchLabels).length).toBeGreaterThan(0);
      expect(labels).toMatchObject(matchLabels);
    }
    const names = container.ports.map(({ name }) => name);
    const service = find(manifests, 'Service', 'vps-operator-metrics')?.spec?.ports?.map(
      ({ targetPort }) => targetPort,
    );
    const ingress = find(manifests, 'NetworkPolicy', 'vps-operator')?.spec?.ingress?.flatMap(({ ports }) => ports);
    expect(service).toEqual(['metrics']);
    expect(ingress?.map(({ port }) => port)).toEqual(['metrics']);
    expect(names).toContain('metrics');
  });

  it('has enough time to stop after an order that it has sent', () => {
    const createTimeoutMs = parseDuration(FLAGS.createTimeoutMs.default) ?? NaN;
    expect(template.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(createTimeoutMs + 60_000);
  });
});

describe('the images', () => {
  it('have this version', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const containers = [...base, ...demo, ...namespaced].flatMap(({ spec }) => spec?.template?.spec.containers ?? []);
    const operator = `ghcr.io/vps-operator/vps-operator:${version}`;
    const simulator = `ghcr.io/vps-operator/vps-operator-simulator:${version}`;
    expect(containers.map(({ image }) => image).sort()).toEqual([simulator, operator, operator, operator].sort());
  });
});

describe('the namespaced overlay', () => {
  const isOperator = ({ subjects = [] }: Manifest): boolean =>
    subjects.some(({ name, namespace }) => name === 'vps-operator' && namespace === 'vps-operator-system');

  it('gives the operator no cluster-wide right except reading the CRD', () => {
    const clusterWide = (manifests: Manifest[]): string[] =>
      manifests.filter(isOperator).flatMap(({ roleRef }) => (roleRef?.kind === 'ClusterRole' ? [roleRef.name] : []));
    expect(clusterWide(base)).toEqual(['vps-operator', 'vps-operator-definition']);
    expect(clusterWide([...namespaced, ...watched])).toEqual(['vps-operator-definition']);
    expect(find(namespaced, 'ClusterRole', 'vps-operator')).toBeUndefined();
  });

  it('gives the operator the same rights in a namespace as the base gives in all', () => {
    const inOne = find(watched, 'Role', 'vps-operator')?.rules;
    expect(inOne).toBeDefined();
    expect(inOne).toEqual(find(base, 'ClusterRole', 'vps-operator')?.rules);
  });
});

describe('the component connection-secrets', () => {
  const NAME = 'vps-operator-connection-secrets';
  const names = (manifests: Manifest[]): string[] => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

  it.each([
    ['base', base, connecting, [`ClusterRole ${NAME}`, `ClusterRoleBinding ${NAME}`]],
    ['overlays/namespaced', namespaced, connectingNamespaced, []],
  ])('adds rights, policy and flag to %s', (_name, without, withIt, rights) => {
    const policy = [`ValidatingAdmissionPolicy ${NAME}`, `ValidatingAdmissionPolicyBinding ${NAME}`];
    expect(names(withIt).sort()).toEqual([...names(without), ...rights, ...policy].sort());
    const { env = [], args } = podOf(withIt).container;
    const added = env.filter(
      ({ name }) => podOf(without).container.env?.every((other) => other.name !== name) !== false,
    );
    const given = Object.fromEntries(added.map(({ name, value = '' }) => [name, value]));
    const urls = { VPS_BASE_URL: 'https://a.example', VPS_AUTH_URL: 'https://b.example' };
    expect(parseConfig(args, urls)).toMatchObject({ config: { connectionSecrets: false } });
    expect(parseConfig(args, { ...urls, ...given })).toMatchObject({ config: { connectionSecrets: true } });
  });

  it('gives the same rights in a namespace as in all', async () => {
    const inOne = find(await build('components/connection-secrets/watched'), 'Role', NAME)?.rules;
    expect(inOne).toBeDefined();
    expect(inOne).toEqual(find(connecting, 'ClusterRole', NAME)?.rules);
  });

  it('identifies the operator like the policies of the base', () => {
    const policyOf = (name: string): string =>
      JSON.stringify(find(connecting, 'ValidatingAdmissionPolicy', name)?.spec);
    const [identity = ''] = /\['system:serviceaccount:[^\]]+\]/.exec(policyOf('vps-operator-record')) ?? [];
    expect(identity).not.toBe('');
    expect(policyOf(NAME)).toContain(`request.userInfo.username in ${identity}`);
  });
});

describe('the demo', () => {
  it('connects the operator to the simulator', () => {
    const { container, labels } = podOf(demo, 'vps-simulator');
    const { host } = new URL(find(demo, 'ConfigMap', 'vps-operator-config')?.data?.VPS_BASE_URL ?? '');
    expect(host).toBe(`vps-simulator.vps-simulator.svc:${container.ports[0]?.containerPort}`);
    expect(container.args).toContain(`--public-url=http://${host}`);
    const service = demo.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'vps-simulator');
    expect(labels).toMatchObject(service?.spec?.selector ?? { none: '' });
    expect(find(demo, 'NetworkPolicy', 'vps-operator')?.spec).toHaveProperty('egress.2.to.0.namespaceSelector', {
      matchLabels: { 'kubernetes.io/metadata.name': service?.metadata.namespace },
    });
  });
});
