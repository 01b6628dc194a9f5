/** Flux in a test's world: a Git repository, and examples/flux in the world's namespace. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Condition } from '../../src/api/meta.ts';
import { kubectlIn } from '../integration/gitops/applied-life.ts';
import { ROOT } from '../integration/gitops/judge.ts';
import type { World } from '../integration/support/world.ts';
import type { Flux } from './flux-controllers.ts';
import type { GitServer } from './git-server.ts';

const EXAMPLE_URL = 'https://git.example.org/platform/servers.git';
/** Flux reads the health of what it applied every 5 seconds. */
const FLUX_MS = 90_000;

interface FluxObject {
  metadata: { generation: number };
  status?: {
    conditions?: Condition[];
    artifact?: { revision: string };
    lastAppliedRevision?: string;
  };
}

/** Manifests by the name of the file. */
type Files = Record<string, string>;

/** Sets Flux up as docs/how-to/gitops.md says, with these files in the folder `servers`. */
export async function fluxIn(world: World, { git, flux }: { git: GitServer; flux: Flux }, files: Files) {
  const repository = await git.create(world.namespace);
  const kubectl = kubectlIn(world);
  // In place of the operator, which the world runs.
  const settings = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings, namespace: ${world.namespace} }\n`;
  let revision = await commit(files);

  async function commit(servers: Files): Promise<string> {
    const placed = Object.entries(servers).map(([name, text]) => [`servers/${name}`, text] as const);
    const hash = await repository.commit({ 'operator/settings.yaml': settings, ...Object.fromEntries(placed) });
    return `main@sha1:${hash}`;
  }
  const read = async (resource: string): Promise<FluxObject> =>
    JSON.parse(await kubectl('get', resource, '--output=json')) as FluxObject;
  const request = (resource: string): Promise<string> =>
    kubectl('annotate', '--overwrite', resource, `reconcile.fluxcd.io/requestedAt=${performance.now()}`);
  /** The condition Ready of a Kustomization, if it is about the present generation. */
  const ready = async (name = 'servers'): Promise<Condition | undefined> => {
    const { metadata, status } = await read(`kustomization/${name}`);
    return status?.conditions?.find(
      ({ type, observedGeneration }) => type === 'Ready' && observedGeneration === metadata.generation,
    );
  };
  const until = async (state: () => Promise<unknown>, expected: unknown): Promise<void> => {
    // The logs of the controllers explain a timeout.
    await expect
      .poll(state, { timeout: FLUX_MS })
      .toEqual(expected)
      .catch((error: unknown) => {
        throw new Error(flux.tail(), { cause: error });
      });
  };

  await applyExample('servers');
  // The authorizer follows a watch, and Flux would try a refused apply again only after its interval.
  const as = `--as=system:serviceaccount:${world.namespace}:servers`;
  await expect.poll(() => kubectl('auth', 'can-i', 'patch', 'vps', as).catch(() => 'no')).toBe('yes\n');
  await applyExample('operator');
  await applyExample('source');
  onTestFinished(async () => {
    await kubectl('delete', '--timeout=60s', 'kustomizations,gitrepositories', '--all');
  });

  /** Applies an example, in the world's namespace and with the world's repository. */
  async function applyExample(name: string): Promise<void> {
    const text = (await readFile(join(ROOT, `examples/flux/${name}.yaml`), 'utf8'))
      .replaceAll(EXAMPLE_URL, repository.url)
      .replaceAll(/(amespace): (default|flux-system)$/gm, `$1: ${world.namespace}`);
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-flux-example-'));
    await writeFile(join(folder, 'example.yaml'), text);
    await kubectl('apply', '-f', folder);
    await rm(folder, { recursive: true });
  }

  return {
    kubectl,
    ready,
    /** Commits these files of the folder `servers`, without others, and waits until Flux has fetched them. */
    async push(servers: Files): Promise<void> {
      revision = await commit(servers);
      await request('gitrepository/platform');
      await until(async () => (await read('gitrepository/platform')).status?.artifact?.revision, revision);
    },
    reconcile: () => request('kustomization/servers'),
    /** The revision that a Kustomization has applied, with health. */
    revisionOf: async (name = 'servers') => (await read(`kustomization/${name}`)).status?.lastAppliedRevision,
    /** Waits until a Kustomization is Ready with the last commit. */
    async applied(name = 'servers'): Promise<void> {
      const state = async () => {
        const { status } = await read(`kustomization/${name}`);
        return { revision: status?.lastAppliedRevision, ready: (await ready(name))?.status };
      };
      await until(state, { revision, ready: 'True' });
    },
    /** Waits until the Kustomization of the servers is not Ready for this reason; resolves with the message. */
    async failed(reason: string): Promise<string> {
      const state = async () => {
        const found = await ready();
        return { status: found?.status, reason: found?.reason };
      };
      await until(state, { status: 'False', reason });
      return (await ready())?.message ?? '';
    },
  };
}
