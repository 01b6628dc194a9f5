/** ServerCatalogs on the real API server: the provider's lists as an object, and whether a key works. */
import { execFile } from 'node:child_process';
import { mkdtemp, copyFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { serverCatalogCrd } from '../../../src/api/crd.ts';
import { CRD_FILE } from '../../../tools/crds.ts';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL } from '../../../src/api/names.ts';
import type { ServerCatalog } from '../../../src/api/server-catalog.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { startControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { readyServer } from '../support/records.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

const NAME = 'catalog';
const OTHER_KEY = { keyId: 'another-key', secret: 'secret-of-another-key' };
const run = promisify(execFile);

/** A world with one catalog, and functions to change and read it. */
async function catalogWorld(options: WorldOptions = {}, spec: object = {}) {
  const world = await createWorld(options);
  const folder = `/apis/${API_VERSION}/namespaces/${world.namespace}/${CATALOG_PLURAL}`;
  const path = `${folder}/${NAME}`;
  const { http } = world;
  const create = (): Promise<unknown> =>
    http.call({
      method: 'POST',
      path: folder,
      body: { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: NAME }, spec },
    });
  const get = async (): Promise<ServerCatalog> => (await http.call({ path })) as ServerCatalog;
  const patch = async (body: object): Promise<ServerCatalog> =>
    (await http.call({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' })) as ServerCatalog;
  let asked = 0;
  const again = (): Promise<ServerCatalog> =>
    patch({ metadata: { annotations: { 'vps-operator.dev/reconcile-at': String((asked += 1)) } } });
  const waitFor = async (holds: (catalog: ServerCatalog) => boolean): Promise<ServerCatalog> => {
    let last = await get();
    await world.until(
      async () => holds((last = await get())),
      () => `${String(holds)}; it is now ${JSON.stringify(last.status, undefined, 1)}`,
    );
    return last;
  };
  const waitForReason = (reason: string, type = 'Ready'): Promise<ServerCatalog> =>
    waitFor(
      (catalog) =>
        catalog.status?.observedGeneration === catalog.metadata.generation && reasonOf(catalog, type) === reason,
    );
  return { world, create, get, patch, again, waitFor, waitForReason };
}

/** Also has a server; the operator reads the server and the Secret with its key every second. */
async function readyWorld(options: WorldOptions = {}) {
  const made = await catalogWorld({ ...options, flags: ['--resync-interval=1s'] });
  await readyServer(made.world, 'web');
  return made;
}

const conditionOf = ({ status }: ServerCatalog, type: string) =>
  status?.conditions?.find((other) => other.type === type);
const reasonOf = (catalog: ServerCatalog, type: string) => conditionOf(catalog, type)?.reason;
const reads = ({ simulator }: World): number => simulator.ledger.requests({ route: '/beta/vps/products' }).length;

describe('a catalog', () => {
  it('shows what the provider lists, also in printer columns', async () => {
    const { world, create, waitForReason } = await catalogWorld();
    await create();
    const { status } = await waitForReason('Available');
    expect(status?.products).toContainEqual({ code: 'VPSX8', ram: 2048 });
    expect(status?.images).toContainEqual({ name: 'debian-13.qcow2/docker', description: 'Debian 13 with Docker' });
    expect(status?.diskSizes).toEqual([
      { type: 'hdd', sizes: [20480, 40960, 81920, 163840] },
      { type: 'ssd', sizes: [5120, 10240, 20480, 40960] },
    ]);
    expect(status?.counts).toEqual({ products: 4, images: 3, diskSizes: 8 });
    expect(Date.parse(status?.observedAt ?? '')).toBeGreaterThan(Date.now() - 60_000);
    expect(status?.provider).toEqual({
      productList: 'Array',
      imageList: 'Array',
      zoneList: 'Unavailable',
      serverList: 'Unavailable',
      priceList: 'Unavailable',
      orders: 'Anonymous',
    });
    const kubeconfig = ['--kubeconfig', inject('kubeconfigPath'), '-n', world.namespace];
    const { stdout } = await run(inject('kubectl'), [...kubeconfig, 'get', 'vpscat']);
    const [header = '', row = ''] = stdout.split('\n');
    expect(header.split(/ +/)).toEqual(['NAME', 'READY', 'PRODUCTS', 'IMAGES', 'DISKS', 'AGE']);
    const { products, images, diskSizes } = status?.counts ?? {};
    expect(row.split(/ +/).slice(0, 5)).toEqual([NAME, 'True', ...[products, images, diskSizes].map(String)]);
    // The operator sends an Event after it has written the status.
    await world.until(async () => (await world.events(NAME)).length > 0, 'an Event');
    const events = await world.events(NAME);
    expect(events.map(({ type, reason }) => [type, reason])).toEqual([['Normal', 'Available']]);
    expect(events[0]?.regarding).toMatchObject({ kind: CATALOG_KIND });
  });

  it('is not written again while the provider lists the same, in any order', async () => {
    const diskSizes = { ssd: [5120, 10240] };
    const { world, create, again, get, waitFor, waitForReason } = await readyWorld({ simulator: { diskSizes } });
    const visits = (): unknown[] => world.log.filter(({ msg }) => msg === 'catalog read').map(({ changed }) => changed);
    await create();
    await waitForReason('Available');
    await world.until(() => visits().length === 1, 'the end of the first reading');
    const [before, readBefore] = [await get(), reads(world)];
    diskSizes.ssd.reverse();
    // The catalog is read with another key of the same account, without a request.
    world.simulator.accounts.addKey('default', OTHER_KEY);
    await world.putSecret('vps-api-key', OTHER_KEY);
    await world.until(() => visits().length === 2, 'a second reading');
    expect(reads(world)).toBe(readBefore + 1);
    expect((await get()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    diskSizes.ssd.push(15360);
    await again();
    const after = await waitFor(({ status }) => status?.counts?.diskSizes === 3);
    expect(after.status?.diskSizes).toEqual([{ type: 'ssd', sizes: [5120, 10240, 15360] }]);
    await world.until(() => visits().length === 3, 'the end of the third reading');
    expect(visits()).toEqual([true, false, true]);
  });

  it('shows whether the provider lists servers, and is Ready whatever it answers', async () => {
    const { world, create, again, waitFor, waitForReason } = await catalogWorld();
    const answering = (status: number, body: object) =>
      world.simulator.faults.inject({
        match: { method: 'GET', route: '/beta/vps/servers' },
        action: { kind: 'status', status, body },
      });
    answering(403, { error: 'Not authorised' });
    await create();
    const refused = await waitForReason('Available');
    expect(refused.status?.provider?.serverList).toBe('Forbidden');
    expect(conditionOf(refused, 'Ready')?.message).toContain('The API key may not list servers');
    answering(200, { vs1: { identifier: 'vs1', product: 'VPSX4', name: null, dormant: false } });
    await again();
    const listed = await waitFor(({ status }) => status?.provider?.serverList === 'Available');
    expect(listed.status?.observedAt).toBe(refused.status?.observedAt);
    expect(conditionOf(listed, 'Ready')?.message).toMatch(/^\d+ products, \d+ images, \d+ disk sizes$/);
    answering(503, {});
    await again();
    const unknown = await waitFor(({ status }) => status?.provider?.serverList === 'Unknown');
    expect(conditionOf(unknown, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
  });

  it('is read when an operator starts, if a read was requested while none ran', async () => {
    const diskSizes = { ssd: [5120, 10240] };
    const { world, create, again, waitFor, waitForReason } = await catalogWorld({ simulator: { diskSizes } });
    await create();
    await waitForReason('Available');
    await world.stopOperator();
    diskSizes.ssd.push(15360);
    await again();
    await world.startOperator();
    await waitFor(({ status }) => status?.counts?.diskSizes === 3);
  });
});

describe('the key', () => {
  it('is reported when the provider refuses it, and noticed without help when it is fixed', async () => {
    const { world, create, waitForReason } = await catalogWorld({ secret: false });
    await world.putSecret('vps-api-key', { keyId: DEFAULT_KEY.keyId, secret: 'another-secret' });
    await create();
    const refused = await waitForReason('InvalidCredentials', 'Stalled');
    expect(conditionOf(refused, 'Ready')?.status).toBe('False');
    expect(refused.status).not.toHaveProperty('products');
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    const fixed = await waitForReason('Available');
    expect(conditionOf(fixed, 'Stalled')).toBeUndefined();
  });

  it('is shared: a Secret that a catalog finds fixed wakes the servers that wait for it', async () => {
    const { world, create, waitForReason } = await catalogWorld({ secret: false });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    await create();
    await waitForReason('SecretNotFound', 'Stalled');
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await waitForReason('Available');
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});

describe('a provider that is down', () => {
  it('is called at once by a process that finds the catalog in this state', async () => {
    const { world, create, again, waitFor, waitForReason } = await catalogWorld();
    await create();
    await waitForReason('Available');
    world.simulator.faults.inject({
      match: { method: 'GET', route: '/beta/vps/products' },
      action: { kind: 'status', status: 503 },
    });
    await again();
    await waitForReason('ProviderUnavailable', 'Reconciling');
    await world.stopOperator();
    await world.startOperator();
    await waitFor((catalog) => conditionOf(catalog, 'Reconciling') === undefined);
  });
});

describe('the API server', () => {
  it.each([
    ['soon', 'must be a duration'],
    ['', 'must be a duration'],
    ['60', 'must be a duration'],
    ['1h1h', 'must be a duration'],
    ['-1h', 'must be a duration'],
    ['4m59s', 'must be at least 5m'],
    ['0h', 'must be at least 5m'],
  ])('rejects the refreshInterval "%s"', async (refreshInterval, message) => {
    const { create } = await catalogWorld({ operator: false, secret: false }, { refreshInterval });
    await expect(create()).rejects.toThrow(`refreshInterval ${message}`);
  });

  it.each(['5m', '300s', '1h30m', '168h'])('accepts the refreshInterval "%s"', async (refreshInterval) => {
    const { create, get } = await catalogWorld({ operator: false, secret: false }, { refreshInterval });
    await create();
    expect((await get()).spec).toEqual({ apiKeySecretRef: { name: 'vps-api-key' }, refreshInterval });
    expect((await get()).status).toEqual({ observedGeneration: -1 });
  });
});

it('does not delay the rest of the operator if the kind is not installed yet', async () => {
  const crds = await mkdtemp(join(tmpdir(), 'vps-operator-crds-'));
  onTestFinished(() => rm(crds, { recursive: true }));
  await copyFile(CRD_FILE, join(crds, 'virtualservers.yaml'));
  const controlPlane = await startControlPlane({ crds });
  onTestFinished(() => controlPlane.stop());
  const { world, create, waitForReason } = await catalogWorld({ kubeconfigPath: controlPlane.kubeconfigPath });
  await world.create(virtualServer('web'));
  await world.waitForReason('web', 'Available', 'Ready');
  expect(world.log.map(({ msg }) => msg)).toContain(
    'the CustomResourceDefinition of ServerCatalog is not installed; waiting for it',
  );
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await world.http.call({ method: 'POST', path, body: serverCatalogCrd() });
  await world.until(
    () =>
      create().then(
        () => true,
        () => false,
      ),
    'the new kind',
  );
  await waitForReason('Available');
});
