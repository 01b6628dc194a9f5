/**
 * The life of an installation on a real API server: installed, upgraded, removed and put back, with servers in it all the
 * while; and the ends that docs/install.md describes: of the operator, of a namespace, of the CRD. The tests share one
 * cluster and leave it installed, without objects.
 */
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { DEFAULT_KEY, startSimulator, type Simulator } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../gen/virtual-server.ts';
import { startEmptyCluster, type Cluster } from './cluster.ts';
import { startPod, SYSTEM } from './pod.ts';

/** What nobody waits for in a test. */
const QUICK = ['--poll-interval=200ms', '--lease-duration=3s', '--takeover-grace=1s', '--create-timeout=5s'];
const CRD = 'virtualservers.vps-operator.dev';

// Namespaces and CRDs take their time to go, and each wait for one has a bound of its own.
vi.setConfig({ testTimeout: 180_000 });

let cluster: Cluster;
let simulator: Simulator;
let namespace: string;
let count = 0;

const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(...args);
const INSTALL = ['-f', 'deploy/install.yaml'];
const BOTH = [...INSTALL, '-f', 'deploy/guards.yaml'];
const install = (): Promise<string> => kubectl('apply', '--server-side', ...BOTH);

async function configure(): Promise<void> {
  const { baseUrl, authUrl } = simulator;
  const literals = [`--from-literal=VPS_BASE_URL=${baseUrl}`, `--from-literal=VPS_AUTH_URL=${authUrl}`];
  await kubectl('delete', 'configmap', 'vps-operator-config', '-n', SYSTEM, '--ignore-not-found');
  await kubectl('create', 'configmap', 'vps-operator-config', '-n', SYSTEM, ...literals);
}

async function applyServer(name: string, spec: Record<string, unknown> = {}): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-server-'));
  const manifest = virtualServer(name);
  await writeFile(join(folder, 'server.yaml'), stringify({ ...manifest, spec: { ...manifest.spec, ...spec } }));
  await kubectl('apply', '-n', namespace, '-f', join(folder, 'server.yaml'));
  await rm(folder, { recursive: true });
}

async function list(): Promise<VirtualServer[]> {
  return (JSON.parse(await kubectl('get', 'vps', '-n', namespace, '-o', 'json')) as { items: VirtualServer[] }).items;
}

const isReady = (...names: string[]): Promise<string> =>
  kubectl('wait', '-n', namespace, '--for=condition=Ready', '--timeout=40s', ...names.map((name) => `vps/${name}`));
const alive = (): string[] => simulator.aliveServers().map(({ identifier }) => identifier);

beforeAll(async () => {
  cluster = await startEmptyCluster();
});
afterAll(() => cluster.stop());

beforeEach(async () => {
  simulator = await startSimulator({ taskDurationMs: 500 });
  await install();
  await configure();
  namespace = `life-${(count += 1)}`;
  await kubectl('create', 'namespace', namespace);
  const { keyId, secret } = DEFAULT_KEY;
  const literals = [`--from-literal=keyId=${keyId}`, `--from-literal=secret=${secret}`];
  await kubectl('create', 'secret', 'generic', 'vps-api-key', '-n', namespace, ...literals);
  onTestFinished(() => simulator.close());
});

it('orders and cancels servers with what it is installed with', async () => {
  const pod = await startPod(cluster, QUICK);
  await applyServer('web');
  await isReady('web');
  expect(simulator.ledger.creates()).toHaveLength(1);
  await kubectl('delete', 'vps', 'web', '-n', namespace, '--timeout=40s');
  expect(alive()).toEqual([]);
  expect(await pod.stop()).toBe(0);
});

it('goes on in the new pod with what the old one has begun, and orders nothing twice', async () => {
  const old = await startPod(cluster, QUICK);
  await old.saying('leads');
  await applyServer('web');
  await expect.poll(async () => (await list())[0]?.status?.record?.task).toBeDefined();
  await install();
  const young = await startPod(cluster, QUICK);
  expect(await old.stop()).toBe(0);
  await young.saying('leads');
  await isReady('web');
  expect(simulator.ledger.creates()).toHaveLength(1);
  await kubectl('delete', 'vps', 'web', '-n', namespace, '--timeout=40s');
});

