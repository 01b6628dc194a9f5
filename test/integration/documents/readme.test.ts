/**
 * Runs the README with kubectl, a real API server and a simulated provider: applies its `yaml` blocks and executes its
 * `sh` blocks in order, section by section. `console` blocks are only for reading.
 */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { REASONS } from '../../../src/api/conditions.ts';
import * as names from '../../../src/api/names.ts';
import { parseConfig } from '../../../src/config/config.ts';
import { readManifests } from '../../../tools/demo/readme.ts';
import { specSchema } from '../../../src/api/virtual-server.ts';
import { startSimulator } from '../../../src/simulator/index.ts';
import { startEmptyCluster } from '../deploy/cluster.ts';
import { startPod } from '../deploy/pod.ts';
import { blocksOf, createShell, executable } from '../support/document.ts';
import { createWorld } from '../support/world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
const pages = [
  ...(await readdir(ROOT)),
  ...(await readdir(join(ROOT, 'docs'), { recursive: true })).map((page) => `docs/${page}`),
].filter((name) => name.endsWith('.md'));
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');

describe('the README', () => {
  const account = { name: 'reader', keys: [readManifests(readme).key] };

  it('leads from the installation to a server, an SSH login, and its deletion', { timeout: 180_000 }, async () => {
    const cluster = await startEmptyCluster();
    onTestFinished(() => cluster.stop());
    const simulator = await startSimulator({ accounts: [account], taskDurationMs: 300 });
    onTestFinished(() => simulator.close());
    const shell = await createShell({
      kubeconfigPath: cluster.controlPlane.kubeconfigPath,
      kubectl: cluster.controlPlane.kubectl,
      namespace: 'default',
      replace: { 'https://api.example.org': simulator.baseUrl, 'https://auth.example.org': simulator.authUrl },
    });
    let said = '';
    for (const block of blocksOf(readme, 'Install').filter(executable)) said += await shell.run(block);
    // There is no kubelet to pull the image: a process replaces the pod.
    await startPod(cluster, ['--poll-interval=100ms']);
    for (const block of blocksOf(readme, 'Order a server').filter(executable)) said += await shell.run(block);
    expect(said).toContain('customresourcedefinition.apiextensions.k8s.io/virtualservers.vps-operator.dev');
    expect(said).toMatch(/^catalog +True +4 +3 +4 /m);
    expect(said).toContain('virtualserver.vps-operator.dev/web condition met');
    expect(said).toMatch(/^web +True +Available +vps-1gb /m);
    expect(said).toMatch(/^ssh was called with: root@\S+ -p \d+$/m);
    expect(said).toMatch(/^virtualserver.vps-operator.dev "web" deleted/m);
    expect(simulator.ledger.creates()).toHaveLength(1);
    expect(simulator.ledger.cancels()).toHaveLength(1);
    expect(simulator.aliveServers()).toEqual([]);
  });

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
    for (const block of blocksOf(readme, 'Order a server').filter(({ language }) => language === 'yaml'))
      await shell.run(block);
    await shell.run({ language: 'sh', text: 'kubectl apply -f key.yaml -f server.yaml' });
    await world.waitForReason('web', 'CreateOutcomeUnknown', 'Ready');
    expect(world.simulator.ledger.creates()).toEqual([]);

    for (const block of blocksOf(readme, 'When the answer to an order is lost').filter(executable))
      await shell.run(block);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('gives the operator flags that it accepts', () => {
    const command = /^\$ node dist\/operator\.js (.*)$/m.exec(readme)?.[1] ?? '';
    expect(parseConfig(command.split(' '), {})).toMatchObject({ kind: 'run' });
  });

  it('names only npm commands that exist', async () => {
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
    for (const file of ['README.md', 'CONTRIBUTING.md']) {
      const named = [...(await read(file)).matchAll(/\bnpm (?:run )?([a-z-]+)/g)].map(([, name = '']) => name);
      expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    }
  });

  it('names every reason, annotation and spec field', () => {
    const inCode = (text: string) => readme.includes(`\`${text}`);
    expect(Object.keys(REASONS).filter((reason) => !inCode(reason))).toEqual([]);
    const annotations = Object.entries(names).filter(([name]) => name.endsWith('_ANNOTATION'));
    expect(annotations.map(([, value]) => value).filter((value) => !inCode(value))).toEqual([]);
    expect(Object.keys(specSchema.shape).filter((field) => !inCode(field))).toEqual([]);
  });

  it('names no reason that does not exist', () => {
    const table = readme.slice(readme.indexOf('| reason |'), readme.indexOf('## When the answer'));
    const named = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)]);
    expect(named.map(([, reason = '']) => reason).filter((reason) => !(reason in REASONS))).toEqual([]);
  });

  it('links only to files and headings that exist, as do all other pages', async () => {
    for (const file of pages) {
      for (const [, target = ''] of (await read(file)).matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
        const [path = '', anchor] = target.split('#');
        const text = await read(path === '' ? file : join(dirname(file), path));
        const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
          title
            .toLowerCase()
            .replaceAll(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
        );
        if (anchor !== undefined) expect(anchors, `${file}: ${target}`).toContain(anchor);
      }
    }
  });
});

describe('the documents', () => {
  it('are all reachable from the README or CONTRIBUTING.md', async () => {
    const texts = await Promise.all(['README.md', 'CONTRIBUTING.md'].map(read));
    const linked = new Set(
      texts.flatMap((text) => [...text.matchAll(/\]\((docs\/[\w/-]+\.md)/g)].map(([, page]) => page)),
    );
    expect(pages.filter((page) => page.startsWith('docs/') && !linked.has(page))).toEqual([]);
  });

  it('have exactly one paragraph per reason in the runbook', async () => {
    const runbook = await read('docs/reference/reasons.md');
    // The runbook's paragraphs on alerts are covered by test/integration/monitoring.
    const described = [...runbook.matchAll(/^### (?!VPSOperator)(\w+)$/gm)].map(([, reason = '']) => reason);
    expect(described.sort()).toEqual(Object.keys(REASONS).sort());
  });

  it('show the same flags as --help', async () => {
    const help = parseConfig(['--help'], {});
    expect(await read('docs/reference/flags.md')).toContain(
      `\`\`\`text\n${help.kind === 'help' ? help.text : ''}\n\`\`\`\n`,
    );
  });
});
