/** Opens the journal and all connections for one configuration, and gives them to operator.ts. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { OPERATOR_LEASE, VERSION_ANNOTATION } from './api/names.ts';
import { LeaderElection } from './controller/leader-election.ts';
import { Observer } from './controller/observer.ts';
import { Operator } from './operator.ts';
import { createSshProbe } from './virtual-server/ssh-check.ts';
import { realTimers } from './base/timers.ts';
import { openJournal, type Journal } from './virtual-server/journal/journal.ts';
import type { Config } from './config/config.ts';
import { createClient } from './kube/client.ts';
import { loadCluster } from './kube/config.ts';
import { createKubeHttp, type KubeHttp } from './kube/http.ts';
import { readOnlyKube } from './kube/read-only.ts';
import { createInformer } from './controller/informer.ts';
import { ACCESS_REVIEWS, LEASES, SECRETS, TOKEN_REVIEWS } from './kube/kinds.ts';
import { longestSilenceMs } from './controller/reflector.ts';
import { SERVER_CATALOGS } from './server-catalog/resource.ts';
import { createKube } from './virtual-server/kube.ts';
import { VIRTUAL_SERVERS } from './virtual-server/resource.ts';
import { createMembers } from './virtual-server-set/members.ts';
import { VIRTUAL_SERVER_SETS } from './virtual-server-set/resource.ts';
import type { Logger } from './base/logger.ts';
import type { Health } from './observability/health.ts';
import { createAccess } from './observability/access.ts';
import { createCertificate } from './observability/certificate.ts';
import { kubeMetrics, providerMetrics } from './observability/requests.ts';
import { Metrics } from './base/metrics.ts';
import type { PageSecurity } from './observability/page-server.ts';
import { serveObservability } from './observability/pages.ts';
import { createProvider } from './provider/provider.ts';
import { readOnlyProvider } from './provider/read-only.ts';
import { version } from './base/version.ts';

/** By then, new credentials were tried several times. */
const LONGEST_LOGIN_FAILURE_MS = 30_000;

export interface WiredOperator {
  /** Resolves when the workers run; with leader election, that may take long. */
  start(): Promise<void>;
  /** Resolves when all work has ended and every connection and file is closed. */
  stop(): Promise<void>;
}

/**
 * Opens the journal and the connections. Throws an Error that says what is wrong with the kubeconfig or journal folder.
 * `onLost` is called when another process has taken over, or may have: the process must stop the operator and exit.
 */
