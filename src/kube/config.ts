/** Where the API server is and how to authenticate, from a kubeconfig or from the Pod's service account. */
import { KubeConfig, type Cluster as ClusterEntry } from '@kubernetes/client-node';
import { KubeError } from './error.ts';

/** What a TLS connection to the API server needs. */
export interface TlsMaterial {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
}

export interface Credentials {
  headers: Record<string, string>;
  tls: TlsMaterial;
}

export interface Cluster {
  /** Origin and optional path prefix, without a slash at the end. */
  server: string;
  /** The namespace of the current context, or of the Pod. */
  namespace: string | undefined;
  /** HTTP proxy of the kubeconfig. */
  proxyUrl: string | undefined;
  /** Reads files and runs plugins anew when they have expired; throws KubeError `Unreachable` if that fails. */
  credentials(): Promise<Credentials>;
}

/** The options that KubeConfig fills in; a subset of node's `https.RequestOptions`. */
interface FilledOptions extends TlsMaterial {
  auth?: string;
  headers: Record<string, string | number | readonly string[]>;
}

/**
 * Loads `path`, else what `$KUBECONFIG` names, else `~/.kube/config`, else the Pod's service account; of it `context`,
 * else its current one. Throws an Error that says what is wrong with it.
 */
export function loadCluster(path?: string, context?: string): Cluster {
  const what = path === undefined ? 'the kubeconfig' : `--kubeconfig ${path}`;
  const config = new KubeConfig();
  const problem = problemOf(() => (path === undefined ? config.loadFromDefault() : config.loadFromFile(path)));
  if (problem !== undefined) throw new Error(`${what} cannot be loaded: ${problem}`);
  if (context !== undefined) config.setCurrentContext(context);
  return clusterOf(config, what);
}

/** What is wrong with a file. What a parser says of one quotes it, and with it tokens and keys: that is left out. */
function problemOf(load: () => void): string | undefined {
  try {
    load();
    return undefined;
  } catch (error) {
    const { mark } = error as { mark?: { line: number; column: number } };
    if (mark !== undefined) return `it is no valid YAML at line ${mark.line + 1}, column ${mark.column + 1}`;
    return error instanceof Error ? error.message : String(error);
  }
}

function clusterOf(config: KubeConfig, what: string): Cluster {
  const context = config.getContextObject(config.currentContext);
  const cluster = config.getCurrentCluster();
  if (!config.currentContext) throw new Error(`${what} has no current-context`);
  if (context === null) throw new Error(`${what} has no context "${config.currentContext}"`);
  if (cluster === null) throw new Error(`${what} has no cluster "${context.cluster}"`);
  if (config.getCurrentUser() === null) throw new Error(`${what} has no user "${context.user}"`);
  if (!URL.canParse(cluster.server)) throw new Error(`${what} names no valid server: "${cluster.server}"`);
  if (new URL(cluster.server).protocol === 'http:' && !cluster.skipTLSVerify) admitPlain(cluster, what);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    namespace: context.namespace?.trim(),
    proxyUrl: cluster.proxyUrl,
    credentials: () => readCredentials(config),
  };
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** What `kubectl proxy` serves, on this machine; other servers would be sent tokens in the clear over a network. */
function admitPlain(cluster: ClusterEntry, what: string): void {
  if (!LOOPBACK.test(new URL(cluster.server).hostname)) {
    throw new Error(`${what} names a server without TLS, "${cluster.server}": give its https:// address`);
  }
  // client-node asks for it, though there is nothing to be verified.
  Object.assign(cluster, { skipTLSVerify: true });
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const options: FilledOptions = { headers: {} };
  try {
    await config.applyToHTTPSOptions(options);
  } catch (error) {
    // A JSON error quotes the plugin's output, which is where the token stands.
    const why = error instanceof SyntaxError ? 'the credential plugin wrote no JSON' : (error as Error).message;
    throw new KubeError('Unreachable', `cannot obtain credentials for the API server: ${why}`);
  }
  const headers: Record<string, string> = {};
  // A token file may end in a newline, which no header may contain.
  for (const [name, value] of Object.entries(options.headers)) headers[name.toLowerCase()] = String(value).trim();
  if (options.auth !== undefined) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  return {
    headers,
    tls: {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(servername !== undefined && { servername }),
      ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    },
  };
}
