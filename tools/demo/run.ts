/** The demo: a control plane with the guards, a simulated provider and the operator; the life of one server. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { namedFault, startSimulator, type ApiName, type Simulator } from '../../src/simulator/index.ts';
import { OPERATOR_NAMESPACE } from '../../src/api/names.ts';
import { bundle, OPERATOR, PLUGIN } from '../bundle.ts';
import { installOperatorIdentity } from '../control-plane/operator-identity.ts';
import { createChildren, type Child, type Children } from './children.ts';
import { startControlPlane } from './control-plane.ts';
import { installGuards } from './guards.ts';
import { startKubelet } from './kubelet.ts';
import { readManifests, withOwnKey } from './manifests.ts';
import { prepareShell } from './shell.ts';
import { furtherOf, storyOf, type Step } from './story.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Long enough to see the progress, short enough to watch. */
const TASK_MS = 4_000;
const POLL_INTERVAL = '500ms';
/** Timeout of a command; only an upper bound. */
const COMMAND_MS = 60_000;
const POLL_MS = 100;
const LINE = 100;

export interface DemoOptions {
  say: (text: string) => void;
  /** Stops before the delete and leaves everything running. */
  keep: boolean;
  /** Loses the answer to the order, and resolves it. */
  lostOrder: boolean;
  /** The API of the simulated provider. */
  api: ApiName;
  /** Called when everything runs and is left running. */
  onKept: () => void;
  /** Called at the end, when no command draws on the terminal anymore. */
  onQuiet: () => void;
}

/** Functions to call at the end, the last one first. */
export type CleanUp = (() => Promise<unknown>)[];

/** Resolves when the server is cancelled; never with `keep`. Rejects with an error. */
export async function runDemo(options: DemoOptions, cleanUp: CleanUp): Promise<void> {
  const { say, keep, lostOrder, api, onKept, onQuiet } = options;
  const { files, key } = readManifests(await readFile(join(ROOT, 'docs/getting-started.md'), 'utf8'));
  // It has user data, of which the documented API knows nothing.
  const example = api === 'public' ? { file: 'web-server.yaml', name: 'web-server' } : undefined;
  if (example !== undefined)
    files[example.file] = withOwnKey(await readFile(join(ROOT, 'examples/servers', example.file), 'utf8'));
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-demo-'));
  cleanUp.push(() => rm(folder, { recursive: true, force: true }));

  const simulator = await startSimulator({ api, taskDurationMs: TASK_MS, accounts: [{ name: 'demo', keys: [key] }] });
  cleanUp.push(() => simulator.goDown());
  say(`simulated provider: ${simulator.baseUrl}`);
  const programs = join(folder, 'programs');
  const bundling = bundle(programs);
  bundling.catch(() => undefined);
  // Before the folder is removed, into which it writes.
  cleanUp.push(() => bundling.catch(() => undefined));
  const children = createChildren(folder);
  // First of all: a command may be drawing, and the operator may be waiting for an answer of the provider.
  cleanUp.push(() => children.stop(onQuiet));
  const controlPlane = await startControlPlane(children, folder, say);
  const { cluster } = controlPlane;
  // The guards let only the operator's own identity write a status.
  const operatorKubeconfig = await installOperatorIdentity(cluster.kubeconfig);
  await installGuards(cluster.kubectl, cluster.kubeconfig);
  say('control plane: kube-apiserver and etcd are running, the CRDs and the guards are installed');
  await bundling;
  const log = join(folder, 'operator.log');
  const operator = startOperator(children, { folder, programs, log, simulator, kubeconfig: operatorKubeconfig });
  await startKubelet(cluster.kubeconfig, log);
  say('operator: started; key.yaml and server.yaml come from docs/getting-started.md');
  controlPlane.tellControllers();

  const shell = await prepareShell({ folder, files, plugin: join(programs, PLUGIN), ...cluster });
  const type = async (command: string, exits = 0): Promise<void> => {
    say(`\n$ ${command}`);
    // exec: a signal to the shell ends the command.
    const how = await children.run([...shell, `exec ${command}`].join('\n'), COMMAND_MS);
    if (how !== exits) throw new Error(`${command} exited with ${how}`);
    if (exits !== 0) say(`(exit code ${exits})`);
  };
  const play = async (step: Step): Promise<void> => {
    if (typeof step === 'string') await type(step);
    else if ('type' in step) await type(step.type, step.exits);
    else if ('say' in step) say(`\n${wrapped(step.say)}`);
    else if ('fault' in step) simulator.faults.inject(namedFault(step.fault));
    else say(await controlPanelOf(simulator));
  };
  const { life, end } = storyOf({ lostOrder });
  const story = async (): Promise<void> => {
    for (const step of life) await play(step);
    if (keep) {
      say(howToGoOn([...shell, ...furtherOf(example)]));
      onKept();
      controlPlane.tellProgress();
      await new Promise(() => undefined);
    }
    for (const step of end) await play(step);
    say(accountOf(simulator));
  };
  await Promise.race([story(), controlPlane.child.failed, operator.failed]);
}