export async function wireOperator(config: Config, log: Logger, onLost: () => void): Promise<WiredOperator> {
  const metrics = new Metrics((error) => log.error({ err: error }, 'failed to record a metric'));
  const { observeOnly } = config;
  const connected = createKubeHttp({
    cluster: loadCluster(
      config.kubeconfig,
      {},
      { onStderr: (stderr) => log.warn({ stderr }, 'the credential plugin has written to its standard error') },
    ),
    timeoutMs: config.kubeTimeoutMs,
    ...kubeMetrics(metrics),
  });
  // With --observe-only, nothing else in the process can reach the API server or the provider.
  const http = observeOnly ? readOnlyKube(connected) : connected;
  const journal = await journalOf(config, log);
  const opened = createProvider({
    baseUrl: config.baseUrl,
    authUrl: config.authUrl,
    timeoutMs: config.providerTimeoutMs,
    createTimeoutMs: config.createTimeoutMs,
    orders: config.orders,
    qps: config.providerQps,
    userAgent: `vps-operator/${version()}`,
    ...providerMetrics(metrics),
    network: config.network,
  });
  const provider = observeOnly ? readOnlyProvider(opened) : opened;
  const kube = createKube(http);
  const namespaces = config.watchNamespaces.length === 0 ? 'all' : config.watchNamespaces;
  const election = config.leaderElect && !observeOnly ? electionOf(config, http, log, onLost) : undefined;
  const observer = observeOnly ? observerOf(config, http, log) : undefined;
  const operator = new Operator({
    ...config,
    ...(election && { leads: () => election.held(), vacantMs: () => election.vacantMs }),
    ...(observer && { observer }),
    ...(!election && !observer && { leaseDurationMs: 0 }),
    kube,
    servers: createInformer(VIRTUAL_SERVERS, { http, namespaces, log }),
    catalogs: {
      informer: createInformer(SERVER_CATALOGS, { http, namespaces, log }),
      client: createClient(http, SERVER_CATALOGS),
    },
    sets: {
      informer: createInformer(VIRTUAL_SERVER_SETS, { http, namespaces, log }),
      client: createClient(http, VIRTUAL_SERVER_SETS),
      members: createMembers(http, VIRTUAL_SERVERS),
    },
    ...(config.connectionSecrets && !observeOnly && { secrets: createClient(http, SECRETS) }),
    provider,
    journal,
    log,
    probe: createSshProbe({ privateAddresses: config.sshCheckPrivateAddresses }),
    metrics,
  });
  let stage: 'standby' | 'active' | 'stopping' = election === undefined ? 'active' : 'standby';
  /** Resolves with a function that closes the pages. */
  let pages: Promise<() => Promise<void>> | undefined;
  const health = (): Health => ({
    vitals: operator.vitals(),
    stopping: stage === 'stopping',
    standby: election !== undefined && stage === 'standby' ? { leaseAgeMs: election.answerAgeMs } : undefined,
    loginFailure: connected.loginFailure(),
  });
  return {
    async start() {
      pages = serveObservability({
        ...config,
        bounds: {
          longestSilenceMs: longestSilenceMs(config.kubeTimeoutMs),
          longestLeaseAgeMs: config.leaseDurationMs + config.kubeTimeoutMs,
          longestLoginFailureMs: LONGEST_LOGIN_FAILURE_MS,
        },
        metrics,
        version: version(),
        secure: securityOf(config, http),
        health,
        observe: () => ({ vitals: operator.vitals(), leads: election?.held() ?? !observeOnly, now: Date.now() }),
        log,
      });
      await pages;
      // A standby runs no informers, so it only costs the API server reads of the Lease.
      await election?.acquire();
      if (stage === 'standby') stage = 'active';
      await operator.start();
    },
    async stop() {
      stage = 'stopping';
      await operator.stop();
      await election?.end();
      await provider.close();
      await http.close();
      await journal.close();
      await pages?.then(
        (close) => close(),
        () => undefined,
      );
    },
  };
}

/** Throws an Error that names the flag if the certificate is unusable. */
function securityOf({ metricsSecure, metricsCertDir }: Config, http: KubeHttp): PageSecurity | undefined {
  if (!metricsSecure || metricsCertDir === undefined) return undefined;
  const now = (): number => performance.now();
  const certificate = createCertificate(metricsCertDir, now);
  try {
    certificate.read();
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(`--metrics-cert-dir ${metricsCertDir} cannot be used: ${why}`, { cause: error });
  }
  const reviews = { tokens: createClient(http, TOKEN_REVIEWS), rights: createClient(http, ACCESS_REVIEWS) };
  return { certificate, access: createAccess(reviews, '/metrics', now) };
}

/** Throws an Error that names the flag if the folder is unusable. An operator that only observes leaves the folder alone. */
async function journalOf({ journalDir, observeOnly }: Config, log: Logger): Promise<Journal> {
  const dir = observeOnly ? undefined : journalDir;
  try {
    return await openJournal({ dir, warn: (message, fields) => log.warn(fields, message) });
  } catch (error) {
    throw new Error(`--journal-dir ${dir ?? ''} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** Throws an Error that names the flag if the namespace of the Lease is unknown. */
function leaseOf({ operatorNamespace, leaseDurationMs }: Config, http: KubeHttp, flag: string) {
  if (operatorNamespace === undefined) throw new Error(`${flag} needs --operator-namespace outside a pod`);
  const lease = { namespace: operatorNamespace, name: OPERATOR_LEASE };
  return { leases: createClient(http, LEASES), lease, leaseDurationMs, timers: realTimers };
}

function observerOf(config: Config, http: KubeHttp, log: Logger): Observer {
  return new Observer({ ...leaseOf(config, http, '--observe-only'), log });
}

function electionOf(config: Config, http: KubeHttp, log: Logger, onLost: () => void): LeaderElection {
  return new LeaderElection({
    ...leaseOf(config, http, '--leader-elect'),
    identity: `${hostname()}_${randomUUID()}`,
    annotations: { [VERSION_ANNOTATION]: version() },
    log,
    onLost,
  });
}
