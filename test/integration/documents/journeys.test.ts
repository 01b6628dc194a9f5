/**
 * Follows the pages that lead to a first server, with kubectl, a real API server and a simulated provider: applies their
 * `yaml` blocks, executes their `sh` blocks in order, and compares the output with the `text` block that follows.
 * `console` blocks are only for reading.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { startSimulator, type Simulator } from '../../../src/simulator/index.ts';
import { readManifests, withOwnKey } from '../../../tools/demo/manifests.ts';
import { imageName, version } from '../../../tools/image-build.ts';
import { startEmptyCluster, type Cluster } from '../deploy/cluster.ts';
import { startPod, SYSTEM } from '../deploy/pod.ts';
import { blocksOf, createShell, executable, followSection, type Block } from '../support/document.ts';
import { createWorld } from '../support/world.ts';

const read = (path: string): Promise<string> => readFile(join(import.meta.dirname, '../../..', path), 'utf8');
const readme = await read('README.md');
const gettingStarted = await read('docs/getting-started.md');
const resolving = await read('docs/how-to/resolve-an-order.md');
const account = { name: 'reader', keys: [readManifests(gettingStarted).key] };

interface Journey {
  /** Writes the files that a page tells the reader to write. */
  write: (files: Readonly<Record<string, string>>) => Promise<unknown>;
  /** Executes the blocks of a section; resolves with their output. */
  follow: (page: string, heading: string) => Promise<string>;
  /** Starts the operator. There is no kubelet to pull its image: a process replaces the pod. */
  startOperator: () => Promise<unknown>;
  /** Fails unless the image was built, pushed as the page says, and installed. */
  expectOwnImage: () => Promise<void>;
  simulator: Simulator;
}

const OWN_IMAGE = `registry.example.org/vps-operator:${await version()}`;

async function setOut(): Promise<Journey> {
  const cluster = await startEmptyCluster();
  onTestFinished(() => cluster.stop());
  const simulator = await startSimulator({ accounts: [account], taskDurationMs: 300 });
  onTestFinished(() => simulator.close());
  const builder = await createBuilder();
  const shell = await createShell({
    kubeconfigPath: cluster.controlPlane.kubeconfigPath,
    kubectl: cluster.controlPlane.kubectl,
    namespace: 'default',
    path: [builder.folder],
    replace: { 'https://api.example.org': simulator.baseUrl, 'https://auth.example.org': simulator.authUrl },
  });
  const follow = (page: string, heading: string): Promise<string> => followSection(shell, page, heading);
  const write = (files: Readonly<Record<string, string>>): Promise<unknown> => {
    const text = Object.entries(files).map(([name, content]) => `printf '%s\\n' '${content}' > ${name}`);
    return shell.run({ language: 'sh', text: text.join('\n') });
  };
  return {
    write,
    follow,
    simulator,
    startOperator: () => startPod(cluster, ['--poll-interval=100ms']),
    async expectOwnImage() {
      expect(await builder.calls()).toEqual([
        'npm run image',
        `docker tag ${await imageName()} ${OWN_IMAGE}`,
        `docker push ${OWN_IMAGE}`,
      ]);
      expect(await installedImage(cluster)).toBe(OWN_IMAGE);
    },
  };
}

/** Stand-ins for npm and Docker, which only note how they are called: the tests in real pods build the image. */
async function createBuilder(): Promise<{ folder: string; calls: () => Promise<string[]> }> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-builder-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const log = join(folder, 'calls');
  for (const name of ['npm', 'docker']) {
    await writeFile(join(folder, name), `#!/bin/sh\necho "${name} $*" >> ${log}\n`, { mode: 0o755 });
  }
  return { folder, calls: async () => (await readFile(log, 'utf8')).trimEnd().split('\n') };
}

