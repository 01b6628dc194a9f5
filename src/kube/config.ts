/** Loads the API server's address and credentials from a kubeconfig or from the Pod's service account. */
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve, sep } from 'node:path';
import * as z from 'zod';
import { KubeConfig, findHomeDir } from '@kubernetes/client-node';
import { fileProblem } from '../base/file-problem.ts';
import { KubeError } from './error.ts';
import { CredentialPlugin, validateExec, type ExecCredential, type PluginHost } from './exec-credential.ts';
import { environmentProxy, proxyUrl } from './proxy.ts';
import { readDocument } from './yaml.ts';

/* Reads and merges kubeconfig files by client-go's rules, so kubectl and this program choose the same cluster. */

/** A missing or null field gets Go's zero value. */
function or<T extends z.ZodType>(schema: T, absent: z.input<T>) {
  return schema.nullish().transform((value) => value ?? schema.parse(absent));
}

const text = or(z.string(), '');

const CLUSTER = or(
  z.object({
    server: text,
    'certificate-authority': text,
    'certificate-authority-data': text,
    'insecure-skip-tls-verify': or(z.boolean(), false),
    'tls-server-name': text,
    'proxy-url': text,
    'disable-compression': or(z.boolean(), false),
    extensions: or(z.array(or(z.object({ name: text, extension: z.unknown().optional() }), {})), []),
  }),
  {},
);

const EXEC = z.object({
  apiVersion: text,
  command: text,
  args: or(z.array(text), []),
  env: or(z.array(or(z.object({ name: text, value: text }), {})), []),
  installHint: text,
  provideClusterInfo: or(z.boolean(), false),
  interactiveMode: text,
});

const USER = or(
  z.object({
    'client-certificate': text,
    'client-certificate-data': text,
    'client-key': text,
    'client-key-data': text,
    token: text,
    tokenFile: text,
    username: text,
    password: text,
    as: text,
    'as-uid': text,
    'as-groups': or(z.array(text), []),
    'as-user-extra': or(z.record(z.string(), or(z.array(text), [])), {}),
    exec: EXEC.nullish(),
    'auth-provider': z.looseObject({}).nullish(),
  }),
  {},
);

const CONTEXT = or(z.object({ cluster: text, user: text, namespace: text }), {});

const FILE = or(
  z.object({
    apiVersion: or(z.enum(['v1', '']), ''),
    kind: or(z.enum(['Config', '']), ''),
    'current-context': text,
    clusters: or(z.array(or(z.object({ name: text, cluster: CLUSTER }), {})), []),
    users: or(z.array(or(z.object({ name: text, user: USER }), {})), []),
    contexts: or(z.array(or(z.object({ name: text, context: CONTEXT }), {})), []),
  }),
  {},
);

export type ClusterEntry = z.output<typeof CLUSTER>;
export type UserEntry = z.output<typeof USER>;
type ContextEntry = z.output<typeof CONTEXT>;

interface Kubeconfig {
  currentContext: string;
  clusters: Map<string, ClusterEntry>;
  users: Map<string, UserEntry>;
  contexts: Map<string, ContextEntry>;
}

/**
 * Skips missing files, except the one given with `--kubeconfig`. Throws an Error that names the file and the problem.
 */
