/** An Application of Argo CD, as its users read and change it. */
import { expect } from 'vitest';
import type { ArgoCd } from './argo-programs.ts';

const ARGO_MS = 60_000;

interface Application {
  status?: {
    health?: { status: string };
    sync?: { status: string; revision: string };
    operationState?: { message?: string; retryCount?: number };
    resources?: { name: string; status: string; health?: { status: string; message?: string } }[];
  };
}

export function argoApplication(name: string, argo: ArgoCd, kubectl: (...args: string[]) => Promise<string>) {
  const object = `application/${name}`;
  const inArgo = (...args: string[]): Promise<string> => kubectl('--namespace=argocd', ...args);
  const read = async (): Promise<Application> =>
    JSON.parse(await inArgo('get', object, '--output=json')) as Application;
  const setFinalizers = (finalizers: string[] | null): Promise<string> =>
    inArgo('patch', object, '--type=merge', `--patch=${JSON.stringify({ metadata: { finalizers } })}`);
  const poll = (state: () => Promise<unknown>) => expect.poll(state, { timeout: ARGO_MS, interval: 250 });
  /** The logs of Argo CD explain a timeout. */
  const explained = (error: unknown): never => {
    throw new Error(argo.tail(), { cause: error });
  };
  return {
    /** Makes Argo CD look at the repository now. */
    refresh: () => inArgo('annotate', '--overwrite', object, 'argocd.argoproj.io/refresh=hard'),
    /** Waits until the Application has this state for this commit. */
    async until(health: string, sync: string, revision: string): Promise<void> {
      const state = async () => {
        const { status } = await read();
        return { health: status?.health?.status, sync: status?.sync?.status, revision: status?.sync?.revision };
      };
      await poll(state).toEqual({ health, sync, revision }).catch(explained);
    },
    /** Waits until the last or present sync has a message like this. */
    async saying(message: RegExp): Promise<void> {
      await poll(async () => (await read()).status?.operationState?.message)
        .toMatch(message)
        .catch(explained);
    },
    /** Waits until a failed sync has been tried again. */
    async triedAgain(): Promise<void> {
      await poll(async () => (await read()).status?.operationState?.retryCount ?? 0)
        .toBeGreaterThan(0)
        .catch(explained);
    },
    resource: async (resource: string) => (await read()).status?.resources?.find((each) => each.name === resource),
    /** Runs an action with the command of docs/how-to/gitops.md. */
    run: (action: string, kind: string, resource: string): Promise<string> =>
      argo.cli('app', 'actions', 'run', name, action, '--kind', kind, '--resource-name', resource),
    /** Confirms a deletion with the command of docs/how-to/gitops.md. */
    confirm: () => argo.cli('app', 'confirm-deletion', name),
    /** Deletes the Application so that Argo CD deletes its objects first; does not wait. */
    async deleteWithObjects(): Promise<void> {
      await setFinalizers(['resources-finalizer.argocd.argoproj.io']);
      await inArgo('delete', '--wait=false', object);
    },
    /** Waits until Argo CD says that it needs a confirmation before it deletes an object, a regular expression. */
    async waitingForConfirmation(object: string): Promise<void> {
      await poll(() => Promise.resolve(argo.tail()))
        .toMatch(new RegExp(`${object} requires manual confirmation to delete`))
        .catch(explained);
    },
    async gone(): Promise<void> {
      await poll(() => inArgo('get', object, '--ignore-not-found'))
        .toBe('')
        .catch(explained);
    },
    /** Removes the Application without its objects, even if a test that failed has left it waiting for a confirmation. */
    async remove(): Promise<void> {
      await setFinalizers(null).catch(() => undefined);
      await inArgo('delete', '--ignore-not-found', '--timeout=60s', object);
    },
  };
}
