/** Removes every kind of installation with the commands of docs/how-to/remove.md, on a real API server: nothing is left. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { kustomization } from '../../../tools/manifests.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { blocksOf, createShell, executable, typedIn, type Shell } from '../support/document.ts';
import { established, ROOT, startEmptyCluster, type Cluster } from './cluster.ts';
import { SYSTEM } from './pod.ts';

const LONG_MS = 300_000;
const MANIFESTS = 'deploy/manifests';
const OTHER = 'team-servers';
const TEAMS = ['team-a', 'team-b'];
const read = (name: string): Promise<string> => readFile(join(ROOT, `docs/how-to/${name}.md`), 'utf8');
const [page, installPage, monitoringPage] = await Promise.all(['remove', 'install', 'monitoring'].map(read));

/** The folders that users add to a kustomization as components, and those that they apply. */
const folders = (await readdir(join(ROOT, MANIFESTS), { recursive: true }))
  .filter((name) => name.endsWith('/kustomization.yaml'))
  .map((name) => `${MANIFESTS}/${name.slice(0, name.lastIndexOf('/'))}`)
  .sort();
const kinds = new Map<string, string>();
for (const folder of folders) {
  const { kind } = parse(await readFile(join(ROOT, folder, 'kustomization.yaml'), 'utf8')) as { kind: string };
  kinds.set(folder, kind);
}
const components = folders.filter((folder) => kinds.get(folder) === 'Component');
const watched = folders.filter((folder) => folder.endsWith('/watched'));
const inOneNamespace = components.filter((folder) => folder.endsWith('/namespaced'));
const everywhere = components.filter((folder) => !inOneNamespace.includes(folder));
const transformers = folders.filter((folder) => folder.startsWith(`${MANIFESTS}/transformers/`));

const [BASE, NAMESPACED, MONITORING, DEMO] = [
  'base',
  'overlays/namespaced',
  'overlays/monitoring',
  'overlays/demo',
].map((name) => `${MANIFESTS}/${name}`) as [string, string, string, string];

let cluster: Cluster;
const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(...args);

/** The prometheus-operator's definitions, without their schemas. */
const definition = (kind: string): object => {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
};

async function apply(yaml: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-removal-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'objects.yaml'), yaml);
  await kubectl('apply', '--server-side', '--force-conflicts', '-f', folder);
}

const install = async (...args: Parameters<typeof kustomization> extends [string, infer Own] ? [Own] : never) => {
  await apply(await kustomization(cluster.controlPlane.kubectl, ...args));
};

beforeAll(async () => {
  cluster = await startEmptyCluster();
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-definitions-'));
  const definitions = ['ServiceMonitor', 'PrometheusRule'].map(definition);
  await writeFile(join(folder, 'crds.yaml'), definitions.map((each) => stringify(each)).join('---\n'));
  await kubectl('apply', '-f', folder);
  await established(kubectl, '-f', folder);
  await rm(folder, { recursive: true });
  for (const team of TEAMS) await kubectl('create', 'namespace', team);
}, LONG_MS);
afterAll(() => cluster.stop());

/** Every object of the cluster, except what its own processes write. */
async function objects(): Promise<string[]> {
  const resources = (await kubectl('api-resources', '--verbs=list,delete', '--output=name')).trim().split('\n');
  const lasting = resources.filter((name) => !/^(events|leases)\b/.test(name)).join(',');
  const columns = 'custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name';
  const listed = await kubectl('get', lasting, '--all-namespaces', '--no-headers', '--output', columns);
  return listed
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' ').trim())
    .sort();
}

/** A shell in a folder with deploy/; the page's namespace is this one. */
const shellIn = (namespace: string): Promise<Shell> => {
  const { kubeconfigPath, kubectl: program } = cluster.controlPlane;
  return createShell({ kubeconfigPath, kubectl: program, namespace: 'default', replace: { [SYSTEM]: namespace } });
};

async function follow(shell: Shell, heading: string): Promise<void> {
  for (const block of blocksOf(page ?? '', heading).filter(executable)) await shell.run(block);
}

/** The command of "Keep servers and objects" with this argument; fails with what kubectl said. */
async function keep(shell: Shell, argument: string): Promise<void> {
  const typed = blocksOf(page ?? '', 'Keep servers and objects').flatMap(typedIn);
  const [found] = typed.filter(({ command }) => command.includes(` ${argument}`));
  await shell.run({ language: 'sh', text: found?.command ?? `no command with ${argument}` });
}

