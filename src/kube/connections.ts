/** The process's connections to the API server: few, shared, and replaced when credentials rotate. */
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import type { Cluster, KubeCredentials, TlsMaterial } from './config.ts';

/** Calls share these; a call that finds all busy waits. With the two watches of all namespaces they are nine. */
const MAX_CALL_CONNECTIONS = 7;
/** Credentials are asked for anew after this time, so that a busy process does not read files for every request. */
const CREDENTIALS_MAX_AGE_MS = 5_000;
/** Finds a dead peer or a forgetful load balancer; client-go's value. */
const TCP_KEEPALIVE_MS = 30_000;
const IDLE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;

export interface KubeConnection {
  headers: KubeCredentials['headers'];
  dispatcher: Dispatcher;
}

export interface Connections {
  /** For a call, or for a watch, which holds its connection for minutes and so must not take one from the calls. */
  get(use: 'call' | 'watch'): Promise<KubeConnection>;
  /** The next `get` asks for credentials anew. */
  invalidate(): void;
  /** Breaks whatever is under way. */
  close(): Promise<void>;
}

interface Generation {
  /** As last seen: as long as nothing was read anew, nothing has to be compared. */
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

  /** What is under way ends in its own time; watches end within minutes. */
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