export function readKubeconfig(files: readonly string[], { ofFlag }: { ofFlag: boolean }): Kubeconfig {
  const merged: Kubeconfig = { currentContext: '', clusters: new Map(), users: new Map(), contexts: new Map() };
  for (const file of files) {
    try {
      merge(merged, parse(readFileSync(file, 'utf8')), dirname(file));
    } catch (error) {
      if (!ofFlag && (error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      const what = ofFlag ? `--kubeconfig ${file}` : `the kubeconfig ${file}`;
      throw new Error(`${what} cannot be loaded: ${fileProblem(error)}`, { cause: error });
    }
  }
  return merged;
}

/** Earlier files win, for the current context and for each entry; entries are never merged field by field. */
function merge(merged: Kubeconfig, file: z.output<typeof FILE>, folder: string): void {
  const absolute = (path: string): string => (path === '' ? '' : resolve(folder, path));
  merged.currentContext ||= file['current-context'];
  add(
    merged.clusters,
    file.clusters.map(({ name, cluster }) => {
      return [name, { ...cluster, 'certificate-authority': absolute(cluster['certificate-authority']) }];
    }),
  );
  add(
    merged.users,
    file.users.map(({ name, user }) => {
      const { exec } = user;
      return [
        name,
        {
          ...user,
          'client-certificate': absolute(user['client-certificate']),
          'client-key': absolute(user['client-key']),
          tokenFile: absolute(user.tokenFile),
          // A command without a separator is looked up on PATH.
          exec: exec?.command.includes(sep) ? { ...exec, command: absolute(exec.command) } : exec,
        },
      ];
    }),
  );
  add(
    merged.contexts,
    file.contexts.map(({ name, context }) => [name, context]),
  );
}

function add<T>(merged: Map<string, T>, entries: readonly [string, T][]): void {
  const repeated = entries.find(([name], index) => entries.findIndex((each) => each[0] === name) < index);
  if (repeated !== undefined) throw new Error(`two entries are named "${repeated[0]}"`);
  for (const [name, entry] of entries) if (!merged.has(name)) merged.set(name, entry);
}

/** Errors never quote the text, which contains tokens and keys. */
function parse(text: string): z.output<typeof FILE> {
  const parsed = FILE.safeParse(readDocument(text));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`);
  throw new Error(problems.join(', '));
}

/** TLS options for connections to the API server. */
export interface TlsMaterial {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
}

export interface KubeCredentials {
  headers: Record<string, string | string[]>;
  tls: TlsMaterial;
}

export interface Cluster {
  /** Origin and optional path prefix, without a trailing slash. */
  server: string;
  /** The namespace of the current context, or of the Pod. */
  namespace: string | undefined;
  /** URL of the HTTP or SOCKS proxy; may contain a password. */
  proxyUrl: string | undefined;
  /**
   * Reads files each time, and runs plugins again after their credentials expire; with `renew`, also before, because the API
   * server has refused them. `signal` ends a plugin. Throws KubeError `Unreachable` on failure.
   */
  credentials(options?: { signal?: AbortSignal; renew?: boolean }): Promise<KubeCredentials>;
}

/** The options that KubeConfig fills in; a subset of node's `https.RequestOptions`. */
interface FilledOptions extends TlsMaterial {
  auth?: string;
  headers: Record<string, string | number | readonly string[]>;
}

/** Override values of the kubeconfig, like kubectl's flags of the same names; an empty value counts as unset. */
export interface Overrides {
  context?: string | undefined;
  as?: string | undefined;
  asUid?: string | undefined;
  asGroup?: string[] | undefined;
  cluster?: string | undefined;
  user?: string | undefined;
  server?: string | undefined;
  tlsServerName?: string | undefined;
  certificateAuthority?: string | undefined;
  insecureSkipTlsVerify?: boolean | undefined;
  clientCertificate?: string | undefined;
  clientKey?: string | undefined;
  token?: string | undefined;
  /** Whether to obey HTTPS_PROXY, HTTP_PROXY and NO_PROXY, which the operator uses for the provider alone. */
  environmentProxy?: boolean;
}

/** The names of all contexts, from the same files as `loadCluster`. */
export function contextNames(path?: string): string[] {
  const { contexts } = readKubeconfig(path ? [path] : defaultFiles(), { ofFlag: Boolean(path) });
  return [...contexts.keys()];
}

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Loads the first of: `path`, the files in `$KUBECONFIG`, `~/.kube/config`, the Pod's service account. Throws an Error
 * that says what is wrong.
 */
export function loadCluster(path?: string, overrides: Overrides = {}, host: PluginHost = {}): Cluster {
  const files = path ? [path] : defaultFiles();
  const what = path ? `--kubeconfig ${path}` : `the kubeconfig (${files.join(', ')})`;
  const { currentContext, contexts, clusters, users } = readKubeconfig(files, { ofFlag: Boolean(path) });
  const name = overrides.context || currentContext;
  if (name === '' && !overrides.server) {
    if (!path && existsSync(SERVICE_ACCOUNT_TOKEN)) return podCluster(overrides);
    if (files.some(existsSync)) throw new Error(`${what} has no current-context`);
    throw new Error(`there is no kubeconfig (${files.join(', ') || 'no file is named'}): pass --kubeconfig FILE`);
  }
  const context = name === '' ? CONTEXT.parse({}) : contexts.get(name);
  if (context === undefined) throw new Error(`${what} has no context "${name}"`);
  const clusterName = overrides.cluster || context.cluster;
  const found = clusterName === '' && overrides.server ? CLUSTER.parse({}) : clusters.get(clusterName);
  if (found === undefined) throw new Error(`${what} has no cluster "${clusterName}"`);
  const cluster = overriddenCluster(found, overrides);
  const userName = overrides.user || context.user;
  const entry = users.get(userName);
  if (entry === undefined && userName !== '') throw new Error(`${what} has no user "${userName}"`);
  const user = overriddenUser(entry, overrides);
  admitServer(cluster.server, what);
  const exec = user?.exec ?? undefined;
  if (exec !== undefined) validateExec(exec, `${what}, user "${userName}",`);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    namespace: context.namespace || undefined,
    proxyUrl:
      cluster['proxy-url'] === ''
        ? proxyOf(cluster.server, overrides)
        : proxyUrl(cluster['proxy-url'], `the proxy-url in ${what}`),
    credentials: credentialsOf({
      config: clientConfig(cluster, user),
      impersonation: impersonated(user, overrides),
      tokenFile: user?.tokenFile || tokenFileIn(user?.['auth-provider']),
      plugin: exec && new CredentialPlugin(exec, () => clusterInfo(cluster), host),
    }),
  };
}

/** As in client-go, a flag about trust replaces all that the kubeconfig says of it. */
function overriddenCluster(entry: ClusterEntry, overrides: Overrides): ClusterEntry {
  const { server, tlsServerName, certificateAuthority, insecureSkipTlsVerify } = overrides;
  return {
    ...entry,
    ...(server && { server }),
    ...((server || tlsServerName) && { 'tls-server-name': tlsServerName ?? '' }),
    ...((certificateAuthority || insecureSkipTlsVerify) && {
      'certificate-authority': certificateAuthority ? resolve(certificateAuthority) : '',
      'certificate-authority-data': '',
      'insecure-skip-tls-verify': insecureSkipTlsVerify === true,
    }),
  };
}

function overriddenUser(entry: UserEntry | undefined, overrides: Overrides): UserEntry | undefined {
  const { clientCertificate, clientKey, token } = overrides;
  if (!clientCertificate && !clientKey && !token) return entry;
  return {
    ...USER.parse({}),
    ...entry,
    ...(clientCertificate && { 'client-certificate': resolve(clientCertificate), 'client-certificate-data': '' }),
    ...(clientKey && { 'client-key': resolve(clientKey), 'client-key-data': '' }),
    ...(token && { token, tokenFile: '', exec: null, 'auth-provider': null }),
  };
}

function defaultFiles(): string[] {
  const { KUBECONFIG } = process.env;
  if (KUBECONFIG) return KUBECONFIG.split(delimiter).filter((file) => file !== '');
  const home = findHomeDir();
  return home === null ? [] : [join(home, '.kube', 'config')];
}

function podCluster(overrides: Overrides): Cluster {
  const config = new KubeConfig();
  config.loadFromCluster();
  const server = config.getCurrentCluster()?.server ?? '';
  admitServer(server, "the Pod's environment");
  const namespace = config.getContextObject(config.currentContext)?.namespace?.trim();
  const certificates = config.getCurrentCluster()?.caFile;
  // Without the token: client-node would keep it for a minute.
  config.loadFromClusterAndUser(
    { name: 'cluster', server, skipTLSVerify: false, ...(certificates !== undefined && { caFile: certificates }) },
    { name: 'user' },
  );
  return {
    server,
    namespace,
    proxyUrl: proxyOf(server, overrides),
    credentials: credentialsOf({
      config,
      impersonation: impersonated(undefined, overrides),
      tokenFile: SERVICE_ACCOUNT_TOKEN,
    }),
  };
}

function proxyOf(server: string, overrides: Overrides): string | undefined {
  return overrides.environmentProxy === true ? environmentProxy(server, process.env) : undefined;
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Allows plain HTTP only to this machine (`kubectl proxy`); elsewhere it would send tokens unencrypted. */
function admitServer(server: string, what: string): void {
  if (!URL.canParse(server)) throw new Error(`${what} names no valid server: "${server}"`);
  const { protocol, hostname } = new URL(server);
  if (protocol === 'http:' && !LOOPBACK.test(hostname)) {
    throw new Error(`${what} names a server without TLS, "${server}": give its https:// address`);
  }
}

/** Passes only the chosen entries to client-node, whose own loading differs from client-go's. */
function clientConfig(cluster: ClusterEntry, user: UserEntry | undefined): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'cluster',
      server: cluster.server,
      caFile: cluster['certificate-authority'],
      caData: cluster['certificate-authority-data'],
      tlsServerName: cluster['tls-server-name'],
      proxyUrl: cluster['proxy-url'],
      // client-node requires this for a server without TLS, which has no certificate to verify.
      skipTLSVerify: cluster['insecure-skip-tls-verify'] || new URL(cluster.server).protocol === 'http:',
    },
    // Without a user, client-node would also drop the cluster's certificate authority.
    {
      name: 'user',
      ...(user !== undefined && {
        certFile: user['client-certificate'],
        certData: user['client-certificate-data'],
        keyFile: user['client-key'],
        keyData: user['client-key-data'],
        username: user.username,
        password: user.password,
        token: user.token,
        ...(tokenFileIn(user['auth-provider']) === undefined && { authProvider: user['auth-provider'] }),
      }),
    },
  );
  return config;
}

