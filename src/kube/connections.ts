/** The process's connections to the API server: few, shared, and replaced when credentials rotate. */
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import type { Cluster, KubeCredentials, TlsMaterial } from './config.ts';

/** Shared by all calls; a call waits if all are busy. With two watches over all namespaces, the process has nine. */
const MAX_CALL_CONNECTIONS = 7;
/** Credentials are cached this long, so a busy process does not read files for every request. */
const CREDENTIALS_MAX_AGE_MS = 5_000;
/** Detects a dead peer or a load balancer that dropped the connection; same value as client-go. */
const TCP_KEEPALIVE_MS = 30_000;
const IDLE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;

export interface KubeConnection {
  headers: KubeCredentials['headers'];
  dispatcher: Dispatcher;
}

export interface Connections {
  /** Calls and watches use separate connections, because a watch holds its connection for minutes. */
  get(use: 'call' | 'watch'): Promise<KubeConnection>;
  /** Drops the cached credentials; the next `get` reads them again. */
  invalidate(): void;
  /** Closes all connections and aborts running requests. */
  close(): Promise<void>;
}

interface Generation {
  /** The object last returned by `credentials`; while it stays the same object, no comparison is needed. */
  tls: TlsMaterial;
  fingerprint: string;
  call: Dispatcher;
  watch: Dispatcher;
}

export function createConnections(cluster: Cluster, now: () => number = Date.now): Connections {
  let credentials: { value: Promise<KubeCredentials>; readAt: number } | undefined;
  let current: Generation | undefined;
  const retired = new Set<Dispatcher>();

  function readCredentials(): Promise<KubeCredentials> {
    if (credentials === undefined || now() - credentials.readAt >= CREDENTIALS_MAX_AGE_MS) {
      const entry = { value: cluster.credentials(), readAt: now() };
      entry.value.catch(() => {
        if (credentials === entry) credentials = undefined;
      });
      credentials = entry;
    }
    return credentials.value;
  }

  /** Lets running requests finish; watches end within minutes. */
  function retire(dispatcher: Dispatcher): void {
    retired.add(dispatcher);
    void dispatcher.close().then(() => retired.delete(dispatcher));
  }

  function generation(tls: TlsMaterial): Generation {
    if (current?.tls === tls) return current;
    const fingerprint = [tls.ca, tls.cert, tls.key, tls.servername, tls.rejectUnauthorized].map(String).join('\n');
    if (current?.fingerprint === fingerprint) {
      current.tls = tls;
      return current;
    }
    if (current !== undefined) {
      retire(current.call);
      retire(current.watch);
    }
    current = {
      tls,
      fingerprint,
      call: createDispatcher(cluster, tls, MAX_CALL_CONNECTIONS),
      watch: createDispatcher(cluster, tls, null),
    };
    return current;
  }

  return {
    async get(use) {
      const { headers, tls } = await readCredentials();
      return { headers, dispatcher: generation(tls)[use] };
    },
    invalidate: () => {
      credentials = undefined;
    },
    async close() {
      const all = current === undefined ? [...retired] : [...retired, current.call, current.watch];
      await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
    },
  };
}

function createDispatcher(cluster: Cluster, tls: TlsMaterial, connections: number | null): Dispatcher {
  const options = {
    connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    connect: { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: TCP_KEEPALIVE_MS },
  };
  if (cluster.proxyUrl === undefined) return new Agent(options);
  return new ProxyAgent({ ...options, uri: cluster.proxyUrl, requestTls: tls });
}