interface OperatorOptions {
  folder: string;
  /** Folder of the bundles. */
  programs: string;
  /** Path for the operator's log. */
  log: string;
  simulator: Simulator;
  kubeconfig: string;
}

function startOperator(children: Children, { folder, programs, log, simulator, kubeconfig }: OperatorOptions): Child {
  const flags = {
    'base-url': simulator.baseUrl,
    'auth-url': simulator.authUrl,
    kubeconfig,
    'leader-elect': 'true',
    'operator-namespace': OPERATOR_NAMESPACE,
    'poll-interval': POLL_INTERVAL,
    'journal-dir': join(folder, 'journal'),
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  return children.start({ name: 'the operator', args: [join(programs, OPERATOR), ...args], log });
}

/** What the provider's website would show, once a server runs. */
async function controlPanelOf(simulator: Simulator): Promise<string> {
  const running = (): string[] =>
    simulator.aliveServers().flatMap(({ identifier, state }) => (state === 'running' ? [identifier] : []));
  const deadline = Date.now() + COMMAND_MS;
  while (running().length === 0) {
    if (Date.now() > deadline) throw new Error('no server runs at the provider');
    await sleep(POLL_MS);
  }
  return ['', "provider's control panel: your servers", ...running().map((name) => `  ${name}  running`)].join('\n');
}

/** In lines that begin like comments of a shell. */
function wrapped(text: string): string {
  return text.replaceAll(RegExp(`(?=\\S)(.{1,${LINE - 2}})(\\s+|$)`, 'g'), '# $1\n').trimEnd();
}

/** The provider's own summary, which kubectl cannot show. Throws if a server is left or was ordered twice. */
function accountOf(simulator: Simulator): string {
  const created = simulator.ledger.creates().map(({ identifier }) => identifier);
  const cancelled = simulator.ledger.cancels().map(({ identifier }) => identifier);
  const alive = simulator.aliveServers().map(({ identifier }) => identifier);
  const list = (names: string[]): string => names.join(', ') || 'none';
  if (created.length !== 1 || alive.length !== 0) {
    throw new Error(`the provider has created ${list(created)}; still running: ${list(alive)}`);
  }
  return `\nprovider: created ${list(created)}, cancelled ${list(cancelled)}, still running ${list(alive)}`;
}

function howToGoOn(commands: string[]): string {
  return [
    '',
    'Everything is left running. In another terminal:',
    '',
    ...commands.map((command) => `  ${command}`),
    '',
    'For completion with the Tab key: source <(kubectl completion bash). zsh and fish have the same.',
    'operator.log is in the same folder. The simulated provider has no real machines to log in to.',
    'Ctrl-C stops everything.',
  ].join('\n');
}
