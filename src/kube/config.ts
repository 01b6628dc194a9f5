/** Loads the API server's address and credentials from a kubeconfig or from the Pod's service account. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findHomeDir, KubeConfig, type User } from '@kubernetes/client-node';
import { KubeError } from './error.ts';
import { readKubeconfig, type ClusterEntry, type UserEntry } from './kubeconfig.ts';

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
  /** HTTP proxy of the kubeconfig. */
  proxyUrl: string | undefined;
  /** Reads files and runs plugins again after their credentials expire. Throws KubeError `Unreachable` on failure. */
  credentials(): Promise<KubeCredentials>;
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
}

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Loads the first of: `path`, the files in `$KUBECONFIG`, `~/.kube/config`, the Pod's service account. Throws an Error
 * that says what is wrong.
 */
export function loadCluster(path?: string, overrides: Overrides = {}): Cluster {
  const files = path ? [path] : defaultFiles();
  const what = path ? `--kubeconfig ${path}` : `the kubeconfig (${files.join(', ')})`;
  const { currentContext, contexts, clusters, users } = readKubeconfig(files, { ofFlag: Boolean(path) });
  const name = overrides.context || currentContext;
  if (name === '') {
    if (!path && existsSync(SERVICE_ACCOUNT_TOKEN)) return podCluster(overrides);
    if (files.some(existsSync)) throw new Error(`${what} has no current-context`);
    throw new Error(`there is no kubeconfig (${files.join(', ') || 'no file is named'}): give --kubeconfig FILE`);
  }
  const context = contexts.get(name);
  if (context === undefined) throw new Error(`${what} has no context "${name}"`);
  const cluster = clusters.get(context.cluster);
  if (cluster === undefined) throw new Error(`${what} has no cluster "${context.cluster}"`);
  const user = users.get(context.user);
  if (user === undefined && context.user !== '') throw new Error(`${what} has no user "${context.user}"`);
  admitServer(cluster.server, what);
  const config = clientConfig(cluster, user);
  const impersonation = impersonated(user, overrides);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    namespace: context.namespace || undefined,
    proxyUrl: cluster['proxy-url'] || undefined,
    credentials: () => readCredentials(config, impersonation),
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
  const impersonation = impersonated(undefined, overrides);
  return {
    server,
    namespace: config.getContextObject(config.currentContext)?.namespace?.trim(),
    proxyUrl: undefined,
    credentials: () => readCredentials(config, impersonation),
  };
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
  const tokenFile = user?.tokenFile;
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
        exec: user.exec,
        // A token file takes precedence over a token, because its contents are replaced when the token expires.
        ...(tokenFile ? tokenIn(tokenFile) : { token: user.token, authProvider: user['auth-provider'] }),
      }),
    },
  );
  return config;
}

function tokenIn(tokenFile: string): Pick<User, 'authProvider'> {
  return { authProvider: { name: 'tokenFile', config: { tokenFile } } };
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

async function readCredentials(
  config: KubeConfig,
  impersonation: KubeCredentials['headers'],
): Promise<KubeCredentials> {
  const options: FilledOptions = { headers: {} };
  try {
    await config.applyToHTTPSOptions(options);
  } catch (error) {
    // A JSON error quotes the plugin's output, which contains the token.
    const why = error instanceof SyntaxError ? 'the credential plugin did not print JSON' : (error as Error).message;
    throw new KubeError('Unreachable', `cannot obtain credentials for the API server: ${why}`);
  }
  const headers: KubeCredentials['headers'] = {};
  // A token file may end with a newline, which is not allowed in a header.
  for (const [name, value] of Object.entries(options.headers)) headers[name.toLowerCase()] = String(value).trim();
  if (options.auth !== undefined) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const { ca, cert, key, servername, rejectUnauthorized } = options;
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
}
