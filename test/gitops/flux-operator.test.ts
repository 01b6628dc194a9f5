/** Flux's real controllers install the operator as in examples/flux and examples/operator, in a separate cluster. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withOwnKey } from '../../tools/demo/manifests.ts';
import { type Cluster, ROOT, startEmptyCluster } from '../integration/deploy/cluster.ts';
import { operatorRepository } from '../integration/gitops/operator-example.ts';
import { blocksOf, createShell, typedIn } from '../integration/support/document.ts';
import { applyExample } from './apply-example.ts';
import { startFlux, type Flux } from './flux-controllers.ts';
import { fluxObjects } from './flux-objects.ts';
import { startGitServer, type GitServer } from './git-server.ts';
import { installedOperator } from './installed-operator.ts';
import { ownCluster } from './tool-cluster.ts';

const page = await readFile(join(ROOT, 'docs/how-to/remove.md'), 'utf8');
const steps = blocksOf(page, 'With Argo CD or Flux');
const SERVER = withOwnKey(await readFile(join(ROOT, 'examples/servers/simple.yaml'), 'utf8'));

let cluster: Cluster;
let git: GitServer;
let flux: Flux;

beforeAll(async () => {
  cluster = await startEmptyCluster();
  git = await startGitServer();
  flux = await startFlux(ownCluster(cluster));
});
afterAll(async () => {
  await flux.stop();
  await git.close();
  await cluster.stop();
});

it('installs the operator before the servers, gives it changed settings, and gives it up as remove.md says', async () => {
  const installed = await installedOperator(cluster);
  const { ledger } = installed.simulator;
  const everywhere = (...args: string[]): Promise<string> => cluster.kubectl(...args);
  const kubectl = (...args: string[]): Promise<string> => everywhere('--namespace=flux-system', ...args);
  const objects = fluxObjects(flux, kubectl);
  const repository = await git.create('platform');
  const commit = async (settings: Record<string, string>, added?: string): Promise<string> => {
    const operator = await operatorRepository(settings, added);
    return `main@sha1:${await repository.commit({ ...operator, 'servers/simple.yaml': SERVER })}`;
  };
  const first = await commit(installed.settings);
  await everywhere('create', 'namespace', 'flux-system');
  for (const name of ['servers', 'operator', 'source']) await applyExample(everywhere, `flux/${name}`, repository.url);

  await expect.poll(installed.configured, { timeout: 60_000 }).toMatch(/^vps-operator-config-/);
  const before = await installed.configured();
  expect((await objects.ready('vps-operator'))?.status).not.toBe('True');
  expect(await objects.ready('servers')).toMatchObject({ status: 'False', reason: 'DependencyNotReady' });
  await installed.rolledOut();
  await objects.applied('vps-operator', first);
  const pod = await installed.pod();
  await pod.saying('became the leader');
  await objects.applied('servers', first);
  const server = await installed.server();
  expect(installed.simulator.aliveServers()).toHaveLength(1);

  const second = await commit({ ...installed.settings, VPS_RESYNC_INTERVAL: '7m' });
  await objects.fetched(second);
  await expect.poll(installed.configured, { timeout: 60_000 }).not.toBe(before);
  expect(await objects.revisionOf('vps-operator')).toBe(first);
  await installed.rolledOut();
  await objects.applied('vps-operator', second);
  expect(await installed.configMaps()).toEqual([`configmap/${await installed.configured()}`]);
  expect(await pod.stop()).toBe(0);
  const next = await installed.pod();
  await next.saying('became the leader');
  await objects.applied('servers', second);

  const { kubeconfigPath, kubectl: program } = cluster.controlPlane;
  const user = await createShell({ kubeconfigPath, kubectl: program, namespace: 'default' });
  const keep = blocksOf(page, 'Keep servers and objects');
  const type = async (words: string): Promise<void> => {
    const found = [...steps, ...keep].flatMap(typedIn).filter(({ command }) => command.includes(words));
    expect(found).not.toEqual([]);
    for (const { command, shown } of found)
      expect(await user.run({ language: 'sh', text: command })).toContain(shown.trim());
  };
  await type('kustomization servers');
  const stopped = await commit(installed.settings, steps.find(({ language }) => language === 'yaml')?.text);
  await objects.fetched(stopped);
  const replicas = ['deployment/vps-operator', '--namespace=vps-operator-system', '--output=jsonpath={.spec.replicas}'];
  await expect.poll(() => everywhere('get', ...replicas), { timeout: 60_000 }).toBe('0');
  expect(await next.stop()).toBe(0);
  await installed.rolledOut();
  await objects.applied('vps-operator', stopped);
  await type('kubectl wait pods');
  await type('kustomization vps-operator');
  expect(await installed.configured()).toBeDefined();
  await expect(type('-f deploy/install.yaml')).rejects.toThrow('vps-operator.dev/allow-deletion=true');
  await everywhere('wait', 'namespace/vps-operator-system', '--for=delete', '--timeout=60s');
  const { metadata } = await installed.server();
  expect(metadata.uid).toBe(server.metadata.uid);
  expect(metadata.deletionTimestamp).toBeUndefined();
  expect(installed.simulator.aliveServers()).toHaveLength(1);
  expect(ledger.creates()).toHaveLength(1);
  expect(ledger.cancels()).toEqual([]);
});
