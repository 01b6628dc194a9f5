/**
 * An operator that a tool installs in an empty cluster, and its provider. No kubelet runs there: the test starts the pod, and
 * says when the Deployment is rolled out.
 */
import { onTestFinished } from 'vitest';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { DEFAULT_KEY, startSimulator } from '../../src/simulator/index.ts';
import { startPod, SYSTEM, type Pod } from '../integration/deploy/pod.ts';
import type { Cluster } from '../integration/deploy/cluster.ts';

/** Short intervals, so that tests do not wait. */
const QUICK = ['--poll-interval=200ms', '--lease-duration=3s', '--takeover-grace=1s', '--create-timeout=5s'];

interface Deployment {
  metadata: { generation: number };
  spec: { replicas: number; template: { spec: { volumes: { configMap?: { name: string } }[] } } };
}

export async function installedOperator(cluster: Cluster) {
  const simulator = await startSimulator({ taskDurationMs: 300 });
  onTestFinished(() => simulator.close());
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(...args);
  const inSystem = (...args: string[]): Promise<string> => kubectl(`--namespace=${SYSTEM}`, ...args);
  const { keyId, secret } = DEFAULT_KEY;
  const key = [`--from-literal=keyId=${keyId}`, `--from-literal=secret=${secret}`];
  await kubectl('create', 'secret', 'generic', 'vps-api-key', '--namespace=default', ...key);
  const deployment = async (): Promise<Deployment> =>
    JSON.parse(await inSystem('get', 'deployment/vps-operator', '--output=json')) as Deployment;
  const setStatus = (object: string, status: object): Promise<string> =>
    inSystem('patch', object, '--subresource=status', '--type=merge', `--patch=${JSON.stringify({ status })}`);
  return {
    simulator,
    settings: { VPS_BASE_URL: simulator.baseUrl, VPS_AUTH_URL: simulator.authUrl },
    /** The name of the ConfigMap that the Deployment reads; undefined as long as there is no Deployment. */
    configured: () =>
      deployment().then(
        ({ spec }) => spec.template.spec.volumes.find(({ configMap }) => configMap)?.configMap?.name,
        () => undefined,
      ),
    /** The ConfigMaps of the operator. */
    configMaps: async (): Promise<string[]> =>
      (await inSystem('get', 'configmaps', '--output=name'))
        .split('\n')
        .filter((name) => name.includes('vps-operator')),
    pod: (): Promise<Pod> => startPod(cluster, QUICK),
    /** Reports all pods of the present Deployment as available, as the cluster's controllers do. */
    async rolledOut(): Promise<void> {
      const { metadata, spec } = await deployment();
      const { replicas } = spec;
      const conditions = [
        { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
        { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' },
      ];
      await setStatus('deployment/vps-operator', {
        ...{ observedGeneration: metadata.generation, conditions },
        ...{ replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas },
      });
      const allowed = { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', message: '' };
      await setStatus('poddisruptionbudget/vps-operator', {
        conditions: [{ ...allowed, lastTransitionTime: new Date().toISOString() }],
        ...{ observedGeneration: 1, expectedPods: replicas, currentHealthy: replicas },
        ...{ desiredHealthy: Math.max(replicas - 1, 0), disruptionsAllowed: 1 },
      });
    },
    server: async (): Promise<VirtualServer> =>
      JSON.parse(await kubectl('get', 'vps/simple', '--namespace=default', '--output=json')) as VirtualServer,
  };
}
