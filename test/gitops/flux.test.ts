/** Flux's real controllers, set up as in examples/flux, manage servers from a Git repository. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEFAULT_KEY } from '../../src/simulator/index.ts';
import { withOwnKey } from '../../tools/demo/manifests.ts';
import { ROOT } from '../integration/deploy/cluster.ts';
import { usePlugin } from '../integration/support/plugin.ts';
import { createWorld } from '../integration/support/world.ts';
import { startFlux, type Flux } from './flux-controllers.ts';
import { fluxIn } from './flux-world.ts';
import { startGitServer, type GitServer } from './git-server.ts';
import { setExample } from './set-example.ts';
import { delayed, expectReturned, QUICK_HAND_OVERS, serverOf, undelete, undeleteWithTool } from './undeletion.ts';

const example = (name: string): Promise<string> => readFile(join(ROOT, 'examples/servers', `${name}.yaml`), 'utf8');
const SERVER = withOwnKey(await example('simple'));
const LABELED = SERVER.replace('  name: simple\n', '  name: simple\n  labels: { team: web }\n');
/** Stays in Git when the server goes, so that the folder stays. */
const CATALOG = { 'catalog.yaml': await example('catalog') };
const NAME = 'simple';

let tools: { git: GitServer; flux: Flux };
const plugin = usePlugin();

beforeAll(async () => {
  tools = { git: await startGitServer(), flux: await startFlux() };
});
afterAll(async () => {
  await tools.flux.stop();
  await tools.git.close();
});

it('orders a server once, waits for it, applies a change of labels, and cancels what leaves Git', async () => {
  const world = await createWorld({ simulator: { taskDurationMs: 3_000 } });
  const { ledger } = world.simulator;
  const flux = await fluxIn(world, tools, { ...CATALOG, 'simple.yaml': SERVER });
  await world.waitForReason(NAME, 'Creating');
  expect((await flux.ready())?.status).not.toBe('True');
  expect(await flux.revisionOf()).toBeUndefined();
  await flux.applied();
  expect((await world.get(NAME))?.status?.conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);
  expect(world.simulator.aliveServers()).toHaveLength(1);

  await flux.push({ ...CATALOG, 'simple.yaml': LABELED });
  await flux.applied();
  expect(await world.get(NAME)).toMatchObject({
    metadata: { labels: { team: 'web', 'kustomize.toolkit.fluxcd.io/name': 'servers' }, generation: 1 },
  });
  expect(ledger.cancels()).toEqual([]);

  await flux.push(CATALOG);
  await flux.applied();
  await world.waitGone(NAME);
  expect(ledger.creates()).toHaveLength(1);
  expect(ledger.cancels()).toHaveLength(1);
  expect(world.simulator.aliveServers()).toEqual([]);
});

it('changes nothing while it is suspended, and continues afterwards', async () => {
  const world = await createWorld();
  const { ledger } = world.simulator;
  const flux = await fluxIn(world, tools, { ...CATALOG, 'simple.yaml': SERVER });
  await flux.applied();
  const before = await flux.revisionOf();
  const suspend = (value: boolean): Promise<string> =>
    flux.kubectl('patch', 'kustomization/servers', '--type=merge', `--patch={"spec":{"suspend":${value}}}`);

  await suspend(true);
  await flux.push(CATALOG);
  await flux.reconcile();
  // The other Kustomization of the same source is not suspended.
  await flux.applied('vps-operator');
  await world.visited(NAME);
  expect(await flux.revisionOf()).toBe(before);
  expect((await world.get(NAME))?.metadata.deletionTimestamp).toBeUndefined();
  expect(ledger.cancels()).toEqual([]);

  await suspend(false);
  await flux.applied();
  await world.waitGone(NAME);
  expect(ledger.creates()).toHaveLength(1);
  expect(ledger.cancels()).toHaveLength(1);
});

it('keeps the objects and their servers when the Kustomization is deleted', async () => {
  const world = await createWorld();
  const flux = await fluxIn(world, tools, { ...CATALOG, 'simple.yaml': SERVER });
  await flux.applied();
  const before = await world.get(NAME);
  await flux.kubectl('delete', 'kustomization/servers', '--timeout=60s');
  await world.visited(NAME);
  const after = await world.get(NAME);
  expect(after?.metadata.uid).toBe(before?.metadata.uid);
  expect(after?.metadata.deletionTimestamp).toBeUndefined();
  expect(world.simulator.aliveServers()).toHaveLength(1);
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect(world.simulator.ledger.cancels()).toEqual([]);
});

it('fails at once on a Stalled server, names it, and is Ready when the problem is fixed', async () => {
  const world = await createWorld({ secret: false });
  const flux = await fluxIn(world, tools, { 'simple.yaml': SERVER });
  expect(await flux.failed('HealthCheckFailed')).toContain(
    `failed early due to stalled resources: [VirtualServer/${world.namespace}/${NAME} status: 'Failed']`,
  );
  await world.waitForReason(NAME, 'SecretNotFound', 'Stalled');
  expect(world.simulator.ledger.creates()).toEqual([]);

  await world.putSecret('vps-api-key', DEFAULT_KEY);
  await world.waitForReason(NAME, 'Available', 'Ready');
  await flux.reconcile();
  await flux.applied();
  expect(world.simulator.ledger.creates()).toHaveLength(1);
});

