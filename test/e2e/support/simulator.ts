/** The simulated provider in its pod, controlled through its panel, which the API server proxies. */
import type { KubeHttp } from '../../../src/kube/http.ts';
import type { FaultInput } from '../../../src/simulator/index.ts';
import type { PanelState } from '../../../src/simulator/panel.ts';
import { until } from './cluster.ts';

const PANEL = '/api/v1/namespaces/vps-e2e/services/simulator:panel/proxy';

export const CREATE = { method: 'POST', route: '/beta/vps/servers' } as const;

interface Fault {
  /** Resolves once the fault has occurred. */
  met(): Promise<unknown>;
  release(): Promise<void>;
}

export class ProviderStandIn {
  readonly #http: KubeHttp;

  constructor(http: KubeHttp) {
    this.#http = http;
  }

  async state(): Promise<PanelState> {
    return (await this.#http.call({ path: `${PANEL}/state` })) as PanelState;
  }

  /** Identifiers of the servers that were ordered with this SSH key. */
  async ordered(sshKey: string): Promise<string[]> {
    const { creates } = await this.state();
    return creates.filter(({ body }) => body['ssh_keys'] === sshKey).map(({ identifier }) => identifier);
  }

  async isAlive(identifier: string): Promise<boolean> {
    return (await this.state()).alive.some((server) => server.identifier === identifier);
  }

  async inject(fault: FaultInput): Promise<Fault> {
    const { id } = await this.#post<{ id: string }>('/faults', fault);
    const path = `${PANEL}/faults/${id}`;
    return {
      met: () =>
        until(`fault ${JSON.stringify(fault)} to occur`, async () => {
          const { count } = (await this.#http.call({ path })) as { count: number };
          return count > 0;
        }),
      release: () => this.#post(`/faults/${id}/release`),
    };
  }

  /** Task duration of later creates; with null, tasks end only by `completeTasks`. */
  async setTaskDuration(ms: number | null): Promise<void> {
    await this.#post('/task-duration', { ms });
  }

  async completeTasks(): Promise<void> {
    for (const { task, state } of (await this.state()).alive) {
      if (task !== undefined && state === 'creating') await this.#post(`/tasks/${task}/complete`);
    }
  }

  async #post<T>(path: string, body: object = {}): Promise<T> {
    return (await this.#http.call({ method: 'POST', path: PANEL + path, body })) as T;
  }
}
