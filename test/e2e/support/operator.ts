/** The operator in its pods: installs it, finds the leader, and ends pods. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { apply, kubectl, run, setting, until } from './cluster.ts';

const ROOT = join(import.meta.dirname, '../../..');
export const NAMESPACE = 'vps-operator-system';
const SELECTOR = 'app.kubernetes.io/name=vps-operator,app.kubernetes.io/component=operator';
const REPLICAS = 2;

export interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string };
  spec: { nodeName: string };
  status: {
    phase: string;
    conditions?: { type: string; status: string; lastTransitionTime: string }[];
    containerStatuses?: { ready: boolean; restartCount: number; state: { running?: { startedAt: string } } }[];
  };
}

/** deploy/install.yaml with the image under test, changed as users of a private registry change it. */
export async function installFile(): Promise<string> {
  const text = await readFile(join(ROOT, 'deploy/install.yaml'), 'utf8');
  return text.replace(/^(\s*image: ).*$/m, `$1${setting('E2E_IMAGE')}`);
}

/**
 * Installs the simulated provider, the operator with its guards, and the test settings; resolves when both replicas are
 * ready.
 */
export async function install(http: KubeHttp): Promise<void> {
  const simulator = await readFile(join(import.meta.dirname, '../simulator.yaml'), 'utf8');
  await apply(simulator.replace('image: IMAGE', `image: ${setting('E2E_SIMULATOR_IMAGE')}`));
  await kubectl('-n', 'vps-e2e', 'rollout', 'status', 'deployment/simulator', '--timeout=120s');
  await apply(await installFile());
  await apply(await readFile(join(ROOT, 'deploy/guards.yaml'), 'utf8'));
  await apply(await readFile(join(import.meta.dirname, '../settings.yaml'), 'utf8'));
  await ready(http);
}

/** Waits until exactly two replicas exist, both are ready, and one of them leads. */
export async function ready(http: KubeHttp): Promise<Pod[]> {
  return until('both replicas ready and one of them leading', async () => {
    const found = await pods(http);
    const leading = await leader(http);
    const settled = found.length === REPLICAS && found.every(isReady);
    return settled && found.some(({ metadata }) => metadata.name === leading?.metadata.name) && found;
  });
}

export function isReady({ metadata, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true
  );
}

export async function pods(http: KubeHttp): Promise<Pod[]> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods`;
  return ((await http.call({ path, query: { labelSelector: SELECTOR } })) as { items: Pod[] }).items;
}

/** The pod that holds the Lease; undefined if there is no holder or its pod is gone. */
async function leader(http: KubeHttp): Promise<Pod | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/vps-operator`;
  const lease = (await http.call({ path })) as { spec: { holderIdentity?: string } };
  const [name] = (lease.spec.holderIdentity ?? '').split('_');
  return (await pods(http)).find(({ metadata }) => metadata.name === name);
}

export async function theLeader(http: KubeHttp): Promise<Pod> {
  return until('a leader', () => leader(http));
}

/** Deletes the pod with its grace period; does not wait for its end. */
export async function deletePod({ metadata }: Pod): Promise<void> {
  await kubectl('-n', NAMESPACE, 'delete', 'pod', metadata.name, '--wait=false');
}

/**
 * Kills the operator's process. E2E_KILL is a command that gets the pod's uid and kills its process, like `kill -9` on
 * the node. Without it the pod is deleted without a grace period, which also means SIGKILL, and its journal is lost.
 */
export async function killPod({ metadata }: Pod): Promise<'kill -9' | 'forced deletion'> {
  const command = process.env['E2E_KILL'];
  if (command !== undefined) {
    await run('sh', ['-c', `${command} ${metadata.uid}`]);
    return 'kill -9';
  }
  await kubectl('-n', NAMESPACE, 'delete', 'pod', metadata.name, '--grace-period=0', '--force');
  return 'forced deletion';
}

/** Runs JavaScript with Node in the operator's pod. */
export function inPod({ metadata }: Pod, script: string): Promise<string> {
  return kubectl('-n', NAMESPACE, 'exec', metadata.name, '--', '/nodejs/bin/node', '-e', script);
}
