/** Flux in a test's world: a Git repository, and examples/flux in the world's namespace. */
import { expect, onTestFinished } from 'vitest';
import { kubectlIn } from '../integration/gitops/applied-life.ts';
import type { World } from '../integration/support/world.ts';
import { applyExample } from './apply-example.ts';
import type { Flux } from './flux-controllers.ts';
import { fluxObjects } from './flux-objects.ts';
import type { GitServer } from './git-server.ts';

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
  const objects = fluxObjects(flux, kubectl);

  const apply = (name: string): Promise<void> =>
    applyExample(kubectl, `flux/${name}`, repository.url, (text) =>
      text.replaceAll(/(amespace): (default|flux-system)$/gm, `$1: ${world.namespace}`),
    );
  await apply('servers');
  // The authorizer follows a watch, and Flux would try a refused apply again only after its interval.
  const as = `--as=system:serviceaccount:${world.namespace}:servers`;
  await expect.poll(() => kubectl('auth', 'can-i', 'patch', 'vps', as).catch(() => 'no')).toBe('yes\n');
  await apply('operator');
  await apply('source');
  onTestFinished(async () => {
    await kubectl('delete', '--timeout=60s', 'kustomizations,gitrepositories', '--all');
  });

  return {
    kubectl,
    ready: () => objects.ready('servers'),
    /** Commits these files of the folder `servers`, without others, and waits until Flux has fetched them. */
    async push(servers: Files): Promise<void> {
      revision = await commit(servers);
      await objects.fetched(revision);
    },
    reconcile: () => objects.request('kustomization/servers'),
    revisionOf: () => objects.revisionOf('servers'),
    /** Waits until a Kustomization is Ready with the last commit. */
    applied: (name = 'servers') => objects.applied(name, revision),
    /** Waits until the Kustomization of the servers is not Ready for this reason; resolves with the message. */
    async failed(reason: string): Promise<string> {
      const state = async () => {
        const found = await objects.ready('servers');
        return { status: found?.status, reason: found?.reason };
      };
      await objects.until(state, { status: 'False', reason });
      return (await objects.ready('servers'))?.message ?? '';
    },
  };
}