/** client-node's own way to name a token file. */
function tokenFileIn(authProvider: UserEntry['auth-provider']): string | undefined {
  const { tokenFile } = (authProvider?.['config'] ?? {}) as { tokenFile?: unknown };
  return typeof tokenFile === 'string' && tokenFile !== '' ? tokenFile : undefined;
}

const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/** The cluster as `provideClusterInfo` tells it to a credential plugin. Throws an Error for a file that is missing. */
function clusterInfo(cluster: ClusterEntry): object {
  const file = cluster['certificate-authority'];
  const authority = cluster['certificate-authority-data'] || (file === '' ? '' : readFileSync(file).toString('base64'));
  const config = cluster.extensions.find(({ name }) => name === EXEC_EXTENSION)?.extension;
  return {
    server: cluster.server,
    ...(cluster['tls-server-name'] !== '' && { 'tls-server-name': cluster['tls-server-name'] }),
    ...(cluster['insecure-skip-tls-verify'] && { 'insecure-skip-tls-verify': true }),
    ...(authority !== '' && { 'certificate-authority-data': authority }),
    ...(cluster['proxy-url'] !== '' && { 'proxy-url': cluster['proxy-url'] }),
    ...(cluster['disable-compression'] && { 'disable-compression': true }),
    ...(config !== undefined && { config }),
  };
}

