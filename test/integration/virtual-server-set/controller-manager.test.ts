/**
 * VirtualServerSets beside the controllers of Kubernetes: the horizontal pod autoscaler of the examples scales them, and the
 * garbage collector deletes their members. The simulator's ledger counts orders and cancellations.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it, type TestContext } from 'vitest';
import { API_VERSION, SET_KIND, SET_LABEL } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { installOperatorIdentity } from '../../../tools/control-plane/operator-identity.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createAutoscaler } from '../support/autoscaler.ts';
import { startMetricsAdapter, type MetricsAdapter } from '../support/metrics-adapter.ts';
import { holdCancellations } from '../support/cancellations.ts';
import { createSet } from '../support/sets.ts';
import { createWorld, type World } from '../support/world.ts';

let controlPlane: ControlPlane;
let operatorKubeconfigPath: string;
let http: KubeHttp;
let metrics: MetricsAdapter;

beforeAll(async () => {
  const controllers = ['horizontal-pod-autoscaler-controller'];
  const flags = {
    'horizontal-pod-autoscaler-sync-period': '1s',
    // Each controller has its own rights, as in a cluster, instead of an administrator's.
    'use-service-account-credentials': 'true',
  };
  controlPlane = await startControlPlane({ controllerManager: { controllers, flags } });
  operatorKubeconfigPath = await installOperatorIdentity(controlPlane.kubeconfigPath);
  http = createKubeHttp({ cluster: loadCluster(controlPlane.kubeconfigPath) });
  metrics = await startMetricsAdapter(http);
});
afterAll(async () => {
  metrics.stop();
  await http.close();
  await controlPlane.stop();
});

type Kubectl = (...args: string[]) => Promise<string>;

/** A world with the set `web`, and kubectl in its namespace. */
async function setWorld(onTestFinished: TestContext['onTestFinished'], spec: object) {
  const { kubeconfigPath, kubectl: program } = controlPlane;
  const place = { kubeconfigPath, operatorKubeconfigPath, onTestFinished };
  const world = await createWorld({ simulator: { taskDurationMs: 100 }, ...place });
  const kubectl: Kubectl = async (...args) => {
    const flags = [`--kubeconfig=${kubeconfigPath}`, `--namespace=${world.namespace}`];
    return (await promisify(execFile)(program, [...flags, ...args])).stdout;
  };
  const set = await createSet(world, spec);
  await set.waitForReason('Available');
  return { world, kubectl, ...set };
}

/** Servers ordered, cancelled, and left. */
const ledger = ({ simulator }: World): number[] => [
  simulator.ledger.creates().length,
  simulator.ledger.cancels().length,
  simulator.aliveServers().length,
];

const isDeleting = (object: VirtualServer): boolean => object.metadata.deletionTimestamp !== undefined;

const names = async (kubectl: Kubectl): Promise<string[]> =>
  (await kubectl('get', 'vps', '--output=jsonpath={.items[*].metadata.name}')).split(' ').filter(Boolean);

describe.concurrent('the horizontal pod autoscaler', () => {
  it.concurrent.for([
    { what: 'an external metric', ofIngress: false },
    { what: 'a metric of an Ingress', ofIngress: true },
  ])('scales a set up and down by $what per member', async ({ ofIngress }, { expect, onTestFinished }) => {
    const active = {
      AbleToScale: expect.stringMatching(/^True/) as string,
      ScalingActive: expect.stringMatching(/^True/) as string,
    };
    const { world, get, waitForReason } = await setWorld(onTestFinished, { replicas: 1 });
    metrics.set(world.namespace, 100);
    const autoscaler = await createAutoscaler(world, { ofIngress });
    await expect.poll(autoscaler.status).toMatchObject({ currentReplicas: 1, desiredReplicas: 1, conditions: active });
    expect(ledger(world)).toEqual([1, 0, 1]);

    metrics.set(world.namespace, 250);
    await expect.poll(() => ledger(world)).toEqual([3, 0, 3]);
    const up = await waitForReason('Available');
    expect(up.status).toMatchObject({ replicas: 3, readyReplicas: 3, terminatingReplicas: 0 });
    await expect.poll(autoscaler.status).toMatchObject({ currentReplicas: 3, desiredReplicas: 3, conditions: active });

    metrics.set(world.namespace, 50);
    await expect.poll(() => ledger(world)).toEqual([3, 2, 1]);
    const down = await waitForReason('Available');
    expect(down.status).toMatchObject({ replicas: 1, readyReplicas: 1, terminatingReplicas: 0 });
    await expect.poll(autoscaler.status).toMatchObject({ currentReplicas: 1, desiredReplicas: 1, conditions: active });
    expect(ledger(world)).toEqual([3, 2, 1]);

    // One generation for each write of the spec: created, scaled up, scaled down.
    expect((await get()).metadata.generation).toBe(3);
  });

  it.concurrent(
    'reports that it cannot use a metric of the type Value, which it divides by pods',
    async ({ expect, onTestFinished }) => {
      const { world } = await setWorld(onTestFinished, { replicas: 1 });
      metrics.set(world.namespace, 250);
      const autoscaler = await createAutoscaler(world, { target: { type: 'Value', value: '100' } });
      const failed = expect.stringMatching(/^False: .*no pods/) as string;
      await expect.poll(autoscaler.status).toMatchObject({ currentReplicas: 1, conditions: { ScalingActive: failed } });
      expect(ledger(world)).toEqual([1, 0, 1]);
    },
  );
});

