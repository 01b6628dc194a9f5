/** The list of the operator's flags, used for parsing, environment variables, defaults and help. */
import * as z from 'zod';
import type { LogFormat } from '../base/logger.ts';
import {
  BIND_ADDRESS_FORM,
  NAMESPACE_FORM,
  PRICES_FORM,
  URL_FORM,
  bindAddress,
  booleanFlag,
  decimal,
  durationFlag,
  httpUrl,
  namespace,
  namespaces,
  path,
  prices,
} from './flag-values.ts';

export interface FlagSpec {
  /** Name without leading dashes; the environment variable is `VPS_` plus the name in capitals. */
  flag: string;
  /** Placeholder for the value in the help. */
  value: string;
  help: string;
  /** Completes "give ..." in the error for an invalid value. */
  form: string;
  /** Converts the text of the value to the config value. */
  schema: z.ZodType<unknown, string>;
  /** Default value as a user would write it. Without it, the flag is required or its value is undefined. */
  default?: string;
  required?: true;
  /** May be repeated, and each value may be a comma-separated list; the schema gets one combined list. */
  repeatable?: true;
  /** The flag without a value means true. */
  boolean?: true;
  /** Help text in place of the default, if there is none or it does not explain itself. */
  absent?: string;
  /** Another environment variable, used if the flag's own is not set. */
  fallbackEnv?: string;
}

