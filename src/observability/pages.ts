/** Serves /metrics, /livez and /readyz on the addresses given by the flags. */
import type { BindAddress } from '../config/flag-values.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import { liveChecks, probePage, readyChecks, type Health, type HealthBounds } from './health.ts';
import { createMetricsPage, type Observed } from './metrics.ts';
import { servePages, type Page, type PageSecurity, type PageServer } from './page-server.ts';

/** How long a page of metrics is served again (ms). */
const MAX_AGE_MS = 1_000;

interface ObservabilityOptions {
  metricsBindAddress: BindAddress | 'off';
  healthProbeBindAddress: BindAddress | 'off';
  bounds: HealthBounds;
  metrics: Metrics;
  version: string;
  /** For /metrics only: the kubelet has no token for probes. */
  secure: PageSecurity | undefined;
  /** Returns the current state. */
  health: () => Health;
  observe: () => Observed;
  log: Logger;
}

/** Resolves with a function that closes the servers. Throws an Error that names the flag of an unavailable address. */
export async function serveObservability(options: ObservabilityOptions): Promise<() => Promise<void>> {
  const { metricsBindAddress, healthProbeBindAddress, bounds, metrics, version, secure, health, observe, log } =
    options;
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
    if (metricsBindAddress !== 'off') {
      const render = createMetricsPage(metrics, version);
      const pages = {
        '/metrics': sharedPage(
          () => render(observe()),
          () => performance.now(),
        ),
      };
      const flag = 'metrics-bind-address';
      servers.push(await servePages({ address: metricsBindAddress, flag, pages, secure, log }));
    }
    return close;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Renders a page at most once a second, so a peer with endless requests cannot slow down the operator. */
export function sharedPage(render: () => Promise<Page>, now: () => number): () => Promise<Page> {
  let last: { at: number; page: Promise<Page> } | undefined;
  return () => {
    const at = now();
    if (last === undefined || at - last.at >= MAX_AGE_MS) last = { at, page: render() };
    return last.page;
  };
}
