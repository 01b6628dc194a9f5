/** The real Argo CD, set up as in examples/argocd, manages servers from a Git repository. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CATALOG_KIND, GROUP, SERVER_KIND, SET_KIND, VERSION } from '../../src/api/names.ts';
import { DEFAULT_KEY } from '../../src/simulator/index.ts';
import { withOwnKey } from '../../tools/demo/manifests.ts';
import { kubectlIn } from '../integration/gitops/applied-life.ts';
import { ROOT } from '../integration/deploy/cluster.ts';
import { usePlugin } from '../integration/support/plugin.ts';
import { createWorld, type World } from '../integration/support/world.ts';
import { hasRedis, startArgoCd, type ArgoCd } from './argo-programs.ts';
import { argoIn } from './argo-world.ts';
import { startGitServer, type GitServer } from './git-server.ts';
import { setExample } from './set-example.ts';
import { delayed, expectReturned, QUICK_HAND_OVERS, serverOf, undelete, undeleteWithTool } from './undeletion.ts';

const example = (name: string): Promise<string> => readFile(join(ROOT, 'examples', name), 'utf8');
const NAME = 'simple';
const SERVER = withOwnKey(await example('servers/simple.yaml'));
const labeled = (team: string): string =>
  SERVER.replace('  name: simple\n', `  name: simple\n  labels: { team: ${team} }\n`);
const UNMARKED = SERVER.replace(/^ {2}annotations:\n(?: {4}.*\n)+/m, '');
const DELAYED = { 'servers/simple.yaml': delayed(SERVER) };
const SET = await setExample();
/** Stays in Git when the server goes, so that the folder stays. */
const CATALOG = { 'servers/catalog.yaml': await example('servers/catalog.yaml') };

let tools: { git: GitServer; argo: ArgoCd };
const plugin = usePlugin();

/** Argo CD deletes in the foreground. Does what the garbage collector does, which does not run here. */
async function collectGarbage(world: World): Promise<void> {
  const isForeground = (name: string): boolean => name === 'foregroundDeletion';
  await world.waitFor(NAME, ({ metadata }) => metadata.finalizers?.some(isForeground) ?? false);
  // Not with an outdated list: the operator removes its own finalizer.
  await world.until(async () => {
    const { finalizers = [], resourceVersion } = (await world.get(NAME))?.metadata ?? {};
    const others = finalizers.filter((name) => !isForeground(name));
    const metadata = { resourceVersion, finalizers: others.length === 0 ? null : others };
    return world.patch(NAME, { metadata }).then(
      () => true,
      () => false,
    );
  }, 'the garbage collector');
}

/** Waits until the operator lets the object go. */
async function deletedInForeground(world: World): Promise<void> {
  await collectGarbage(world);
  await world.waitGone(NAME);
}

/** A server with a delay that Argo CD has pruned, and that it wants to prune again. */
async function prunedWithDelay(world: World) {
  const app = await argoIn(world, tools, { ...CATALOG, ...DELAYED });
  await app.until('Healthy', 'Synced');
  const before = await world.get(NAME);
  await app.push(CATALOG);
  await app.saying(/^waiting for pruning confirmation of .*simple/);
  await app.confirm();
  await collectGarbage(world);
  await world.waitForReason(NAME, 'DeletionDelayed');
  await app.until('Progressing', 'OutOfSync');
  await app.saying(/^waiting for pruning confirmation of .*simple/);
  return { app, before };
}