/** Deletes twice, as the page says that you may, and checks that a server's object, its definition and the guards stay. */
async function keptTwice(shell: Shell, argument: string, namespace: string): Promise<void> {
  await established(kubectl, 'crd/virtualservers.vps-operator.dev');
  await apply(stringify(virtualServer('kept')));
  const uid = (): Promise<string> => kubectl('get', 'vps', 'kept', '--output=jsonpath={.metadata.uid}');
  const before = await uid();
  for (const attempt of [1, 2]) {
    const refused: unknown = await keep(shell, argument).catch((error: unknown) => error);
    expect(String(refused), `${attempt}`).toContain('vps-operator.dev/allow-deletion=true');
    expect(String(refused), `${attempt}`).not.toContain('NotFound');
    // kubectl does not wait after a refusal.
    await kubectl('wait', `namespace/${namespace}`, '--for=delete', '--timeout=2m');
  }
  expect(await uid()).toBe(before);
  const left = (await objects()).join('\n');
  for (const kind of ['Policy', 'PolicyBinding'])
    expect(left).toMatch(RegExp(`^ValidatingAdmission${kind} <none> vps-operator-crd-deletion$`, 'm'));
  await kubectl('delete', 'vps', 'kept');
}

describe('docs/how-to/remove.md', () => {
  it('leaves nothing of the operator with all components', { timeout: LONG_MS }, async () => {
    const before = await objects();
    await install({ resources: [BASE, MONITORING], components: everywhere });
    const binding = /^ *\$ (kubectl create clusterrolebinding [^$]*?\S)\n *```/m.exec(monitoringPage ?? '')?.[1] ?? '';
    const shell = await shellIn(SYSTEM);
    await shell.run({ language: 'sh', text: binding });
    const during = (await objects()).join('\n');
    for (const name of ['user-data-config-maps', 'connection-secrets', 'metrics-auth', 'metrics-reader'])
      expect(during).toMatch(RegExp(`^ClusterRoleBinding <none> vps-operator-${name}$`, 'm'));
    await follow(shell, 'Remove');
    await expect.poll(objects).toEqual(before);
  });

  it('leaves nothing of an operator for single namespaces, in none of them', { timeout: LONG_MS }, async () => {
    const before = await objects();
    await install({ resources: [NAMESPACED], components: inOneNamespace });
    for (const team of TEAMS)
      for (const folder of watched)
        await kubectl('apply', '--server-side', '--force-conflicts', '--namespace', team, '-k', folder);
    const during = (await objects()).join('\n');
    for (const team of TEAMS) expect(during).toMatch(RegExp(`^Role ${team} vps-operator-connection-secrets$`, 'm'));
    const shell = await shellIn(SYSTEM);
    await keptTwice(shell, '-f deploy/install.yaml', SYSTEM);
    await follow(shell, 'Remove');
    await expect.poll(objects).toEqual(before);
  });

  it('leaves nothing of an operator in another namespace', { timeout: LONG_MS }, async () => {
    const before = await objects();
    const shell = await shellIn(OTHER);
    for (const block of blocksOf(installPage ?? '', 'Another namespace').filter(executable)) await shell.run(block);
    await install({ namespace: OTHER, resources: [BASE], components: everywhere, transformers });
    await keptTwice(shell, '-k .', OTHER);
    await follow(shell, 'Remove');
    await expect.poll(objects).toEqual(before);
  });

  it('leaves nothing of the demo, with the commands below it', { timeout: LONG_MS }, async () => {
    const before = await objects();
    const shell = await shellIn(SYSTEM);
    const [start, ...others] = blocksOf(installPage ?? '', 'Demo').filter(executable);
    expect(others).toEqual([]);
    for (const line of (start?.text ?? '').trim().split('\n')) {
      await shell.run({ language: 'sh', text: line });
      await established(kubectl, 'crd/virtualservers.vps-operator.dev', 'crd/servercatalogs.vps-operator.dev');
    }
    const [end] = blocksOf(installPage ?? '', 'Demo').slice(-1);
    for (const { command } of end === undefined ? [] : typedIn(end)) await shell.run({ language: 'sh', text: command });
    await expect.poll(objects).toEqual(before);
  });

  it('is about every folder of the manifests', () => {
    const covered = [...everywhere, ...inOneNamespace, ...watched, ...transformers, BASE, NAMESPACED, MONITORING, DEMO];
    expect(covered.sort()).toEqual(folders);
  });
});