const ORDER_WAYS = ['auto', 'named', 'anonymous'] as const;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const LOG_FORMATS = ['text', 'json'] as const satisfies LogFormat[];
const MAX_RECONCILES = 1000;
/** The keys are the properties of the config; durations are in ms. */
export const FLAGS = {
  baseUrl: {
    flag: 'base-url',
    value: 'URL',
    help: "Base URL of the provider's API; may have a path.",
    form: URL_FORM,
    schema: httpUrl,
    required: true,
  },
  authUrl: {
    flag: 'auth-url',
    value: 'URL',
    help: "URL of the provider's authentication API; may have a path.",
    form: URL_FORM,
    schema: httpUrl,
    required: true,
  },
  kubeconfig: {
    flag: 'kubeconfig',
    value: 'FILE',
    help: 'Kubeconfig of the cluster to work in.',
    form: 'the path of a file',
    schema: path,
    absent: '$KUBECONFIG, ~/.kube/config, then the ServiceAccount of the pod',
  },
  watchNamespaces: {
    flag: 'watch-namespace',
    value: 'NAMESPACE',
    help: 'Reconcile only objects in this namespace. Repeat the flag, or give a comma-separated list. The operator does not see which servers belong to objects in other namespaces, so give each namespace to one operator only, and never adopt a server in two of them.',
    form: `a namespace or a comma-separated list, each ${NAMESPACE_FORM}`,
    schema: namespaces,
    default: '',
    absent: 'all namespaces',
    repeatable: true,
  },
  pollIntervalMs: {
    ...durationFlag,
    flag: 'poll-interval',
    help: 'The longest pause before a server that is being created is checked again. The operator checks it sooner when it expects the server to be there.',
    default: '60s',
  },
  resyncIntervalMs: {
    ...durationFlag,
    flag: 'resync-interval',
    help: 'How often to check a server that is ready.',
    default: '10m',
  },
  maxConcurrentReconciles: {
    flag: 'max-concurrent-reconciles',
    value: 'NUMBER',
    help: 'How many objects to reconcile at the same time. One namespace gets at most about four fifths of the workers, and never all of two or more.',
    form: `a whole number from 1 to ${MAX_RECONCILES}`,
    schema: decimal(/^\d+$/, 1, MAX_RECONCILES),
    default: '32',
  },
  providerQps: {
    flag: 'provider-qps',
    value: 'NUMBER',
    help: 'Maximum number of requests to the provider per second, logins included, for the whole process.',
    form: 'a number above 0, such as 10 or 0.5',
    schema: decimal(/^\d+(\.\d+)?$/, Number.MIN_VALUE, Number.MAX_SAFE_INTEGER),
    default: '10',
  },
  orders: {
    flag: 'orders',
    value: 'WAY',
    help: `How servers are ordered: \`named\` under an identifier that the operator or spec.identifier chooses, which is safe to repeat; \`anonymous\` as the provider's API documents it; \`auto\` named where the provider lists the account's servers, else anonymous.`,
    form: `one of ${ORDER_WAYS.join(', ')}`,
    schema: z.string().pipe(z.enum(ORDER_WAYS)),
    default: 'auto',
  },
  maxCreatesPerHour: {
    flag: 'max-creates-per-hour',
    value: 'NUMBER',
    help: 'Maximum number of orders per namespace and hour: a brake on loops that delete and create; 0 means no limit. Orders in the records and in the journal count after a restart, too.',
    form: 'a whole number, 0 for no limit',
    schema: decimal(/^\d+$/, 0, Number.MAX_SAFE_INTEGER),
    default: '60',
  },
  maxServersPerNamespace: {
    flag: 'max-servers-per-namespace',
    value: 'NUMBER',
    help: 'Maximum number of servers per namespace, adopted ones included; 0 means no limit. A server whose object was deleted with deletionPolicy: Retain counts until an object adopts it or the operator restarts.',
    form: 'a whole number, 0 for no limit',
    schema: decimal(/^\d+$/, 0, Number.MAX_SAFE_INTEGER),
    default: '0',
  },
  maxPricePerNamespace: {
    flag: 'max-price-per-namespace',
    value: 'NUMBER',
    help: "Maximum sum of the prices of a namespace's servers, in the provider's own unit; 0 means no limit. NAMESPACE=NUMBER sets the maximum of one namespace, for example 10000,team-a=50000,team-b=0. A price is known once a server with the same product and disk size was read, in any namespace; until then, the provider's list of prices counts for the first one, if there is such a list. While a server of a namespace has no known price, nothing more is ordered there.",
    form: PRICES_FORM,
    schema: prices,
    default: '0',
    repeatable: true,
  },
  connectionSecrets: {
    ...booleanFlag,
    flag: 'connection-secrets',
    help: 'Write the Secrets that spec.connectionSecretName names. Requires rights on Secrets, which only the connection-secrets component of the manifests grants.',
  },
  providerTimeoutMs: {
    ...durationFlag,
    flag: 'provider-timeout',
    help: 'How long a request to the provider may take. The time starts when the request has a connection.',
    default: '30s',
  },
  createTimeoutMs: {
    ...durationFlag,
    flag: 'create-timeout',
    help: 'How long an order may wait for its turn and its connection, and then how long the request that orders a server may take. A request that takes longer may still have ordered the server. On SIGTERM the operator waits for this request.',
    default: '120s',
  },
  sshCheckPrivateAddresses: {
    ...booleanFlag,
    flag: 'ssh-check-private-addresses',
    help: "Let spec.sshCheck connect to addresses that the provider names and that are not public: those of the operator's pod, of its network, and of its cloud's metadata service. For a provider in a private network.",
  },
  providerCaFile: {
    flag: 'provider-ca-file',
    value: 'FILE',
    help: "Additional CAs that may sign the certificates of the provider's API and of an https proxy, in PEM format. The operator reads the file when it starts. Other connections do not use it.",
    form: 'the path of a file',
    schema: path,
    absent: 'none: only the CAs that Node trusts',
  },
  kubeTimeoutMs: {
    ...durationFlag,
    flag: 'kube-timeout',
    help: 'How long a request to the API server may take.',
    default: '15s',
  },
  takeoverGraceMs: {
    ...durationFlag,
    flag: 'takeover-grace',
    help: 'How long to wait for an order of another process, beyond its create timeout and lease, before its outcome counts as unknown.',
    default: '60s',
  },
  absenceGraceMs: {
    ...durationFlag,
    flag: 'absence-grace',
    help: 'How long the provider must answer that a server does not exist, at least three times (twice where the list of servers confirms it), before the operator believes that the server is gone. For a server that the operator never read, or while the list of servers is empty, twelve times as long.',
    default: '5m',
  },
  leaderElect: {
    ...booleanFlag,
    flag: 'leader-elect',
    help: 'Elect one active process with a Lease in the operator namespace. Required for more than one replica.',
  },
  observeOnly: {
    ...booleanFlag,
    flag: 'observe-only',
    help: 'Read and report, and order, cancel and change nothing: for a standby cluster, or for a trial of a new version beside the operator. Writes status and Events only while no other operator renews the Lease. Ignores --leader-elect, --journal-dir and --connection-secrets.',
  },
  leaseDurationMs: {
    ...durationFlag,
    flag: 'lease-duration',
    help: 'How long another process waits after the last renewal of the Lease before it takes over.',
    default: '15s',
  },
  journalDir: {
    flag: 'journal-dir',
    value: 'FOLDER',
    help: 'Folder of the journal, which keeps orders that were accepted just before a crash. Must be local to the pod, never shared.',
    form: 'the path of a folder',
    schema: path,
    absent: 'none: the journal is lost with the process',
  },
  operatorNamespace: {
    flag: 'operator-namespace',
    value: 'NAMESPACE',
    help: 'Namespace of the fallback Secrets, used if the Secret of an object was deleted before the object.',
    form: NAMESPACE_FORM,
    schema: namespace,
    absent: '$POD_NAMESPACE, then the namespace of the pod',
    fallbackEnv: 'POD_NAMESPACE',
  },
  metricsBindAddress: {
    flag: 'metrics-bind-address',
    value: 'ADDRESS',
    help: 'Address for /metrics, e.g. :8080; 0 disables it.',
    form: BIND_ADDRESS_FORM,
    schema: bindAddress,
    default: '0',
  },
  metricsSecure: {
    ...booleanFlag,
    flag: 'metrics-secure',
    help: 'Serve /metrics over TLS with the certificate of --metrics-cert-dir, and only for tokens whose user may GET /metrics. Requires the rights of the metrics-secure component of the manifests.',
  },
  metricsCertDir: {
    flag: 'metrics-cert-dir',
    value: 'FOLDER',
    help: 'Folder with tls.crt and tls.key for --metrics-secure, such as a mounted Secret. The operator reads the files again when they change.',
    form: 'the path of a folder with tls.crt and tls.key',
    schema: path,
    absent: 'none',
  },
  healthProbeBindAddress: {
    flag: 'health-probe-bind-address',
    value: 'ADDRESS',
    help: 'Address for /livez and /readyz, e.g. :8081; 0 disables them.',
    form: BIND_ADDRESS_FORM,
    schema: bindAddress,
    default: '0',
  },
  settingsDir: {
    flag: 'settings-dir',
    value: 'FOLDER',
    help: 'Folder of additional settings, such as a mounted ConfigMap: one file per flag, named like its environment variable. Read once at startup. Flags and environment variables take precedence.',
    form: 'the path of a folder',
    schema: path,
    absent: 'none',
  },
  logLevel: {
    flag: 'log-level',
    value: 'LEVEL',
    help: `Least severe level to be logged: ${LOG_LEVELS.join(', ')}.`,
    form: `one of ${LOG_LEVELS.join(', ')}`,
    schema: z.string().pipe(z.enum(LOG_LEVELS)),
    default: 'info',
  },
  logFormat: {
    flag: 'log-format',
    value: 'FORMAT',
    help: 'Form of the log: json, one object a line with every field; or text, one sentence a line, without stacks.',
    form: `one of ${LOG_FORMATS.join(', ')}`,
    schema: z.string().pipe(z.enum(LOG_FORMATS)),
    absent: 'text if standard output is a terminal, json otherwise',
  },
} as const satisfies Record<string, FlagSpec>;

type Flags = typeof FLAGS;

/** The values of the flags. Names ending in `Ms` are in ms; URLs have no trailing slash. */
export type FlagValues = {
  [Key in keyof Flags]: Flags[Key] extends { required: true } | { default: string }
    ? z.output<Flags[Key]['schema']>
    : z.output<Flags[Key]['schema']> | undefined;
};