describe.skipIf(!hasRedis)('Argo CD', () => {
  beforeAll(async () => {
    tools = { git: await startGitServer(), argo: await startArgoCd() };
  });
  afterAll(async () => {
    await tools.argo.stop();
    await tools.git.close();
  });

  it('orders a server once, restores what differs from Git, and cancels after a confirmation', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: 3_000 } });
    const { ledger } = world.simulator;
    const app = await argoIn(world, tools, { ...CATALOG, 'servers/simple.yaml': labeled('web') });
    await world.waitForReason(NAME, 'Creating');
    await app.until('Progressing', 'Synced');
    await app.until('Healthy', 'Synced');
    expect(world.simulator.aliveServers()).toHaveLength(1);
    const before = await world.get(NAME);

    await world.patch(NAME, { metadata: { labels: { team: 'db' } } });
    await world.waitFor(NAME, ({ metadata }) => JSON.stringify(metadata).includes('"team":"web"'));
    await app.until('Healthy', 'Synced');
    expect((await world.get(NAME))?.metadata.uid).toBe(before?.metadata.uid);

    await app.push(CATALOG);
    await app.saying(/^waiting for pruning confirmation of .*simple/);
    expect((await world.get(NAME))?.metadata.deletionTimestamp).toBeUndefined();
    expect(ledger.cancels()).toEqual([]);
    await app.confirm();
    await deletedInForeground(world);
    await app.until('Healthy', 'Synced');
    expect(ledger.creates()).toHaveLength(1);
    expect(ledger.cancels()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('is Degraded with our message on a Stalled server, and Healthy when the problem is fixed', async () => {
    const world = await createWorld({ secret: false });
    const app = await argoIn(world, tools, { 'servers/simple.yaml': SERVER });
    await app.until('Degraded', 'Synced');
    expect((await app.resource(NAME))?.health?.message).toContain('vps-api-key');
    expect(world.simulator.ledger.creates()).toEqual([]);
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await app.until('Healthy', 'Synced');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('runs the actions pause and resume with its own command line', async () => {
    const world = await createWorld();
    const app = await argoIn(world, tools, { 'servers/simple.yaml': SERVER });
    await app.until('Healthy', 'Synced');
    await app.run('pause', SERVER_KIND, NAME);
    await world.waitForReason(NAME, 'Paused', 'Paused');
    await app.until('Suspended', 'Synced');
    await app.run('resume', SERVER_KIND, NAME);
    await app.until('Healthy', 'Synced');
    expect((await world.get(NAME))?.metadata.annotations).not.toHaveProperty(['vps-operator.dev/paused']);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('reconciles, protects and retains a server by actions, which self-healing leaves alone', async () => {
    const world = await createWorld();
    const { ledger } = world.simulator;
    const app = await argoIn(world, tools, { 'servers/simple.yaml': SERVER });
    await app.until('Healthy', 'Synced');
    const reads = (): number => ledger.requests({ method: 'GET', route: '/beta/vps/servers/{identifier}' }).length;
    const before = reads();
    await app.run('reconcile', SERVER_KIND, NAME);
    await expect.poll(reads).toBe(before + 1);

    await app.run('protect', SERVER_KIND, NAME);
    await app.run('retain', SERVER_KIND, NAME);
    const changed = { deletionProtection: true, deletionPolicy: 'Retain' };
    await world.waitFor(NAME, ({ metadata, status }) => status?.observedGeneration === metadata.generation);
    expect((await world.get(NAME))?.spec).toMatchObject(changed);
    await app.push({ 'servers/simple.yaml': labeled('web') });
    await world.waitFor(NAME, ({ metadata }) => metadata.labels?.['team'] === 'web');
    await app.until('Healthy', 'Synced');
    expect((await world.get(NAME))?.spec).toMatchObject(changed);
    expect(ledger.creates()).toHaveLength(1);
    expect(ledger.cancels()).toEqual([]);
  });

  it('pauses, resumes and protects a set by actions, which self-healing leaves alone', async () => {
    const world = await createWorld();
    const { ledger } = world.simulator;
    // Self-healing restores what Git says.
    const set = SET.replace('      deletionProtection: false\n', '');
    const app = await argoIn(world, tools, { 'servers/web.yaml': set });
    await app.until('Healthy', 'Synced');

    await app.run('pause', SET_KIND, 'web');
    await app.until('Suspended', 'Synced');
    await kubectlIn(world)('scale', 'vpsset/web', '--replicas=2');
    await app.push({ 'servers/web.yaml': set.replace('tier: web', 'tier: front') });
    await app.until('Suspended', 'Synced');
    expect((await world.get('web-0'))?.metadata.labels).toMatchObject({ tier: 'web' });
    expect(ledger.creates()).toHaveLength(1);

    await app.run('resume', SET_KIND, 'web');
    await app.until('Healthy', 'Synced');
    expect((await world.get('web-0'))?.metadata.labels).toMatchObject({ tier: 'front' });
    expect(ledger.creates()).toHaveLength(2);

    await app.run('protect', SET_KIND, 'web');
    for (const name of ['web-0', 'web-1']) {
      await world.waitFor(name, ({ spec }) => spec.deletionProtection);
    }
    await app.push({ 'servers/web.yaml': set.replace('tier: web', 'tier: back') });
    await world.waitFor('web-1', ({ metadata }) => metadata.labels?.['tier'] === 'back');
    await app.until('Healthy', 'Synced');
    expect((await world.get('web-1'))?.spec.deletionProtection).toBe(true);
    expect(ledger.creates()).toHaveLength(2);
    expect(ledger.cancels()).toEqual([]);
  });

  it('reads the lists of a catalog again by the action reconcile', async () => {
    const world = await createWorld();
    const app = await argoIn(world, tools, CATALOG);
    await app.until('Healthy', 'Synced');
    const reads = (): number => world.simulator.ledger.requests({ method: 'GET', route: '/beta/vps/products' }).length;
    const before = reads();
    await app.run('reconcile', CATALOG_KIND, 'catalog');
    await expect.poll(reads).toBe(before + 1);
    await app.until('Healthy', 'Synced');
  });

  it('holds a server back while the catalog of an earlier wave has a wrong key, and orders it once with the right key', async () => {
    const world = await createWorld({ secret: false });
    const { ledger } = world.simulator;
    await world.putSecret('vps-api-key', { ...DEFAULT_KEY, secret: 'a-wrong-secret' });
    const app = await argoIn(world, tools, { ...CATALOG, 'servers/simple.yaml': SERVER });
    await app.until('Degraded', 'OutOfSync');
    expect((await app.resource('catalog'))?.health).toMatchObject({ status: 'Degraded' });
    await app.triedAgain();
    expect(await world.get(NAME)).toBeUndefined();
    expect(ledger.creates()).toEqual([]);
    expect(ledger.logins({ ok: false })).not.toEqual([]);

    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await app.until('Healthy', 'Synced');
    await world.waitForReason(NAME, 'Available', 'Ready');
    expect(ledger.creates()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });

  it('asks before it prunes a server without our annotation, as the options of the Application say', async () => {
    const world = await createWorld();
    const app = await argoIn(world, tools, { ...CATALOG, 'servers/simple.yaml': UNMARKED });
    await app.until('Healthy', 'Synced');
    await app.push(CATALOG);
    await app.saying(/^waiting for pruning confirmation of .*simple/);
    await world.visited(NAME);
    expect((await world.get(NAME))?.metadata.deletionTimestamp).toBeUndefined();
    await app.confirm();
    await deletedInForeground(world);
    await app.until('Healthy', 'Synced');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it.each([
    ['the annotation of the server says', SERVER],
    ['the options of the Application say', UNMARKED],
  ])('deletes no server with the Application before a confirmation, as %s', async (_, server) => {
    const world = await createWorld();
    const { ledger } = world.simulator;
    const app = await argoIn(world, tools, { 'servers/simple.yaml': server });
    await app.until('Healthy', 'Synced');
    await app.deleteWithObjects();
    await app.waitingForConfirmation(SERVER_KIND);
    await world.visited(NAME);
    expect((await world.get(NAME))?.metadata.deletionTimestamp).toBeUndefined();
    expect(ledger.cancels()).toEqual([]);

    await app.confirm();
    await deletedInForeground(world);
    await app.gone();
    expect(ledger.creates()).toHaveLength(1);
    expect(ledger.cancels()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('shows a pruned server with a delay as being deleted, and has it back after a revert and an undeletion', async () => {
    const world = await createWorld({ flags: QUICK_HAND_OVERS });
    const { app, before } = await prunedWithDelay(world);
    await app.push({ ...CATALOG, ...DELAYED });
    await app.until('Progressing', 'Synced');
    await world.visited(NAME);
    expect((await world.get(NAME))?.metadata.uid).toBe(before?.metadata.uid);
    await undelete(plugin(), { world, name: NAME, server: serverOf(before) });
    await app.until('Healthy', 'Synced');
    await expectReturned(world, NAME, before);
  });

  it('applies no other commit during the delay, until you take the object out of the Application', async () => {
    const world = await createWorld();
    const { app } = await prunedWithDelay(world);
    const kubectl = kubectlIn(world);
    const labels = (): Promise<string> =>
      kubectl('get', 'servercatalog/catalog', '--output=jsonpath={.metadata.labels}');
    const labeledCatalog = CATALOG['servers/catalog.yaml'].replace('  name: catalog\n', '$&  labels: { team: web }\n');
    await app.push({ 'servers/catalog.yaml': labeledCatalog });
    await app.until('Progressing', 'OutOfSync');
    expect(await labels()).toBe('');

    // The command of docs/how-to/gitops.md.
    await kubectl('annotate', 'vps', NAME, 'argocd.argoproj.io/tracking-id-');
    await app.until('Healthy', 'Synced');
    expect(await labels()).toContain('web');
    await world.visited(NAME);
    await world.waitForReason(NAME, 'DeletionDelayed');
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('creates an object again that is being undeleted, which orders nothing and gets its server', async () => {
    const world = await createWorld({ flags: QUICK_HAND_OVERS });
    const app = await argoIn(world, tools, DELAYED);
    await app.until('Healthy', 'Synced');
    const before = await world.get(NAME);
    await world.delete(NAME);
    await world.waitForReason(NAME, 'DeletionDelayed');
    await app.until('Progressing', 'Synced');
    await undeleteWithTool(plugin(), { world, name: NAME, server: serverOf(before) }, app.refresh);
    await app.until('Healthy', 'Synced');
    await expectReturned(world, NAME, before);
  });

  it('waits for a set, and scales it as the user interface does, which self-healing leaves alone', async () => {
    const world = await createWorld();
    const orders = (): number => world.simulator.ledger.creates().length;
    const app = await argoIn(world, tools, { 'servers/web.yaml': SET });
    await app.until('Healthy', 'Synced');
    expect(orders()).toBe(1);

    const target = { kind: SET_KIND, resourceName: 'web', namespace: world.namespace };
    await expect(app.run('scale', SET_KIND, 'web')).rejects.toThrow(
      /replicas is missing: enter it in the user interface, or run `kubectl scale vpsset web -n /,
    );
    const run = (replicas: string): Promise<void> =>
      tools.argo.post('/api/v1/applications/servers/resource/actions/v2', {
        ...{ ...target, group: GROUP, version: VERSION, action: 'scale' },
        resourceActionParameters: [{ name: 'replicas', value: replicas }],
      });
    await expect(run('many')).rejects.toThrow('replicas must be a whole number from 0 to 10000');
    await expect(run('10001')).rejects.toThrow('should be less than or equal to 10000');
    await run('2');
    await world.waitForReason('web-1', 'Available', 'Ready');
    await app.push({ 'servers/web.yaml': SET.replace('tier: web', 'tier: front') });
    await world.waitFor('web-0', ({ metadata }) => JSON.stringify(metadata.labels).includes('front'));
    await app.until('Healthy', 'Synced');
    expect([orders(), world.simulator.aliveServers().length]).toEqual([2, 2]);
  });
});
