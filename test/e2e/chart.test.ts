/** The Helm chart in real pods: it takes over an installation of install.yaml, passes its own test, and is removed. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { CHART } from '../../tools/chart/main.ts';
import { HELM_BUILD_MS, useHelm, type Helm } from '../third-party/helm.ts';
import { connect, kubectl, setting, until } from './support/cluster.ts';
import { install, NAMESPACE, pods, ready } from './support/operator.ts';
import { createServers } from './support/servers.ts';
import { ProviderStandIn } from './support/simulator.ts';

const RELEASE = 'vps-operator';
/** Name of what `helm test` creates, and deletes only after a success. */
const HOOK = 'vps-operator-test';
/** Longer than all steps of a test may wait in sum, so that the cleanup still runs within it. */
const TIMEOUT_MS = 900_000;

vi.setConfig({ testTimeout: TIMEOUT_MS });

const http = connect();
const provider = new ProviderStandIn(http);
let helm: Helm;

beforeAll(async () => {
  helm = await useHelm();
  // A run that was cut off may have left the chart.
  await restore();
}, HELM_BUILD_MS);

afterAll(async () => {
  await helm.remove();
  await http.close();
});

function inCluster(...args: string[]): Promise<string> {
  return helm.run(...args, '--namespace', NAMESPACE, '--kubeconfig', setting('E2E_KUBECONFIG'));
}

/** Replaces what install.yaml created, and keeps its settings. */
async function takeOver(): Promise<void> {
  const [, repository = '', tag = ''] = /^(.+):([^:/]+)$/.exec(setting('E2E_IMAGE')) ?? [];
  const image = ['--set', `image.repository=${repository}`, '--set-string', `image.tag=${tag}`];
  const values = ['--set', 'existingConfigMap=vps-operator-config', ...image];
  await inCluster('install', RELEASE, CHART, '--take-ownership', '--force-conflicts', ...values);
  await ready(http);
}

/** Does nothing if the chart is not installed. */
async function uninstall(): Promise<void> {
  await inCluster('uninstall', RELEASE, '--ignore-not-found', '--wait', '--timeout=120s');
}

function gone(): Promise<boolean> {
  return until('the operator to be gone', async () => (await pods(http)).length === 0);
}

/** Replaces the chart, in whatever state a test has left it, by install.yaml, as the other files of tests expect it. */
async function restore(): Promise<void> {
  await uninstall();
  await kubectl('-n', NAMESPACE, 'delete', `pod/${HOOK}`, `networkpolicy/${HOOK}`, '--ignore-not-found');
  await install(http);
}

it('takes over from install.yaml, passes helm test, and leaves servers alone when it is uninstalled', async () => {
  const servers = await createServers(http, 'chart');
  await servers.apply('before');
  await servers.waitReady('before');
  const { identifier = '' } = (await servers.get('before'))?.status ?? {};
  try {
    await takeOver();
    expect(await inCluster('test', RELEASE, '--timeout=120s')).toMatch(/Phase:\s+Succeeded/);
    await servers.apply('after');
    await servers.waitReady('after');
    await servers.delete('after');
    await uninstall();
    await gone();
    expect((await servers.get('before'))?.status?.identifier).toBe(identifier);
    expect(await provider.isAlive(identifier)).toBe(true);
  } finally {
    await restore();
  }
  await servers.delete('before');
  expect(await provider.isAlive(identifier)).toBe(false);
  expect(await provider.ordered(servers.sshKey('before'))).toEqual([identifier]);
});

it('fails helm test while no replica leads', async () => {
  try {
    await takeOver();
    await kubectl('-n', NAMESPACE, 'scale', 'deployment/vps-operator', '--replicas=0');
    await gone();
    await expect(inCluster('test', RELEASE, '--timeout=120s')).rejects.toThrow(HOOK);
  } finally {
    await restore();
  }
});
