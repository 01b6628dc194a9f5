/** The demo itself: a control plane, a simulated service and the operator; one server from its order to its end. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { loadCluster } from '../../kube/config.ts';
import { createKubeHttp } from '../../kube/http.ts';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { createChildren, type Child, type Children } from './children.ts';
import { createLive } from './live.ts';
import { readManifest } from './readme.ts';
import type { Screen } from './screen.ts';

const ROOT = join(import.meta.dirname, '../../..');
const NAMESPACE = 'default';
/** Long enough to see the progress, short enough to be watched. */
const TASK_MS = 6_000;
const POLL_INTERVAL = '500ms';
const READY_MS = 60_000;
const DELETED_MS = 30_000;

export interface DemoOptions {
  screen: Screen;
  /** Stop before the delete and leave all running. */
  keep: boolean;
  /** Called when everything runs and is to be left so. */
  onKept: () => void;
}

/** Something to be stopped or removed at the end, last one first. */
export type CleanUp = (() => Promise<unknown>)[];

interface Cluster {
  kubeconfig: string;
  kubectl: string;
}

/** Resolves when the server is cancelled; with `keep` it never does. Rejects with what went wrong. */
export async function runDemo({ screen, keep, onKept }: DemoOptions, cleanUp: CleanUp): Promise<void> {
  const manifest = readManifest(await readFile(join(ROOT, 'README.md'), 'utf8'));
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-demo-'));
  const children = createChildren(folder);
  cleanUp.push(() => rm(folder, { recursive: true, force: true }));
  cleanUp.push(() => children.stop());

  const { keyId, secret, name } = manifest;
  const key = { keyId, secret };
  const simulator = await startSimulator({ taskDurationMs: TASK_MS, accounts: [{ name: 'demo', keys: [key] }] });
  cleanUp.push(() => simulator.goDown());
  screen.say(`simulated service: ${simulator.baseUrl}`);
  const controlPlane = await startControlPlane(children, folder, screen);
  const { cluster } = controlPlane;
  screen.say('control plane: kube-apiserver and etcd run, the CRD is installed');
  const operator = startOperator(children, folder, simulator, cluster);
  screen.say('operator: started\n');

  const http = createKubeHttp({ cluster: loadCluster(cluster.kubeconfig) });
  cleanUp.push(() => http.close());
  const live = createLive(http, screen, { namespace: NAMESPACE, name });
  cleanUp.push(() => live.stop());
  const file = join(folder, 'server.yaml');
  await writeFile(file, manifest.text);

  const story = async (): Promise<void> => {
    screen.say('$ kubectl apply -f server.yaml    # the manifest of README.md');
    screen.say(await kubectl(cluster, 'apply', '-f', file));
    let ssh: string | undefined;
    await live.until(
      (object) => {
        ssh = object?.status?.ssh;
        return object?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
      },
      'the way to Ready',
      READY_MS,
    );
    screen.say(`\n$ ssh ${ssh ?? ''}    # how to log in; there is no machine behind the simulated service\n`);
    if (keep) {
      screen.say(howToGoOn(cluster, name, folder));
      onKept();
      await new Promise(() => undefined);
    }
    screen.say(`$ kubectl delete vps ${name}`);
    await kubectl(cluster, 'delete', 'vps', name, '--wait=false');
    await live.until((object) => object === undefined, 'the deletion', DELETED_MS);
    screen.say(`vps/${name} is gone\n`);
    screen.say(accountOf(simulator));
  };
  await Promise.race([story(), controlPlane.child.failed, operator.failed]);
}

async function startControlPlane(
  children: Children,
  folder: string,
  screen: Screen,
): Promise<{ cluster: Cluster; child: Child }> {
  const { promise, resolve } = Promise.withResolvers<Cluster>();
  let isReady = false;
  const child = children.start({
    name: 'the control plane',
    args: [join(ROOT, 'test/control-plane/main.ts')],
    log: join(folder, 'control-plane.log'),
    onLine: (line) => {
      isReady = true;
      resolve(JSON.parse(line) as Cluster);
    },
    // What it says of its own Ctrl-C afterwards is not meant for people who watch the demo.
    onError: (line) => {
      if (!isReady) screen.say(line);
    },
  });
  return { cluster: await Promise.race([promise, child.failed]), child };
}

function startOperator(children: Children, folder: string, simulator: Simulator, { kubeconfig }: Cluster): Child {
  const flags = {
    'base-url': simulator.baseUrl,
    'auth-url': simulator.authUrl,
    kubeconfig,
    'poll-interval': POLL_INTERVAL,
    'journal-dir': join(folder, 'journal'),
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  return children.start({
    name: 'the operator',
    args: [join(ROOT, 'src/main.ts'), ...args],
    log: join(folder, 'operator.log'),
  });
}

/** Its output, without the line end. Rejects with what it says. */
async function kubectl({ kubeconfig, kubectl: program }: Cluster, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--kubeconfig', kubeconfig, '-n', NAMESPACE, ...args]);
    return stdout.trimEnd();
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    throw new Error(`kubectl ${args[0] ?? ''} failed: ${stderr.trim() || message}`, { cause: error });
  }
}

/** What the service itself knows, which no kubectl shows. Throws when a server is left or was ordered twice. */
function accountOf(simulator: Simulator): string {
  const created = simulator.ledger.creates().map(({ identifier }) => identifier);
  const cancelled = simulator.ledger.cancels().map(({ identifier }) => identifier);
  const alive = simulator.aliveServers().map(({ identifier }) => identifier);
  const list = (names: string[]): string => names.join(', ') || 'none';
  if (created.length !== 1 || alive.length !== 0) {
    throw new Error(`the service has created ${list(created)}, and of these still runs ${list(alive)}`);
  }
  return `service: created ${list(created)}, cancelled ${list(cancelled)}, still running ${list(alive)}`;
}

function howToGoOn({ kubeconfig, kubectl: program }: Cluster, name: string, folder: string): string {
  return [
    'Everything is left running. In another terminal:',
    '',
    `  export KUBECONFIG=${kubeconfig}`,
    `  export PATH=${dirname(program)}:$PATH    # for kubectl`,
    `  kubectl get vps`,
    `  kubectl delete vps ${name}`,
    `  kubectl apply -f ${join(folder, 'server.yaml')}`,
    '',
    `The operator's log is ${join(folder, 'operator.log')}. Ctrl-C stops everything.`,
  ].join('\n');
}