const installedImage = (cluster: Cluster): Promise<string> =>
  cluster.kubectl(
    ...['get', 'deployment', 'vps-operator', '--namespace', SYSTEM],
    ...['--output', 'jsonpath={.spec.template.spec.containers[*].image}'],
  );

/** One server was ordered, and cancelled again. */
function expectOneLife(simulator: Simulator): void {
  expect(simulator.ledger.creates()).toHaveLength(1);
  expect(simulator.ledger.cancels()).toHaveLength(1);
  expect(simulator.aliveServers()).toEqual([]);
}

describe('README.md', () => {
  it('leads from the installation to a server, an SSH login, and its deletion', { timeout: 180_000 }, async () => {
    const { write, follow, startOperator, expectOwnImage, simulator } = await setOut();
    const { keyId, secret } = readManifests(gettingStarted).key;
    await write({ keyId, secret });
    expect(await follow(readme, 'Install')).toContain('/virtualservers.vps-operator.dev');
    await expectOwnImage();
    await startOperator();
    const said = await follow(readme, 'Your first server, in five steps');
    expect(said).toContain('virtualserver.vps-operator.dev/web condition met');
    expect(said).toMatch(/^ssh was called with: root@\S+ -p \d+$/m);
    expect(said).toMatch(/^virtualserver.vps-operator.dev "web" deleted/m);
    expectOneLife(simulator);
  });

  it('orders the same server as Getting started', () => {
    const server = ({ text }: Block): boolean => text.startsWith('# server.yaml\n');
    const [block] = blocksOf(readme, 'Your first server, in five steps').filter(server);
    expect(withOwnKey(block?.text ?? '')).toBe(readManifests(gettingStarted).files['server.yaml']);
  });

  it('begins with that server, and with the output that Getting started shows', () => {
    const [firstScreen = ''] = readme.split(/^## /m);
    const [, manifest = ''] = /^```yaml\n(.*?)^```$/ms.exec(firstScreen) ?? [];
    expect(withOwnKey(manifest)).toBe(readManifests(gettingStarted).files['server.yaml']);
    const [, shown = ''] = /^\$ kubectl get vps web\n(.*?)^```$/ms.exec(firstScreen) ?? [];
    expect(shown).not.toBe('');
    expect(gettingStarted).toContain(shown);
  });
});

describe('docs/getting-started.md', () => {
  it('leads from an API key to an SSH login, with the output that it shows', { timeout: 180_000 }, async () => {
    const { follow, startOperator, expectOwnImage, simulator } = await setOut();
    await follow(gettingStarted, '1. Install the operator');
    await expectOwnImage();
    await startOperator();
    const rest = [...gettingStarted.matchAll(/^## ([2-6]\. .*)$/gm)].map(([, heading = '']) => heading);
    expect(rest).toHaveLength(5);
    let said = '';
    for (const heading of rest) said += await follow(gettingStarted, heading);
    expect(said).toMatch(/^ssh was called with: root@\S+ -p \d+$/m);
    expectOneLife(simulator);
  });
});

describe('docs/how-to/resolve-an-order.md', () => {
  it('explains how to resolve an order whose answer was lost', async () => {
    const world = await createWorld({ secret: false, simulator: { accounts: [account] } });
    const shell = await createShell({
      kubeconfigPath: inject('kubeconfigPath'),
      kubectl: inject('kubectl'),
      namespace: world.namespace,
    });
    world.simulator.faults.inject({
      match: { method: 'POST', route: '/beta/vps/servers' },
      action: { kind: 'drop' },
    });
    for (const text of Object.values(readManifests(gettingStarted).files)) await shell.run({ language: 'yaml', text });
    await shell.run({ language: 'sh', text: 'kubectl apply -f key.yaml -f server.yaml' });
    await world.waitForReason('web', 'CreateOutcomeUnknown', 'Ready');
    expect(world.simulator.ledger.creates()).toEqual([]);

    for (const block of blocksOf(resolving, 'When the answer to an order is lost').filter(executable))
      await shell.run(block);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});
