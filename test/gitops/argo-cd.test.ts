/** The real Argo CD, set up as in examples/argocd, manages servers from a Git repository. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { GROUP, SET_KIND, VERSION } from '../../src/api/names.ts';
import { DEFAULT_KEY } from '../../src/simulator/index.ts';
import { withOwnKey } from '../../tools/demo/manifests.ts';
import { ROOT } from '../integration/gitops/judge.ts';
import { kubectl } from '../integration/kube/support.ts';
import { createWorld, type World } from '../integration/support/world.ts';
import { hasRedis, startArgoCd, type ArgoCd } from './argo-programs.ts';
import { startGitServer, type GitServer } from './git-server.ts';
import { setExample } from './set-example.ts';

interface Application {
  status?: {
    health?: { status: string };
    sync?: { status: string; revision: string };
    operationState?: { message?: string };
    resources?: { name: string; status: string; health?: { status: string; message?: string } }[];
  };
}

const ARGO_MS = 40_000;
const EXAMPLE_URL = 'https://git.example.org/platform/servers.git';
const example = (name: string): Promise<string> => readFile(join(ROOT, 'examples', name), 'utf8');
const NAME = 'simple';
const SERVER = withOwnKey(await example('servers/simple.yaml'));
const labeled = (team: string): string =>
  SERVER.replace('  name: simple\n', `  name: simple\n  labels: { team: ${team} }\n`);
const SET = await setExample();
/** Stays in Git when the server goes, so that the folder stays. */
const CATALOG = { 'servers/catalog.yaml': await example('servers/catalog.yaml') };

let git: GitServer;
let argo: ArgoCd;

async function argoIn(world: World, files: Record<string, string>) {
  const repository = await git.create(world.namespace);
  const inArgo = (...args: string[]): Promise<string> => kubectl('--namespace=argocd', ...args);
  const annotate = (...annotations: string[]): Promise<string> =>
    inArgo('annotate', '--overwrite', 'application/servers', ...annotations);
  let revision = await repository.commit(files);
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-argo-example-'));
  for (const name of ['project', 'servers']) {
    const text = (await example(`argocd/${name}.yaml`))
      .replaceAll(EXAMPLE_URL, repository.url)
      .replaceAll('namespace: default', `namespace: ${world.namespace}`);
    await writeFile(join(folder, `${name}.yaml`), text);
    await kubectl('apply', '-f', join(folder, `${name}.yaml`));
  }
  await rm(folder, { recursive: true });
  onTestFinished(async () => {
    await inArgo('delete', '--timeout=60s', 'application/servers', 'appproject/servers');
  });
  const application = async (): Promise<Application> =>
    JSON.parse(await inArgo('get', 'application/servers', '--output=json')) as Application;
  return {
    application,
    annotate,
    /** Commits these files, without others, and makes Argo CD look. */
    async push(changed: Record<string, string>): Promise<void> {
      revision = await repository.commit(changed);
      await annotate('argocd.argoproj.io/refresh=hard');
    },
    /** Waits until the Application has this state for the last commit. */
    async until(health: string, sync: string): Promise<void> {
      const state = async () => {
        const { status } = await application();
        return { health: status?.health?.status, sync: status?.sync?.status, revision: status?.sync?.revision };
      };
      await expect
        .poll(state, { timeout: ARGO_MS, interval: 250 })
        .toEqual({ health, sync, revision })
        .catch((error: unknown) => {
          throw new Error(argo.tail().slice(-3000), { cause: error });
        });
    },
    resource: async () => (await application()).status?.resources?.find(({ name }) => name === NAME),
  };
}

describe.skipIf(!hasRedis)('Argo CD', () => {
  beforeAll(async () => {
    git = await startGitServer();
    argo = await startArgoCd();
  });
  afterAll(async () => {
    await argo.stop();
    await git.close();
  });

  it('orders a server once, restores what differs from Git, and cancels after a confirmation', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: 3_000 } });
    const { ledger } = world.simulator;
    const app = await argoIn(world, { ...CATALOG, 'servers/simple.yaml': labeled('web') });
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
    const message = async () => (await app.application()).status?.operationState?.message;
    await expect.poll(message, { timeout: ARGO_MS }).toMatch(/^Waiting for pruning confirmation of .*simple/);
    expect((await world.get(NAME))?.metadata.deletionTimestamp).toBeUndefined();
    expect(ledger.cancels()).toEqual([]);
    await app.annotate(`argocd.argoproj.io/deletion-approved=${new Date().toISOString()}`);
    await world.waitFor(NAME, ({ metadata }) => metadata.finalizers?.join() === 'foregroundDeletion');
    // Argo CD deletes in the foreground, and no garbage collector runs here.
    await world.patch(NAME, { metadata: { finalizers: null } });
    await world.waitGone(NAME);
    await app.until('Healthy', 'Synced');
    expect(ledger.creates()).toHaveLength(1);
    expect(ledger.cancels()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('is Degraded with our message on a Stalled server, and Healthy when the problem is fixed', async () => {
    const world = await createWorld({ secret: false });
    const app = await argoIn(world, { 'servers/simple.yaml': SERVER });
    await app.until('Degraded', 'Synced');
    expect((await app.resource())?.health?.message).toContain('vps-api-key');
    expect(world.simulator.ledger.creates()).toEqual([]);
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await app.until('Healthy', 'Synced');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('runs the actions pause and resume with its own command line', async () => {
    const world = await createWorld();
    const app = await argoIn(world, { 'servers/simple.yaml': SERVER });
    await app.until('Healthy', 'Synced');
    // The command of docs/how-to/gitops.md.
    const run = (action: string): Promise<string> =>
      argo.cli('app', 'actions', 'run', 'servers', action, '--kind', 'VirtualServer', '--resource-name', NAME);
    await run('pause');
    await world.waitForReason(NAME, 'Paused', 'Paused');
    await app.until('Suspended', 'Synced');
    await run('resume');
    await app.until('Healthy', 'Synced');
    expect((await world.get(NAME))?.metadata.annotations).not.toHaveProperty(['vps-operator.dev/paused']);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('waits for a set, and scales it as the user interface does, which self-healing leaves alone', async () => {
    const world = await createWorld();
    const orders = (): number => world.simulator.ledger.creates().length;
    const app = await argoIn(world, { 'servers/web.yaml': SET });
    await app.until('Healthy', 'Synced');
    expect(orders()).toBe(1);

    const target = { kind: SET_KIND, resourceName: 'web', namespace: world.namespace };
    const scale = ['servers', 'scale', '--kind', SET_KIND, '--resource-name', 'web'];
    await expect(argo.cli('app', 'actions', 'run', ...scale)).rejects.toThrow(
      /replicas is missing: enter it in the user interface, or run `kubectl scale vpsset web -n /,
    );
    const run = (replicas: string): Promise<void> =>
      argo.post('/api/v1/applications/servers/resource/actions/v2', {
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