/** The operator is put back; whatever its removal has left is as it was. */
async function takeUpAgain(before: VirtualServer | undefined): Promise<void> {
  await install();
  await configure();
  const pod = await startPod(cluster, QUICK);
  await pod.saying('operator runs');
  const look = `vps-operator.dev/reconcile-at=${count}`;
  await kubectl('annotate', 'vps', 'web', '-n', namespace, look);
  await isReady('web');
  const uid = before?.metadata.uid;
  expect(await list()).toMatchObject([{ metadata: { uid }, spec: before?.spec }]);
  await kubectl('delete', 'vps', 'web', '-n', namespace, '--timeout=40s');
  expect(simulator.ledger.creates()).toHaveLength(1);
  expect(alive()).toEqual([]);
  await pod.stop();
}

it.each([
  { what: 'install.yaml', args: INSTALL },
  { what: 'the namespace of the operator', args: ['namespace', SYSTEM] },
])('leaves servers, objects and CRD alone when $what is deleted, twice, and takes them up again', async ({ args }) => {
  const pod = await startPod(cluster, QUICK);
  await applyServer('web');
  await isReady('web');
  const servers = alive();
  const [before] = await list();

  const isRefused = args === INSTALL;
  for (const attempt of [1, 2]) {
    const uninstall = kubectl('delete', '--ignore-not-found', ...args);
    if (isRefused) await expect(uninstall, `${attempt}`).rejects.toThrow('vps-operator.dev/allow-deletion=true');
    else await uninstall;
    await kubectl('wait', `namespace/${SYSTEM}`, '--for=delete', '--timeout=50s');
  }
  await pod.stop();
  expect(await list()).toMatchObject([{ metadata: { uid: before?.metadata.uid }, spec: before?.spec }]);
  expect((await list())[0]?.metadata.deletionTimestamp).toBeUndefined();
  expect(alive()).toEqual(servers);
  await takeUpAgain(before);
});

it('cancels nothing when the guards are deleted too, twice, and the servers can be taken over by new objects', async () => {
  const pod = await startPod(cluster, QUICK);
  await applyServer('web');
  await isReady('web');
  const servers = alive();
  const refused = kubectl('delete', '--wait=false', ...BOTH);
  await expect(refused).rejects.toThrow('vps-operator.dev/allow-deletion=true');
  await pod.stop();
  // A policy that was deleted is in force for a moment more.
  await expect
    .poll(() => kubectl('delete', '--wait=false', '--ignore-not-found', ...BOTH).then(() => 'deleted', String))
    .toBe('deleted');
  await expect.poll(async () => (await list())[0]?.metadata.deletionTimestamp).toBeDefined();
  await kubectl('wait', `namespace/${SYSTEM}`, '--for=delete', '--timeout=50s');

  await install();
  await configure();
  const next = await startPod(cluster, QUICK);
  const stalled = 'jsonpath={.status.conditions[?(@.type=="Stalled")].reason}';
  await kubectl('wait', 'vps/web', '-n', namespace, `--for=${stalled}=CRDDeleting`, '--timeout=40s');
  expect(alive()).toEqual(servers);

  // As the runbook of CRDDeleting says.
  const saved = await kubectl('get', 'vps', '--all-namespaces', '-o', 'yaml');
  const patch = '--patch={"spec":{"deletionPolicy":"Retain","deletionProtection":false}}';
  await kubectl('patch', 'vps', 'web', '-n', namespace, '--type=merge', patch);
  await kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=40s');
  await next.stop();
  await install();
  const again = await startPod(cluster, QUICK);
  await again.saying('operator runs');
  const file = join(await mkdtemp(join(tmpdir(), 'vps-operator-saved-')), 'virtualservers.yaml');
  onTestFinished(() => rm(dirname(file), { recursive: true }));
  await writeFile(file, saved.replaceAll(/^ {4}(resourceVersion|uid):.*\n/gm, ''));
  await kubectl('create', '-f', file);
  await kubectl('wait', 'vps/web', '-n', namespace, `--for=${stalled}=RecordMismatch`, '--timeout=40s');
  await kubectl('annotate', 'vps', 'web', '-n', namespace, `vps-operator.dev/adopt=${servers[0] ?? ''}`);
  await isReady('web');
  expect(alive()).toEqual(servers);
  expect(simulator.ledger.creates()).toHaveLength(1);
  await kubectl('delete', 'vps', 'web', '-n', namespace, '--timeout=40s');
  expect(alive()).toEqual([]);
  await again.stop();
});

