/** Runs the pages on installation section by section on a real API server; a process replaces the pods. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { blocksOf, createShell, executable } from '../integration/support/document.ts';
import { ROOT, startEmptyCluster, type Cluster } from '../integration/deploy/cluster.ts';
import { startPod, SYSTEM } from '../integration/deploy/pod.ts';

const PAGES = ['install', 'upgrade', 'remove'].map((name) => join(ROOT, `docs/how-to/${name}.md`));
const text = (await Promise.all(PAGES.map((page) => readFile(page, 'utf8')))).join('\n');

/** Only an upper bound: the document has some forty commands, and other tests run in parallel. */
const WHOLE_MS = 240_000;
const SECRETS = 'vps-operator-connection-secrets';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startEmptyCluster();
});
afterAll(() => cluster.stop());

it('leads through every way to install, from an empty cluster to an empty cluster', { timeout: WHOLE_MS }, async () => {
  const simulator = await startSimulator({ taskDurationMs: 300 });
  onTestFinished(() => simulator.close());
  const { kubeconfigPath, kubectl } = cluster.controlPlane;
  const replace = { 'https://api.example.org': simulator.baseUrl, 'https://auth.example.org': simulator.authUrl };
  const shell = await createShell({ kubeconfigPath, kubectl, namespace: 'default', replace });
  const follow = async (heading: string): Promise<string> => {
    let said = '';
    for (const block of blocksOf(text, heading).filter(executable)) said += await shell.run(block);
    return said;
  };

  await follow('Install');
  const images = '{.spec.template.spec.containers[*].image}';
  const image = await cluster.kubectl('get', 'deployment', 'vps-operator', '-n', SYSTEM, '-o', `jsonpath=${images}`);
  expect(image).toMatch(/^registry\.example\.org\/vps-operator:\d/);
  const everywhere = await startPod(cluster);
  await everywhere.saying('operator runs');
  await everywhere.stop();

  await follow('Configure');
  const data = await cluster.kubectl('get', 'cm', 'vps-operator-config', '-n', SYSTEM, '-o', 'jsonpath={.data}');
  expect(parseConfig([], JSON.parse(data) as NodeJS.ProcessEnv)).toMatchObject({
    kind: 'run',
    config: { resyncIntervalMs: 300_000 },
  });

  expect(await follow('Connection Secrets')).toMatch(RegExp(`/${SECRETS} serverside-applied[^]*"${SECRETS}" deleted`));
  expect(await cluster.kubectl('get', 'clusterrole,validatingadmissionpolicy', '-o', 'name')).not.toContain(SECRETS);

  await follow('Single namespaces');
  await startPod(cluster, ['--poll-interval=100ms']);
  const demo = ['-n', 'team-b', '-f', 'deploy/manifests/overlays/demo/server.yaml'];
  await cluster.kubectl('apply', ...demo);
  const objects = ['vps/web', 'vpscat/catalog'];
  await cluster.kubectl('wait', '-n', 'team-b', ...objects, '--for=condition=Ready', '--timeout=2m');
  const asks = '--patch={"spec":{"connectionSecretName":"web"}}';
  await cluster.kubectl('patch', '-n', 'team-b', 'vps/web', '--type=merge', asks);
  await cluster.kubectl('wait', '-n', 'team-b', 'vps/web', '--for=condition=ConnectionSecret', '--timeout=2m');
  const rights = await cluster.kubectl(
    'auth',
    'can-i',
    '--list',
    '-n',
    'default',
    `--as=system:serviceaccount:${SYSTEM}:vps-operator`,
  );
  expect(rights).not.toMatch(/^virtualservers/m);
  expect(rights).not.toContain('secrets');
  await cluster.kubectl('delete', ...demo, '--timeout=2m');
  expect(simulator.aliveServers()).toEqual([]);

  expect(await follow('Demo')).toContain('virtualserver.vps-operator.dev/web created');
  await cluster.kubectl('delete', 'vps/web');

  expect(await follow('Upgrade')).toContain(
    'customresourcedefinition.apiextensions.k8s.io/virtualservers.vps-operator.dev',
  );
  expect(await follow('Remove')).toContain('"virtualservers.vps-operator.dev" deleted');
  for (const kind of [
    'clusterrole',
    'clusterrolebinding',
    'validatingadmissionpolicy',
    'validatingadmissionpolicybinding',
  ]) {
    expect(await cluster.kubectl('get', kind, '-o', 'name')).not.toContain('vps-operator');
  }
});

it('names the settings like the flags', () => {
  for (const [name] of text.matchAll(/VPS_[A-Z_]+/g)) {
    const parsed = parseConfig([], { VPS_BASE_URL: 'http://a', VPS_AUTH_URL: 'http://a', [name]: '?' });
    expect(parsed, name).toMatchObject({ kind: 'error', message: expect.stringContaining(name) as string });
  }
});