it('fails after its timeout while a server is being created, and orders no other when it tries again', async () => {
  const world = await createWorld({ simulator: { taskDurationMs: 45_000 } });
  const flux = await fluxIn(world, tools, CATALOG);
  await flux.applied();
  // Flux makes every shorter timeout 30 seconds.
  await flux.kubectl('patch', 'kustomization/servers', '--type=merge', '--patch={"spec":{"timeout":"30s"}}');
  await flux.applied();
  await flux.push({ ...CATALOG, 'simple.yaml': SERVER });
  expect(await flux.failed('HealthCheckFailed')).toContain(
    `timeout waiting for: [VirtualServer/${world.namespace}/${NAME} status: 'InProgress']`,
  );
  expect(world.simulator.ledger.creates()).toHaveLength(1);

  await world.waitForReason(NAME, 'Available', 'Ready');
  await flux.reconcile();
  await flux.applied();
  expect(world.simulator.ledger.creates()).toHaveLength(1);
});

it('is Ready after it pruned a server with a delay, fails after a revert, and is Ready when the server is undeleted', async () => {
  const world = await createWorld({ flags: QUICK_HAND_OVERS });
  const server = { 'simple.yaml': delayed(SERVER) };
  const flux = await fluxIn(world, tools, { ...CATALOG, ...server });
  await flux.applied();
  const before = await world.get(NAME);

  await flux.push(CATALOG);
  await flux.applied();
  await world.waitForReason(NAME, 'DeletionDelayed');
  await flux.push({
    'catalog.yaml': CATALOG['catalog.yaml'].replace('name: catalog\n', '$&  labels: { team: web }\n'),
  });
  await flux.applied();
  expect(world.simulator.ledger.cancels()).toEqual([]);

  // Flux makes every shorter timeout 30 seconds.
  await flux.kubectl('patch', 'kustomization/servers', '--type=merge', '--patch={"spec":{"timeout":"30s"}}');
  await flux.push({ ...CATALOG, ...server });
  expect(await flux.failed('HealthCheckFailed')).toContain(
    `timeout waiting for: [VirtualServer/${world.namespace}/${NAME} status: 'InProgress']`,
  );
  expect((await world.get(NAME))?.metadata.uid).toBe(before?.metadata.uid);
  await undelete(plugin(), { world, name: NAME, server: serverOf(before) });
  await flux.reconcile();
  await flux.applied();
  await expectReturned(world, NAME, before);
});

it('creates an object again that is being undeleted, which orders nothing and gets its server', async () => {
  const world = await createWorld({ flags: QUICK_HAND_OVERS });
  const flux = await fluxIn(world, tools, { 'simple.yaml': delayed(SERVER) });
  await flux.applied();
  const before = await world.get(NAME);
  await world.delete(NAME);
  await world.waitForReason(NAME, 'DeletionDelayed');
  await undeleteWithTool(plugin(), { world, name: NAME, server: serverOf(before) }, flux.reconcile);
  await flux.applied();
  await expectReturned(world, NAME, before);
});

it('reports our message about a field that cannot change, and leaves the server alone', async () => {
  const world = await createWorld();
  const flux = await fluxIn(world, tools, { ...CATALOG, 'simple.yaml': SERVER });
  await flux.applied();
  await flux.push({ ...CATALOG, 'simple.yaml': SERVER.replace('diskSize: 10240', 'diskSize: 15360') });
  const message = await flux.failed('ReconciliationFailed');
  expect(message).toContain('cannot be changed after the server was ordered');
  await world.visited(NAME);
  expect((await world.get(NAME))?.spec.diskSize).toBe(10240);
  expect(world.simulator.aliveServers()).toHaveLength(1);
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect(world.simulator.ledger.cancels()).toEqual([]);
});

it('waits for all members of a set, and leaves their number to an autoscaler', async () => {
  const world = await createWorld({ simulator: { taskDurationMs: 3_000 } });
  const set = await setExample();
  const flux = await fluxIn(world, tools, { 'web.yaml': set });
  await world.waitForReason('web-0', 'Creating');
  expect(await flux.revisionOf()).toBeUndefined();
  await flux.applied();
  expect((await world.get('web-0'))?.status?.conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);

  await flux.kubectl('scale', 'vpsset/web', '--replicas=2');
  await flux.push({ 'web.yaml': set.replace('tier: web', 'tier: front') });
  await flux.applied();
  expect((await world.get('web-1'))?.metadata.labels).toMatchObject({ tier: 'front' });
  expect(world.simulator.ledger.creates()).toHaveLength(2);
  expect(world.simulator.aliveServers()).toHaveLength(2);
});
