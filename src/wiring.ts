/** Puts the rooms together for one configuration. */
import { Operator } from './controller/operator.ts';
import { openJournal } from './controller/journal.ts';
import type { Config } from './config.ts';
import { createKube } from './kube/client.ts';
import { loadCluster } from './kube/config.ts';
import { createKubeHttp } from './kube/http.ts';
import { createInformer } from './kube/informer.ts';
import type { Logger } from './logger.ts';
import { createProvider } from './provider/index.ts';
import { version } from './version.ts';

export interface WiredOperator {
  /** Resolves when the workers run. */
  start(): Promise<void>;
  /** Resolves when nothing runs any more and every connection and file is closed. */
  stop(): Promise<void>;
}

/** Opens journal and connections. Throws what is wrong with the kubeconfig or the journal folder. */
export async function wireOperator(config: Config, log: Logger): Promise<WiredOperator> {
  const http = createKubeHttp({ cluster: loadCluster(config.kubeconfig), timeoutMs: config.kubeTimeoutMs });
  const journal = await openJournal({ dir: config.journalDir, warn: (message, fields) => log.warn(fields, message) });
  const provider = createProvider({
    baseUrl: config.baseUrl,
    authUrl: config.authUrl,
    timeoutMs: config.providerTimeoutMs,
    createTimeoutMs: config.createTimeoutMs,
    qps: config.providerQps,
    userAgent: `vps-operator/${version()}`,
  });
  const kube = createKube({ http });
  const namespaces = config.watchNamespaces.length === 0 ? 'all' : config.watchNamespaces;
  const operator = new Operator({
    ...config,
    kube,
    informer: (handler) => createInformer({ http, namespaces, handler, log }),
    provider,
    journal,
    log,
  });
  return {
    start: () => operator.start(),
    async stop() {
      await operator.stop();
      await provider.close();
      await kube.close();
      await journal.close();
    },
  };
}
