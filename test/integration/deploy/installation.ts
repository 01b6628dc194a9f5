/** One installation on a real API server for the tests of a file. Each test leaves it installed and without objects. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, vi } from 'vitest';
import { stringify } from 'yaml';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { DEFAULT_KEY, startSimulator, type Simulator } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { startEmptyCluster, type Cluster } from './cluster.ts';
import { startPod, SYSTEM, type Pod } from './pod.ts';

export const CRD = 'virtualservers.vps-operator.dev';
export const INSTALL = ['-f', 'deploy/install.yaml'];
export const BOTH = [...INSTALL, '-f', 'deploy/guards.yaml'];
/** Short intervals, so that tests do not wait. */
const QUICK = ['--poll-interval=200ms', '--lease-duration=3s', '--takeover-grace=1s', '--create-timeout=5s'];

/** Installed completely when a test begins; simulator and namespace belong to the test. */
export class Installation {
  simulator!: Simulator;
  namespace = '';
  cluster!: Cluster;
  #count = 0;

  kubectl = (...args: string[]): Promise<string> => this.cluster.kubectl(...args);

  install = (): Promise<string> => this.kubectl('apply', '--server-side', ...BOTH);

  pod = (): Promise<Pod> => startPod(this.cluster, QUICK);

  async prepare(): Promise<void> {
    this.simulator = await startSimulator({ taskDurationMs: 500 });
    onTestFinished(() => this.simulator.close());
    await this.install();
    await this.configure();
    this.namespace = `life-${(this.#count += 1)}`;
    await this.kubectl('create', 'namespace', this.namespace);
    const { keyId, secret } = DEFAULT_KEY;
    const literals = [`--from-literal=keyId=${keyId}`, `--from-literal=secret=${secret}`];
    await this.kubectl('create', 'secret', 'generic', 'vps-api-key', '-n', this.namespace, ...literals);
  }

  async configure(): Promise<void> {
    const { baseUrl, authUrl } = this.simulator;
    const literals = [`--from-literal=VPS_BASE_URL=${baseUrl}`, `--from-literal=VPS_AUTH_URL=${authUrl}`];
    await this.kubectl('delete', 'configmap', 'vps-operator-config', '-n', SYSTEM, '--ignore-not-found');
    await this.kubectl('create', 'configmap', 'vps-operator-config', '-n', SYSTEM, ...literals);
  }

  async applyServer(name: string, spec: Record<string, unknown> = {}): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-server-'));
    const manifest = virtualServer(name);
    await writeFile(join(folder, 'server.yaml'), stringify({ ...manifest, spec: { ...manifest.spec, ...spec } }));
    await this.kubectl('apply', '-n', this.namespace, '-f', join(folder, 'server.yaml'));
    await rm(folder, { recursive: true });
  }

  async list(): Promise<VirtualServer[]> {
    const text = await this.kubectl('get', 'vps', '-n', this.namespace, '-o', 'json');
    return (JSON.parse(text) as { items: VirtualServer[] }).items;
  }

  async ready(...names: string[]): Promise<void> {
    const objects = names.map((name) => `vps/${name}`);
    await this.kubectl('wait', '-n', this.namespace, '--for=condition=Ready', '--timeout=2m', ...objects);
  }

  alive = (): string[] => this.simulator.aliveServers().map(({ identifier }) => identifier);

  /**
   * Deletes it twice, and checks that servers, objects and CRD are unchanged; then the operator manages `web` again.
   */
  async removeTwice(args: string[]): Promise<void> {
    const { kubectl, alive } = this;
    const pod = await this.pod();
    await this.applyServer('web');
    await this.ready('web');
    const servers = alive();
    const [before] = await this.list();
    const { uid } = before?.metadata ?? {};

    const isRefused = args === INSTALL;
    for (const attempt of [1, 2]) {
      const uninstall = kubectl('delete', '--ignore-not-found', ...args);
      if (isRefused) await expect(uninstall, `${attempt}`).rejects.toThrow('vps-operator.dev/allow-deletion=true');
      else await uninstall;
      await kubectl('wait', `namespace/${SYSTEM}`, '--for=delete', '--timeout=2m');
    }
    await pod.stop();
    expect(await this.list()).toMatchObject([{ metadata: { uid }, spec: before?.spec }]);
    expect((await this.list())[0]?.metadata.deletionTimestamp).toBeUndefined();
    expect(alive()).toEqual(servers);

    await this.install();
    await this.configure();
    const next = await this.pod();
    await next.saying('operator runs');
    await kubectl('annotate', 'vps', 'web', '-n', this.namespace, `vps-operator.dev/reconcile-at=${this.#count}`);
    await this.ready('web');
    expect(await this.list()).toMatchObject([{ metadata: { uid }, spec: before?.spec }]);
    await kubectl('delete', 'vps', 'web', '-n', this.namespace, '--timeout=2m');
    expect(this.simulator.ledger.creates()).toHaveLength(1);
    expect(alive()).toEqual([]);
    await next.stop();
  }
}

export function useInstallation(): Installation {
  // Namespaces and CRDs take time to disappear, and each wait has its own timeout.
  vi.setConfig({ testTimeout: 600_000 });
  const installation = new Installation();
  beforeAll(async () => {
    installation.cluster = await startEmptyCluster();
  });
  afterAll(() => installation.cluster.stop());
  beforeEach(() => installation.prepare());
  return installation;
}