/**
 * The headers of impersonation, as client-go sends them; each flag overrides one field of the kubeconfig. Throws an Error
 * for a UID, groups or extra fields without a user to impersonate.
 */
function impersonated(entry: UserEntry | undefined, { as, asUid, asGroup }: Overrides): KubeCredentials['headers'] {
  const user = as || (entry?.as ?? '');
  const uid = asUid || (entry?.['as-uid'] ?? '');
  const groups = asGroup?.length ? asGroup : (entry?.['as-groups'] ?? []);
  const fields = Object.entries(entry?.['as-user-extra'] ?? {});
  if (user === '') {
    if (uid === '' && groups.length === 0 && fields.length === 0) return {};
    throw new Error('a UID, groups or extra fields to impersonate need a user: give --as USER');
  }
  return {
    'impersonate-user': bytes(user),
    ...(uid !== '' && { 'impersonate-uid': bytes(uid) }),
    ...(groups.length > 0 && { 'impersonate-group': groups.map(bytes) }),
    ...Object.fromEntries(fields.map(([key, values]) => [`impersonate-extra-${headerName(key)}`, values.map(bytes)])),
  };
}

/** The API server expects UTF-8, and the HTTP client sends each character as one byte. */
function bytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function headerName(key: string): string {
  return encodeURIComponent(key).replaceAll('(', '%28').replaceAll(')', '%29');
}

interface Sources {
  config: KubeConfig;
  impersonation: KubeCredentials['headers'];
  tokenFile?: string | undefined;
  plugin?: CredentialPlugin | undefined;
}

function credentialsOf({ config, impersonation, tokenFile, plugin }: Sources): Cluster['credentials'] {
  let fileToken: string | undefined;
  /** As in client-go, the last token counts while the file cannot be read. */
  const readToken = (): string | undefined => {
    if (tokenFile === undefined) return undefined;
    try {
      // A token file may end with a newline, which is not allowed in a header.
      const token = readFileSync(tokenFile, 'utf8').trim();
      if (token === '') throw new Error(`${tokenFile} is empty`);
      fileToken = token;
    } catch (error) {
      if (fileToken === undefined) throw error;
    }
    return fileToken;
  };
  return async (asked) => {
    const options: FilledOptions = { headers: {} };
    let issued: ExecCredential | undefined;
    let token: string | undefined;
    try {
      await config.applyToHTTPSOptions(options);
      token = readToken();
      issued = await plugin?.get(asked);
    } catch (error) {
      if (error instanceof KubeError) throw error;
      throw new KubeError('Unreachable', `cannot obtain credentials for the API server: ${(error as Error).message}`);
    }
    const headers: KubeCredentials['headers'] = {};
    for (const [name, value] of Object.entries(options.headers)) headers[name.toLowerCase()] = String(value).trim();
    if (options.auth !== undefined) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
    // A token file takes precedence over a token, because its contents are replaced when the token expires.
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
    if (issued?.token !== undefined) headers['authorization'] ??= `Bearer ${issued.token}`;
    const { ca, servername, rejectUnauthorized } = options;
    // As in client-go, the kubeconfig's certificate takes precedence over the plugin's.
    const { cert, key } = options.cert === undefined && issued !== undefined ? issued : options;
    return {
      headers: { ...headers, ...impersonation },
      tls: {
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
        ...(servername !== undefined && { servername }),
        ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
      },
    };
  };
}
