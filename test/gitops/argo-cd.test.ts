/** The real Argo CD, set up as in examples/argocd, manages servers from a Git repository. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULT_KEY } from '../../src/simulator/index.ts';
import { withOwnKey } from '../../tools/demo/manifests.ts';
import { ROOT } from '../integration/gitops/judge.ts';
import { kubectl } from '../integration/kube/support.ts';
import { createWorld, type World } from '../integration/support/world.ts';
import { hasRedis, startArgoCd, type ArgoCd } from './argo-programs.ts';
import { startGitServer, type GitServer } from './git-server.ts';

interface Application {
  status?: {
    health?: { status: string };
    sync?: { status: string; revision: string };
    resources?: { name: string; status: string; health?: { status: string; message?: string } }[];
  };
}

const ARGO_MS = 40_000;
const EXAMPLE_URL = 'https://git.example.org/platform/servers.git';
const example = (name: string): Promise<string> => readFile(join(ROOT, 'examples', name), 'utf8');
const NAME = 'simple';
const SERVER = withOwnKey(await example('servers/simple.yaml'));

let git: GitServer;
let argo: ArgoCd;

async function argoIn(world: World, files: Record<string, string>) {
  const repository = await git.create(world.namespace);
  const inArgo = (...args: string[]): Promise<string> => kubectl('--namespace=argocd', ...args);
  const revision = await repository.commit(files);
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
});