it('cancels the servers of a namespace that is deleted, though its Secret goes with it', async () => {
  const pod = await startPod(cluster, QUICK);
  await applyServer('one');
  await applyServer('two');
  await isReady('one', 'two');
  await kubectl('delete', 'namespace', namespace, '--timeout=50s');
  expect(alive()).toEqual([]);
  await pod.stop();
});

it('keeps a namespace with a protected server until the protection is lifted', async () => {
  const pod = await startPod(cluster, QUICK);
  await applyServer('kept', { deletionProtection: true });
  await isReady('kept');
  await kubectl('delete', 'namespace', namespace, '--wait=false');
  await kubectl('wait', `namespace/${namespace}`, '--for=jsonpath={.status.phase}=Terminating', '--timeout=40s');
  const stuck = ['wait', `namespace/${namespace}`, '--for=condition=NamespaceDeletionContentFailure', '--timeout=40s'];
  await kubectl(...stuck);
  expect(alive()).toHaveLength(1);
  const patch = '{"spec":{"deletionProtection":false}}';
  await kubectl('patch', 'vps', 'kept', '-n', namespace, '--type=merge', `--patch=${patch}`);
  await kubectl('wait', `namespace/${namespace}`, '--for=delete', '--timeout=50s');
  expect(alive()).toEqual([]);
  await pod.stop();
});

it('cancels every server that may be when the CRD is deleted, and lets the CRD go when the last object has', async () => {
  const pod = await startPod(cluster, QUICK);
  await applyServer('web');
  await applyServer('kept', { deletionProtection: true });
  await isReady('web', 'kept');
  await expect(kubectl('delete', 'crd', CRD, '--wait=false')).rejects.toThrow('deletes every VirtualServer');
  await kubectl('annotate', 'crd', CRD, 'vps-operator.dev/allow-deletion=true');
  await kubectl('delete', 'crd', CRD, '--wait=false');

  await kubectl('wait', 'vps/web', '-n', namespace, '--for=delete', '--timeout=40s');
  const reason = 'jsonpath={.status.conditions[?(@.type=="Stalled")].reason}';
  await kubectl('wait', 'vps/kept', '-n', namespace, `--for=${reason}=DeletionProtected`, '--timeout=40s');
  expect(alive()).toHaveLength(1);
  const patch = '{"spec":{"deletionPolicy":"Retain"}}';
  await kubectl('patch', 'vps', 'kept', '-n', namespace, '--type=merge', `--patch=${patch}`);
  await kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=40s');
  expect(alive()).toHaveLength(1);
  await pod.stop();
});

it('cancels nothing while no operator runs, and what was deleted meanwhile when one does', async () => {
  const pod = await startPod(cluster, QUICK);
  await applyServer('web');
  await isReady('web');
  await pod.stop();
  await kubectl('annotate', 'crd', CRD, 'vps-operator.dev/allow-deletion=true');
  await kubectl('delete', 'crd', CRD, '--wait=false');
  await expect.poll(async () => (await list())[0]?.metadata.deletionTimestamp).toBeDefined();
  expect(alive()).toHaveLength(1);
  await startPod(cluster, QUICK);
  await kubectl('wait', 'crd', CRD, '--for=delete', '--timeout=40s');
  expect(alive()).toEqual([]);
});