it.concurrent('kubectl scale sets the number of servers', async ({ expect, onTestFinished }) => {
  const { world, kubectl, waitForReason } = await setWorld(onTestFinished, { replicas: 1 });
  await kubectl('scale', 'vpsset/web', '--replicas=2');
  await expect.poll(() => ledger(world)).toEqual([2, 0, 2]);
  await waitForReason('Available');
  await kubectl('scale', 'vpsset/web', '--current-replicas=2', '--replicas=0');
  await expect.poll(() => ledger(world)).toEqual([2, 2, 0]);
  await waitForReason('Available');
  expect(await names(kubectl)).toEqual([]);
});

describe.concurrent('a set that is deleted', () => {
  it.concurrent(
    'is gone at once, and its members stay until their servers are cancelled',
    async ({ expect, onTestFinished }) => {
      const { world, kubectl } = await setWorld(onTestFinished, { replicas: 2 });
      const cancellations = holdCancellations(world);
      await kubectl('delete', 'vpsset', 'web');
      for (const name of ['web-0', 'web-1']) await world.waitFor(name, isDeleting);
      expect(ledger(world)).toEqual([2, 0, 2]);
      cancellations.release();
      for (const name of ['web-0', 'web-1']) await world.waitGone(name);
      expect(ledger(world)).toEqual([2, 2, 0]);
    },
  );

  it.concurrent(
    'stays until its last member is gone, with --cascade=foreground',
    async ({ expect, onTestFinished }) => {
      const { world, kubectl, waitForReason } = await setWorld(onTestFinished, { replicas: 2 });
      const cancellations = holdCancellations(world);
      await kubectl('delete', 'vpsset', 'web', '--cascade=foreground', '--wait=false');
      for (const name of ['web-0', 'web-1']) await world.waitFor(name, isDeleting);
      const counts = { replicas: 0, terminatingReplicas: 2 };
      await expect.poll(async () => (await waitForReason('Deleting')).status).toMatchObject(counts);
      expect(ledger(world)).toEqual([2, 0, 2]);
      cancellations.release();
      await kubectl('wait', 'vpsset/web', '--for=delete', '--timeout=60s');
      expect(await names(kubectl)).toEqual([]);
      expect(ledger(world)).toEqual([2, 2, 0]);
    },
  );

  it.concurrent(
    'leaves its members with --cascade=orphan, and a new set of the same name adopts them',
    async ({ expect, onTestFinished }) => {
      const { world, kubectl, get } = await setWorld(onTestFinished, { replicas: 2 });
      const { uid } = (await get()).metadata;
      await kubectl('delete', 'vpsset', 'web', '--cascade=orphan');
      for (const name of ['web-0', 'web-1']) {
        const { metadata } = await world.waitFor(name, ({ metadata }) => metadata.ownerReferences === undefined);
        expect([metadata.labels?.[SET_LABEL], metadata.deletionTimestamp]).toEqual(['web', undefined]);
      }
      const again = await createSet(world, { replicas: 2 });
      const { metadata, status } = await again.waitForReason('Available');
      expect(metadata.uid).not.toBe(uid);
      expect(status).toMatchObject({ replicas: 2, readyReplicas: 2 });
      for (const name of await names(kubectl)) {
        expect((await world.get(name))?.metadata.ownerReferences).toMatchObject([
          { uid: metadata.uid, controller: true },
        ]);
      }
      expect(ledger(world)).toEqual([2, 0, 2]);
    },
  );

  it.concurrent('leaves no member that was created while the set was deleted', async ({ expect, onTestFinished }) => {
    const { world, kubectl, get } = await setWorld(onTestFinished, { replicas: 1 });
    const { metadata } = await get();
    await kubectl('delete', 'vpsset', 'web');
    await world.waitGone('web-0');
    const owner = { apiVersion: API_VERSION, kind: SET_KIND, name: 'web', uid: metadata.uid, controller: true };
    const late = virtualServer('web-1');
    await world.create({ ...late, metadata: { ...late.metadata, ownerReferences: [owner] } });
    await world.waitGone('web-1');
    await expect.poll(() => ledger(world)[2]).toBe(0);
  });
});
