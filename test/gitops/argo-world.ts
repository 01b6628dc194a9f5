/** Argo CD in a test's world: a Git repository, and examples/argocd in the world's namespace. */
import { onTestFinished } from 'vitest';
import { kubectl } from '../integration/kube/support.ts';
import type { World } from '../integration/support/world.ts';
import { applyExample } from './apply-example.ts';
import { argoApplication } from './argo-application.ts';
import type { ArgoCd } from './argo-programs.ts';
import type { GitServer } from './git-server.ts';

/** Sets Argo CD up as docs/how-to/gitops.md says, with these files in the repository. */
export async function argoIn(
  world: World,
  { git, argo }: { git: GitServer; argo: ArgoCd },
  files: Record<string, string>,
) {
  const repository = await git.create(world.namespace);
  let revision = await repository.commit(files);
  for (const name of ['project', 'servers']) {
    await applyExample(kubectl, `argocd/${name}`, repository.url, (text) =>
      text.replaceAll('namespace: default', `namespace: ${world.namespace}`),
    );
  }
  const application = argoApplication('servers', argo, kubectl);
  onTestFinished(async () => {
    await application.remove();
    await kubectl('delete', '--namespace=argocd', '--timeout=60s', 'appproject/servers');
  });
  return {
    ...application,
    /** Commits these files, without others, and makes Argo CD look. */
    async push(changed: Record<string, string>): Promise<void> {
      revision = await repository.commit(changed);
      await application.refresh();
    },
    waitingForConfirmation: (kind: string) => application.waitingForConfirmation(`${kind} ${world.namespace} \\S+`),
    /** Waits until the Application has this state for the last commit. */
    until: (health: string, sync: string) => application.until(health, sync, revision),
  };
}
