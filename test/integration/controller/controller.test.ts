/** The controller runs an unknown kind with a secondary watch, on the real API server. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createLogger } from '../../../src/base/logger.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { realTimers } from '../../../src/base/timers.ts';
import { Controller, type Reconciler } from '../../../src/controller/controller.ts';
import { createInformer } from '../../../src/controller/informer.ts';
import { OwnWrites } from '../../../src/controller/own-writes.ts';
import { createClient, type Client } from '../../../src/kube/client.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { keyOf, pathOf, collectionOf, resource, type KubeObject } from '../../../src/kube/resource.ts';
import { adminHttp, createNamespace } from '../kube/support.ts';

/** A herd needs as many ConfigMaps as its spec says; its status shows how many exist. */
interface Herd extends KubeObject {
  spec: { size: number };
  status?: { count: number };
}
const HERDS = resource<Herd>({ apiVersion: 'toys.example.org/v1', kind: 'Herd', plural: 'herds' });
const CONFIG_MAPS = resource<KubeObject>({ apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' });
const isOf = (herd: Herd, animal: KubeObject): boolean =>
  animal.metadata.ownerReferences?.some(({ uid }) => uid === herd.metadata.uid) === true;

class HerdReconciler implements Reconciler<Herd> {
  readonly #http: KubeHttp;
  readonly #herds: Client<Herd>;
  readonly #animals: () => KubeObject[];
  readonly #wrote: (herd: Herd) => void;

  constructor(http: KubeHttp, animals: () => KubeObject[], wrote: (herd: Herd) => void) {
    this.#http = http;
    this.#herds = createClient(http, HERDS);
    this.#animals = animals;
    this.#wrote = wrote;
  }

  async reconcile(_key: string, herd: Herd | undefined): Promise<{ requeueAfterMs?: number }> {
    if (herd === undefined) return {};
    const { namespace, name, uid } = herd.metadata;
    const count = this.#animals().filter((animal) => isOf(herd, animal)).length;
    const ownerReferences = [{ apiVersion: HERDS.apiVersion, kind: 'Herd', name, uid }];
    if (count < herd.spec.size) {
      const body = { metadata: { name: `${name}-${count}`, ownerReferences } };
      await this.#http.call({ method: 'POST', path: collectionOf(CONFIG_MAPS, namespace), body });
    }
    if (herd.status?.count !== count) this.#wrote(await this.#herds.writeStatus(herd.metadata, { count }));
    return {};
  }
}

let http: KubeHttp;
let namespace: string;

beforeAll(async () => {
  http = adminHttp();
  namespace = await createNamespace(http);
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
  };
  await http.call({
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: {
      metadata: { name: 'herds.toys.example.org' },
      spec: {
        group: 'toys.example.org',
        scope: 'Namespaced',
        names: { kind: 'Herd', plural: 'herds' },
        versions: [version],
      },
    },
  });
  await vi.waitFor(() => http.call({ path: collectionOf(HERDS, namespace) }), { timeout: 30_000, interval: 100 });
});
afterAll(() => http.close());

it('reconciles objects of any kind, and follows the objects that they own', async () => {
  const log = createLogger({ level: 'silent' });
  const of = { http, namespaces: [namespace], log };
  const [herds, animals] = [createInformer(HERDS, of), createInformer(CONFIG_MAPS, of)];
  const objects = new OwnWrites(herds);
  const metrics = new Metrics();
  const controller = new Controller({
    name: 'herd',
    informer: herds,
    objects,
    watches: [
      {
        informer: animals,
        toKeys: (animal) => herds.list().flatMap((herd) => (isOf(herd, animal) ? [keyOf(herd)] : [])),
      },
    ],
    reconciler: new HerdReconciler(
      http,
      () => animals.list(),
      (herd) => void objects.saw(herd),
    ),
    workers: 2,
    timers: realTimers,
    log,
    metrics,
  });
  const create = (name: string, size: number) =>
    http.call({
      method: 'POST',
      path: collectionOf(HERDS, namespace),
      body: { apiVersion: HERDS.apiVersion, kind: 'Herd', metadata: { name }, spec: { size } },
    });
  const counts = () => Object.fromEntries(herds.list().map((herd) => [herd.metadata.name, herd.status?.count]));
  await create('cows', 3);
  await controller.start();
  await create('sheep', 1);
  await vi.waitFor(() => expect(counts()).toEqual({ cows: 3, sheep: 1 }), { timeout: 30_000, interval: 20 });
  const uidOf = (name: string) => animals.get(`${namespace}/${name}`)?.metadata.uid;
  const lost = uidOf('cows-2');
  await http.call({ method: 'DELETE', path: pathOf(CONFIG_MAPS, namespace, 'cows-2') });
  await vi.waitFor(() => expect([undefined, lost]).not.toContain(uidOf('cows-2')), { timeout: 30_000, interval: 20 });
  await vi.waitFor(() => expect(counts()).toEqual({ cows: 3, sheep: 1 }), { timeout: 30_000, interval: 20 });
  expect(await metrics.registry.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="herd"} 0');
  await controller.stop();
});
