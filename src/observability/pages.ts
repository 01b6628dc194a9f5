/** Serves /metrics, /livez and /readyz on the addresses given by the flags. */
import type { BindAddress } from '../config/flag-values.ts';
import type { Logger } from '../base/logger.ts';
import { liveChecks, probePage, readyChecks, type Health, type HealthBounds } from './health.ts';
import type { Metrics, Observed } from './metrics.ts';
import { servePages, type PageSecurity, type PageServer } from './page-server.ts';
import { sharedPage } from './shared-page.ts';

interface ObservabilityOptions {
  metricsBindAddress: BindAddress | 'off';
  healthProbeBindAddress: BindAddress | 'off';
  bounds: HealthBounds;
  /** Undefined if no address serves metrics. */
  metrics: Metrics | undefined;
  /** For /metrics only: the kubelet has no token for probes. */
  secure: PageSecurity | undefined;
  /** Returns the current state. */
  health: () => Health;
  observe: () => Observed;
  log: Logger;
}

/** Resolves with a function that closes the servers. Throws an Error that names the flag of an unavailable address. */
export async function serveObservability(options: ObservabilityOptions): Promise<() => Promise<void>> {
  const { metricsBindAddress, healthProbeBindAddress, bounds, metrics, secure, health, observe, log } = options;
  const servers: PageServer[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  try {
    if (healthProbeBindAddress !== 'off') {
      const pages = {
        '/livez': () => probePage(liveChecks(health(), bounds)),
        '/readyz': () => probePage(readyChecks(health(), bounds)),
      };
      const flag = 'health-probe-bind-address';
      servers.push(await servePages({ address: healthProbeBindAddress, flag, pages, log }));
    }
    if (metricsBindAddress !== 'off' && metrics !== undefined) {
      const render = () => metrics.page(observe());
      const pages = { '/metrics': sharedPage(render, () => performance.now()) };
      const flag = 'metrics-bind-address';
      servers.push(await servePages({ address: metricsBindAddress, flag, pages, secure, log }));
    }
    return close;
  } catch (error) {
    await close();
    throw error;
  }
}
