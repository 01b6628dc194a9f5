/** The demo's control plane, which runs as a child process, and what the demo says about it. */
import { join } from 'node:path';
import type { Child, Children } from './children.ts';

const PROGRAM = join(import.meta.dirname, '../control-plane/main.ts');

interface Cluster {
  kubeconfig: string;
  kubectl: string;
}

/** A line of the program's output about kube-controller-manager. */
interface Controllers {
  controllers: 'running' | 'missing';
  why?: string;
}

interface DemoControlPlane {
  cluster: Cluster;
  child: Child;
  /** Says whether the cluster has controllers; if it has to wait for them, also says when they run. */
  tellControllers(): void;
  /** Says what is being built from now on. */
  tellProgress(): void;
}

const MEANWHILE = 'a deleted set leaves its servers, and a ResourceQuota has no effect';

/** Resolves when the API server is ready. */
export async function startControlPlane(
  children: Children,
  folder: string,
  say: (text: string) => void,
): Promise<DemoControlPlane> {
  const { promise, resolve } = Promise.withResolvers<Cluster>();
  let controllers: string | undefined;
  let isTold = false;
  // During the story, messages about builds and Ctrl-C would only distract.
  let isProgressTold = true;
  const child = children.start({
    name: 'the control plane',
    args: [PROGRAM, '--controllers'],
    log: join(folder, 'control-plane.log'),
    onLine: (line) => {
      const facts = JSON.parse(line) as Cluster | Controllers;
      if ('controllers' in facts) {
        controllers = inWords(facts);
        if (isTold) say(controllers);
        isProgressTold = false;
      } else {
        isProgressTold = false;
        resolve(facts);
      }
    },
    onError: (line) => {
      if (isProgressTold) say(line);
    },
  });
  return {
    cluster: await Promise.race([promise, child.failed]),
    child,
    tellControllers() {
      isTold = true;
      say(controllers ?? `controllers: being fetched in the background; until they run, ${MEANWHILE}`);
    },
    tellProgress() {
      isProgressTold = controllers === undefined;
    },
  };
}

const inWords = ({ controllers, why }: Controllers): string =>
  controllers === 'running'
    ? 'controllers: kube-controller-manager runs, for deletions in cascade, namespaces and ResourceQuotas'
    : `controllers: none, so ${MEANWHILE}: ${why ?? ''}`;
