/** The manifests as kubectl builds them, without an API server: values that must agree do agree. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { DEFAULT_API_KEY_SECRET } from '../../../src/api/names.ts';
import { FLAGS } from '../../../src/config/flags.ts';
import { parseConfig } from '../../../src/config/config.ts';
import { parseDuration } from '../../../src/base/duration.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { INSTALL_FILES, installFiles, kustomization, kustomize } from '../../../tools/manifests.ts';
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
  envFrom?: object[];
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
    egress?: { ports: { port: number; protocol: string }[] }[];
    template?: {
      metadata: { labels: Labels };
      spec: {
        nodeSelector?: Labels;
        securityContext?: object;
        terminationGracePeriodSeconds: number;
        topologySpreadConstraints?: { labelSelector: { matchLabels: Labels } }[];
        containers: Container[];
        volumes?: { name: string; emptyDir?: object; configMap?: { name: string } }[];
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

/** The folder exists only in a pod. */
const withoutSettings = (args: string[]): string[] => args.filter((arg) => !arg.startsWith('--settings-dir='));

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
    // The policy for the fields of an order belongs to the CRDs.
    const policies = install.filter(({ kind }) => kind.startsWith('ValidatingAdmission'));
    expect(policies.map(({ metadata }) => metadata.name)).toEqual(Array(2).fill('vps-operator-ordered-fields'));
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

  it('keep CRDs and policies when a GitOps tool prunes or deletes what it has applied', () => {
    const kept = base.filter(
      ({ kind, metadata }) =>
        kind === 'CustomResourceDefinition' ||
        metadata.name === 'vps-operator-ordered-fields' ||
        metadata.labels?.[COMPONENT] === 'guards',
    );
    expect(kept).toHaveLength(27);
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
    const parsed = parseConfig(withoutSettings(container.args), env);
    expect(parsed).toMatchObject({ kind: 'run', config: { leaderElect: true, baseUrl: 'https://a.example' } });
    const variables = Object.values(FLAGS).map(({ flag }) => `VPS_${flag.toUpperCase().replaceAll('-', '_')}`);
    const set = [
      ...(container.env ?? []).map(({ name }) => name),
      ...manifests.flatMap(({ data = {} }) => Object.keys(data)),
    ];
    expect(set.filter((name) => !variables.includes(name))).toEqual([]);
  });

  it('reads the ConfigMap as files, so that no key becomes a variable of Node or of a library', () => {
    const folder = container.args.find((arg) => arg.startsWith('--settings-dir='))?.split('=')[1];
    const mount = container.volumeMounts?.find(({ mountPath }) => mountPath === folder);
    const volume = template.spec.volumes?.find(({ name }) => name === mount?.name);
    expect(volume?.configMap).toEqual({ name: 'vps-operator-config' });
    expect(container.envFrom).toBeUndefined();
  });

  it('listens on the declared ports that the probes use', () => {
    const { config } = parseConfig(withoutSettings(container.args), {
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

  it('runs on Linux nodes, as the user that the image or the cluster chooses', () => {
    expect(template.spec.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux' });
    expect(template.spec.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(JSON.stringify(template.spec.containers)).not.toMatch(/runAs(User|Group)/);
  });

  it('may ask DNS behind a Service of port 53 and of port 5353', () => {
    const [dns] = find(manifests, 'NetworkPolicy', 'vps-operator')?.spec?.egress ?? [];
    const ports = dns?.ports.map(({ port, protocol }) => `${port}/${protocol}`);
    expect(ports?.sort()).toEqual(['53/TCP', '53/UDP', '5353/TCP', '5353/UDP']);
  });

  it('has enough time to stop after an order that it has sent', () => {
    const createTimeoutMs = parseDuration(FLAGS.createTimeoutMs.default) ?? NaN;
    expect(template.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(createTimeoutMs + 60_000);
  });
});

const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };

describe('the labels', () => {
  const recommended = { 'app.kubernetes.io/name': 'vps-operator', 'app.kubernetes.io/part-of': 'vps-operator' };

  it('of the base name the program and this version, on every object and on the pods', () => {
    const expected = {
      ...recommended,
      'app.kubernetes.io/version': version,
      'app.kubernetes.io/managed-by': 'kustomize',
    };
    for (const { kind, metadata } of base) expect(metadata.labels, `${kind} ${metadata.name}`).toMatchObject(expected);
    expect(podOf(base).labels).toMatchObject(expected);
  });

  it('of the namespace admit only restricted pods, by the oldest version that is supported, and report pods that the latest would refuse', () => {
    const prefix = 'pod-security.kubernetes.io/';
    const { labels } = base.find(({ kind }) => kind === 'Namespace')?.metadata ?? {};
    const own = Object.entries(labels ?? {}).filter(([label]) => label.startsWith(prefix));
    expect(Object.fromEntries(own.map(([label, value]) => [label.slice(prefix.length), value]))).toEqual({
      enforce: 'restricted',
      'enforce-version': 'v1.30',
      audit: 'restricted',
      'audit-version': 'latest',
      warn: 'restricted',
      'warn-version': 'latest',
    });
  });

  it.each(['../crds', 'overlays/namespaced', 'overlays/namespaced/watched', 'components/connection-secrets/watched'])(
    'of %s name the program',
    async (name) => {
      for (const { kind, metadata } of await build(name))
        expect(metadata.labels, `${kind} ${metadata.name}`).toMatchObject(recommended);
    },
  );

  it('of selectors have no version and no tool, because they can never change', () => {
    const selectors = demo.flatMap(({ spec }) => [spec?.selector, spec?.podSelector]).filter(Boolean);
    expect(selectors.length).toBeGreaterThan(5);
    for (const selector of selectors) expect(JSON.stringify(selector)).not.toMatch(/version|managed-by|part-of/);
  });
});

describe('another namespace', () => {
  const moved = async (...lines: string[]): Promise<Manifest[]> => {
    const pathOf = (name: string): string => `${MANIFESTS}/${name}`;
    const yaml = await kustomization(inject('kubectl'), {
      namespace: 'elsewhere',
      resources: [pathOf('base')],
      components: [pathOf('components/connection-secrets')],
      transformers: lines.map(pathOf),
    });
    return parseAllDocuments(yaml).map((document) => document.toJS() as Manifest);
  };
  const identities = (manifests: Manifest[]): string[] =>
    JSON.stringify(manifests).match(/system:serviceaccount:[a-z-]+:vps-operator/g) ?? [];

  it('reaches every policy that names the operator, with the transformer for it', async () => {
    expect(identities(await moved())).toEqual(
      Array<string>(3).fill('system:serviceaccount:vps-operator-system:vps-operator'),
    );
    const manifests = await moved('transformers/operator-identity');
    expect(identities(manifests)).toEqual(Array<string>(3).fill('system:serviceaccount:elsewhere:vps-operator'));
    expect(JSON.stringify(manifests)).not.toContain('vps-operator-system');
  });
});

describe('the images', () => {
  it('have this version', () => {
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

describe('the component observe-only', () => {
  it('leaves the operator the same rights in a namespace as in all, and no write but status and Events', async () => {
    const inOne = find(await build('components/observe-only/watched'), 'Role', 'vps-operator')?.rules ?? [];
    expect(inOne).toEqual(find(await build('base', 'components/observe-only'), 'ClusterRole', 'vps-operator')?.rules);
    const writes = inOne.filter(({ verbs }) => verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)));
    expect(writes.flatMap(({ resources = [] }) => resources)).toEqual([
      'virtualservers/status',
      'servercatalogs/status',
      'virtualserversets/status',
      'events',
    ]);
  });

  it('lets the operator of single namespaces only observe, with one replica, and only read its Lease', async () => {
    const observing = await build('overlays/namespaced', 'components/observe-only/namespaced');
    const { container } = podOf(observing);
    expect(container.env).toContainEqual({ name: 'VPS_OBSERVE_ONLY', value: 'true' });
    expect(container.env?.map(({ name }) => name)).toContain('VPS_WATCH_NAMESPACE');
    expect(find(observing, 'Deployment', 'vps-operator')?.spec).toMatchObject({ replicas: 1 });
    expect(find(observing, 'ClusterRole', 'vps-operator')).toBeUndefined();
    const verbs = observing
      .filter(({ kind }) => kind === 'Role')
      .flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.verbs));
    expect(new Set(verbs)).toEqual(new Set(['get']));
  });
});

describe('the component user-data-config-maps', () => {
  const NAME = 'vps-operator-user-data-config-maps';

  it('adds the right to read ConfigMaps by name, and nothing else', async () => {
    const reading = await build('base', 'components/user-data-config-maps');
    const names = (manifests: Manifest[]): string[] =>
      manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names(reading).sort()).toEqual([...names(base), `ClusterRole ${NAME}`, `ClusterRoleBinding ${NAME}`].sort());
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
    expect(find(reading, 'ClusterRole', NAME)?.rules).toEqual(rules);
    expect(find(await build('components/user-data-config-maps/watched'), 'Role', NAME)?.rules).toEqual(rules);
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
    const flags = withoutSettings(args);
    expect(parseConfig(flags, urls)).toMatchObject({ config: { connectionSecrets: false } });
    expect(parseConfig(flags, { ...urls, ...given })).toMatchObject({ config: { connectionSecrets: true } });
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
    for (const name of [NAME, 'vps-operator-members'])
      expect(policyOf(name)).toContain(`request.userInfo.username in ${identity}`);
  });
});

describe('the component metrics-secure', () => {
  const NAME = 'vps-operator-metrics';
  const names = (manifests: Manifest[]): string[] => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

  it('adds flags, the certificate, and rights that only ask', async () => {
    const secure = await build('base', 'components/metrics-secure');
    const added = [`ClusterRole ${NAME}-auth`, `ClusterRole ${NAME}-reader`, `ClusterRoleBinding ${NAME}-auth`];
    expect(names(secure).sort()).toEqual([...names(base), ...added].sort());
    expect(find(secure, 'ClusterRole', `${NAME}-auth`)?.rules).toEqual([
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    ]);
    expect(find(secure, 'ClusterRoleBinding', `${NAME}-auth`)).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: `${NAME}-auth` },
      subjects: find(base, 'ClusterRoleBinding', 'vps-operator')?.subjects,
    });
    expect(secure.filter(({ roleRef }) => roleRef?.name === `${NAME}-reader`)).toEqual([]);

    const { container, template } = podOf(secure);
    const env = Object.fromEntries((container.env ?? []).map(({ name, value = '' }) => [name, value]));
    const urls = { VPS_BASE_URL: 'https://a.example', VPS_AUTH_URL: 'https://b.example' };
    const parsed = parseConfig(withoutSettings(container.args), { ...urls, ...env });
    const folder = container.volumeMounts?.find(({ name }) => name === 'metrics-tls')?.mountPath;
    expect(parsed).toMatchObject({ config: { metricsSecure: true, metricsCertDir: folder } });
    expect(template.spec.volumes).toContainEqual({ name: 'metrics-tls', secret: { secretName: `${NAME}-tls` } });
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

  it('has its own API key, which only the simulator accepts, and replaces none of yours', async () => {
    const [secret, ...users] = parseAllDocuments(
      await readFile(join(ROOT, MANIFESTS, 'overlays/demo/server.yaml'), 'utf8'),
    ).map((document) => document.toJS() as Manifest & { stringData?: object; spec: { apiKeySecretRef?: object } });
    expect(secret).toMatchObject({ kind: 'Secret', stringData: DEFAULT_KEY });
    expect(secret?.metadata.name).not.toBe(DEFAULT_API_KEY_SECRET);
    expect(users.map(({ kind }) => kind)).toEqual(['ServerCatalog', 'VirtualServer']);
    for (const { spec } of users) expect(spec.apiKeySecretRef).toEqual({ name: secret?.metadata.name });
  });
});
