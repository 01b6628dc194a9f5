/**
 * The real Argo CD installs the operator as in examples/argocd, in a separate cluster. The repository contains what
 * kustomize makes of examples/operator: Argo CD would need the program kustomize.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { withOwnKey } from '../../tools/demo/manifests.ts';
import { type Cluster, ROOT, startEmptyCluster } from '../integration/deploy/cluster.ts';
import { operatorExample } from '../integration/gitops/operator-example.ts';
import { applyExample } from './apply-example.ts';
import { argoApplication } from './argo-application.ts';
import { hasRedis, startArgoCd, type ArgoCd } from './argo-programs.ts';
import { startGitServer, type GitServer } from './git-server.ts';
import { installedOperator } from './installed-operator.ts';
import { ownCluster } from './tool-cluster.ts';

const SERVER = withOwnKey(await readFile(join(ROOT, 'examples/servers/simple.yaml'), 'utf8'));

let cluster: Cluster;
let git: GitServer;
let argo: ArgoCd;

describe.skipIf(!hasRedis)('Argo CD', () => {
  beforeAll(async () => {
    cluster = await startEmptyCluster();
    git = await startGitServer();
    argo = await startArgoCd(ownCluster(cluster));
  });
  afterAll(async () => {
    await argo.stop();
    await git.close();
    await cluster.stop();
  });

  it('installs the operator, gives it changed settings without a question, and asks before it deletes anything else', async () => {
    const installed = await installedOperator(cluster);
    const { ledger } = installed.simulator;
    const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(...args);
    const app = argoApplication('vps-operator', argo, kubectl);
    const repository = await git.create('platform');
    const commit = async (settings: Record<string, string>, without?: string): Promise<string> => {
      const documents = parseAllDocuments(await operatorExample(kubectl, settings));
      const kept = documents.filter((document) => document.get('kind') !== without);
      return repository.commit({ 'operator/operator.yaml': kept.map(String).join('---\n') });
    };

    const first = await commit(installed.settings);
    for (const name of ['project', 'operator']) await applyExample(kubectl, `argocd/${name}`, repository.url);
    await app.until('Progressing', 'Synced', first);
    await installed.rolledOut();
    await app.until('Healthy', 'Synced', first);
    const before = await installed.configured();
    const pod = await installed.pod();
    await pod.saying('became the leader');
    const file = join(await mkdtemp(join(tmpdir(), 'vps-operator-server-')), 'simple.yaml');
    onTestFinished(() => rm(dirname(file), { recursive: true }));
    await writeFile(file, SERVER);
    await kubectl('apply', '--namespace=default', '-f', file);
    await kubectl('wait', '--namespace=default', '--for=condition=Ready', 'vps/simple', '--timeout=60s');
    const server = await installed.server();

    const settings = { ...installed.settings, VPS_RESYNC_INTERVAL: '7m' };
    const second = await commit(settings);
    await app.refresh();
    await expect.poll(installed.configured, { timeout: 60_000 }).not.toBe(before);
    await installed.rolledOut();
    await app.until('Healthy', 'Synced', second);
    expect(await installed.configMaps()).toEqual([`configmap/${await installed.configured()}`]);

    const third = await commit(settings, 'PodDisruptionBudget');
    await app.refresh();
    await app.saying(/^waiting for pruning confirmation of policy\/PodDisruptionBudget/);
    await kubectl('get', '--namespace=vps-operator-system', 'poddisruptionbudget/vps-operator');
    await app.confirm();
    await app.until('Healthy', 'Synced', third);

    await app.deleteWithObjects();
    await app.waitingForConfirmation('vps-operator\\S*');
    expect(await installed.configured()).toBeDefined();
    await app.confirm();
    await app.gone();
    await kubectl('wait', 'namespace/vps-operator-system', '--for=delete', '--timeout=60s');
    await pod.stop();
    const { metadata } = await installed.server();
    expect(metadata.uid).toBe(server.metadata.uid);
    expect(metadata.deletionTimestamp).toBeUndefined();
    expect(await kubectl('get', 'validatingadmissionpolicies', '--output=name')).toContain(
      'vps-operator-deletion-protection',
    );
    expect(ledger.creates()).toHaveLength(1);
    expect(ledger.cancels()).toEqual([]);
    expect(installed.simulator.aliveServers()).toHaveLength(1);
  });
});
