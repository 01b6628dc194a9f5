/** The chart's values.schema.json, from values.yaml, its comments and the operator's flags. */
import { isMap, isScalar, isSeq, parseDocument, type Node } from 'yaml';
import { FLAGS, type FlagSpec } from '../../src/config/flags.ts';

type Schema = Record<string, unknown>;

const STRINGS: Schema = { type: 'object', additionalProperties: { type: 'string' } };
/** The chart's own labels, some of which select the pods. */
const OWN_LABELS = [
  ...['name', 'component', 'part-of', 'instance', 'version', 'managed-by'].map((name) => `app.kubernetes.io/${name}`),
  'helm.sh/chart',
];
/** Without the chart's own labels, whose keys would be in the object twice. Helm's error for `propertyNames` has a wrong path. */
const LABELS: Schema = { ...STRINGS, properties: Object.fromEntries(OWN_LABELS.map((label) => [label, false])) };
/**
 * Without annotations that the chart sets itself, that make an object a hook, or that the operator obeys: `allow-deletion` would
 * unprotect the CRDs.
 */
const COMMON_ANNOTATIONS: Schema = {
  ...STRINGS,
  properties: { 'argocd.argoproj.io/sync-options': false, 'kustomize.toolkit.fluxcd.io/prune': false },
  patternProperties: { [String.raw`^(helm\.sh|vps-operator\.dev)/`]: false },
};
const ANY_OBJECT: Schema = { type: 'object' };
const OBJECTS: Schema = { type: 'array', items: { type: 'object' } };
const NAME = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
const OVERRIDE: Schema = { type: 'string', maxLength: 50, pattern: `^(${NAME.slice(1, -1)})?$` };
const NAMESPACED_NAME: Schema = { type: 'string', maxLength: 253, pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$' };
/** A key of a ConfigMap or Secret. */
const KEY: Schema = { type: 'string', pattern: '^[-._a-zA-Z0-9]+$' };
const URL_OR_EMPTY: Schema = { type: 'string', pattern: '^(https?://.+)?$' };
const PROMETHEUS_DURATION: Schema = { type: 'string', pattern: '^([0-9]+(ms|[smhdwy]))+$' };

/** Flags that the chart's templates set. */
const SET_BY_THE_CHART = new Set<string>([
  'base-url',
  'auth-url',
  'kubeconfig',
  'watch-namespace',
  'connection-secrets',
  'leader-elect',
  'observe-only',
  'journal-dir',
  'operator-namespace',
  'metrics-bind-address',
  'health-probe-bind-address',
  'provider-ca-file',
  'settings-dir',
  'metrics-secure',
  'metrics-cert-dir',
]);

/** Where the default value does not show which values are valid. */
const OVERRIDES: Record<string, Schema> = {
  'provider.baseUrl': URL_OR_EMPTY,
  'provider.authUrl': URL_OR_EMPTY,
  'provider.ca.configMap': NAMESPACED_NAME,
  'provider.ca.secret': NAMESPACED_NAME,
  'provider.ca.key': KEY,
  settings: settingsSchema(),
  existingConfigMap: NAMESPACED_NAME,
  existingSecret: NAMESPACED_NAME,
  watchNamespaces: { type: 'array', uniqueItems: true, items: { type: 'string', maxLength: 63, pattern: NAME } },
  'image.repository': { type: 'string', minLength: 1 },
  'image.digest': { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
  'image.pullPolicy': { enum: ['Always', 'IfNotPresent', 'Never'] },
  imagePullSecrets: {
    type: 'array',
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: { name: { type: 'string', minLength: 1 } },
    },
  },
  nameOverride: OVERRIDE,
  fullnameOverride: OVERRIDE,
  // The names become part of an expression of the policies.
  'guards.operators': { type: 'array', items: { type: 'string', pattern: '^[^\'"\\\\\\s]+$' } },
  'metrics.secure.secretName': { type: 'string', minLength: 1 },
  'metrics.serviceMonitor.tokenSecret.name': NAMESPACED_NAME,
  'metrics.serviceMonitor.tokenSecret.key': KEY,
  'metrics.serviceMonitor.interval': PROMETHEUS_DURATION,
  'metrics.serviceMonitor.scrapeTimeout': PROMETHEUS_DURATION,
  'metrics.serviceMonitor.labels': LABELS,
  'metrics.serviceMonitor.relabelings': OBJECTS,
  'metrics.serviceMonitor.metricRelabelings': OBJECTS,
  'metrics.prometheusRule.labels': LABELS,
  'metrics.dashboard.labels': LABELS,
  'metrics.dashboard.annotations': STRINGS,
  'networkPolicy.metricsFrom': OBJECTS,
  'networkPolicy.ports': {
    type: 'array',
    minItems: 1,
    uniqueItems: true,
    items: { type: 'integer', minimum: 1, maximum: 65535 },
  },
  'networkPolicy.extraEgress': OBJECTS,
  'podDisruptionBudget.maxUnavailable': {
    anyOf: [
      { type: 'integer', minimum: 1 },
      { type: 'string', pattern: '^([1-9][0-9]?|100)%$' },
    ],
  },
  'serviceAccount.name': NAMESPACED_NAME,
  replicas: { type: 'integer', minimum: 0 },
  resources: ANY_OBJECT,
  strategy: { type: 'object', properties: { type: { enum: ['RollingUpdate', 'Recreate'] } } },
  terminationGracePeriodSeconds: { type: 'integer', minimum: 1 },
  nodeSelector: STRINGS,
  tolerations: OBJECTS,
  affinity: ANY_OBJECT,
  topologySpreadConstraints: { type: ['array', 'null'], items: { type: 'object' } },
  hostAliases: OBJECTS,
  dnsPolicy: { enum: ['', 'ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'] },
  dnsConfig: ANY_OBJECT,
  podSecurityContext: ANY_OBJECT,
  commonLabels: LABELS,
  commonAnnotations: COMMON_ANNOTATIONS,
  podLabels: LABELS,
  extraEnv: {
    type: 'array',
    items: { type: 'object', required: ['name'], properties: { name: { type: 'string', minLength: 1 } } },
  },
  extraVolumes: OBJECTS,
  extraVolumeMounts: OBJECTS,
  extraObjects: { type: 'array', items: { type: ['object', 'string'] } },
};

function settingsSchema(): Schema {
  const properties = Object.values<FlagSpec>(FLAGS)
    .filter(({ flag }) => !SET_BY_THE_CHART.has(flag))
    .map((spec): [string, Schema] => {
      const name = spec.flag.replaceAll(/-(\w)/g, (_match, letter: string) => letter.toUpperCase());
      return [name, { description: spec.help, type: typesOf(spec) }];
    });
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
}

/** The operator itself checks the value, and its error names the setting. */
function typesOf({ value, boolean }: FlagSpec): string | string[] {
  if (boolean === true) return ['boolean', 'string'];
  return value === 'NUMBER' ? ['number', 'string'] : 'string';
}

/** The content of values.schema.json. */
export function schemaJson(values: string): string {
  const { contents } = parseDocument(values);
  const used = new Set<string>();
  const schema = schemaOf(contents, '', used) as { properties: Schema };
  const unused = Object.keys(OVERRIDES).filter((path) => !used.has(path));
  if (unused.length > 0) throw new Error(`values.yaml has no ${unused.join(', ')}`);
  // Helm passes the globals of a parent chart to every chart, and the value that its `condition` reads, by custom `enabled`.
  schema.properties = { ...schema.properties, global: ANY_OBJECT, enabled: { type: 'boolean' } };
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema }, undefined, 2)}\n`;
}

function schemaOf(node: unknown, path: string, used: Set<string>): Schema {
  const override = OVERRIDES[path];
  if (override !== undefined) {
    used.add(path);
    return override;
  }
  if (isMap(node)) {
    if (node.items.length === 0) return STRINGS;
    const properties = node.items.map((pair, index) => {
      const name = String(pair.key);
      // The parser gives the comment above the first key to the map.
      const description = describing(index === 0 ? node.commentBefore : (pair.key as Node).commentBefore);
      const inner = schemaOf(pair.value, path === '' ? name : `${path}.${name}`, used);
      return [name, { ...(description !== undefined && { description }), ...inner }];
    });
    return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) as Schema };
  }
  if (isScalar(node) && typeof node.value === 'string') return { type: 'string' };
  if (isScalar(node) && typeof node.value === 'boolean') return { type: 'boolean' };
  throw new Error(`${path}: add the valid values to OVERRIDES${isSeq(node) ? ', it is a list' : ''}`);
}

/** What a comment above a value says of it, in the form of helm-docs. */
function describing(comment: string | null | undefined): string | undefined {
  const start = comment?.lastIndexOf('-- ') ?? -1;
  return start < 0 ? undefined : comment?.slice(start + 3).replaceAll(/\n ?/g, ' ');
}
