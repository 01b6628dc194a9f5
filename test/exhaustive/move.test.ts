/**
 * Follows docs/how-to/move-to-another-cluster.md between two API servers with one provider. kubectl, the plugin and both
 * operators are killed at the first write of each kind to each object in each step: before the write arrives, or after it.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  ADOPT_ANNOTATION,
  API_VERSION,
  CATALOG_KIND,
  CATALOG_PLURAL,
  FINALIZER,
  SERVER_PLURAL,
} from '../../src/api/names.ts';
import { currentReason } from '../../src/api/conditions.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { loadCluster } from '../../src/kube/config.ts';
import { DEFAULT_KEY } from '../../src/simulator/index.ts';
import { knownRecord } from '../../src/virtual-server/decision/known-record.ts';
import { OPERATOR_NAMESPACE } from '../../tools/control-plane/operator-identity.ts';
import { HOST_KEY, OTHER_HOST_KEY } from '../fixtures/decision.ts';
import { virtualServer, withSpec } from '../fixtures/virtual-server.ts';
import { answerStatus, startProxy, type FaultProxy } from '../integration/kube/proxy.ts';
import { startGuardedCluster, type GuardedCluster } from '../integration/support/guarded-cluster.ts';
import { usePlugin } from '../integration/support/plugin.ts';
import { spawnOperator, type OperatorProcess } from '../integration/support/process.ts';
import { createSet } from '../integration/support/sets.ts';
import type { World } from '../integration/support/world.ts';

const ROOT = join(import.meta.dirname, '../..');
const page = await readFile(join(ROOT, 'docs/how-to/move-to-another-cluster.md'), 'utf8');
const folder = usePlugin();
const WHOLE_MS = 900_000;
const OTHER = 'team-b';
const LEASE = [`--operator-namespace=${OPERATOR_NAMESPACE}`, '--lease-duration=2s'];
/** What the page's commands and the operators write; the installation is not interrupted. */
const OURS = /\/(virtualservers|virtualserversets|servercatalogs|secrets)(\/|\?|$)|^\/api\/v1\/namespaces\/[^/]*(\?|$)/;
/** By then, a write has arrived (ms). */
const ARRIVED_MS = 40;

/** One step of the page. */
interface Step {
  heading: string;
  text: string;
}

const steps: Step[] = page.split(/^## /m).flatMap((part) => {
  const heading = part.split('\n')[0] ?? '';
  return [...part.matchAll(/^( *)```sh\n(.*?)^ *```$/gms)].map(([, indent = '', text = '']) => ({
    heading,
    text: text.replaceAll(RegExp(`^${indent}`, 'gm'), ''),
  }));
});

/** As the end of step 5 says. */
const ROLLBACK: Step = {
  heading: 'back',
  text: /You can still go back.*?```text\n(.*?)```/s.exec(page)?.[1] ?? 'false',
};

let step = 0;
let kills = 0;

/** In such a block, the old cluster fails to list the objects at first. */
const isGate = ({ text }: Step): boolean => text.includes('deletionPolicy=="Delete"');

/**
 * Kills the process that sends the first write of a kind in a step; every second write does not arrive. `sender` returns a
 * function that kills the sender of the current write, and no process that starts later.
 */
function interrupt(proxy: FaultProxy, sender: () => () => void): void {
  const seen = new Set<string>();
  proxy.intercept = ({ method = '', url = '' }, response) => {
    const write = `${step} ${method} ${url.split('?')[0]}`;
    if (method === 'GET' || !OURS.test(url) || seen.has(write)) return false;
    seen.add(write);
    kills += 1;
    const kill = sender();
    if (kills % 2 === 0) {
      setTimeout(kill, ARRIVED_MS);
      return false;
    }
    kill();
    response.destroy();
    return true;
  };
}

/** An operator that is started again whenever it was killed. */
async function keepRunning(world: World, operatorKubeconfigPath: string) {
  const proxy = await startProxy(loadCluster(operatorKubeconfigPath));
  onTestFinished(() => proxy.close());
  const kubeconfig = join(world.journalDir, 'proxied');
  await writeFile(kubeconfig, contextsOf({ operator: proxy }), { mode: 0o600 });
  let running: Promise<OperatorProcess> | undefined;
  let isWanted = false;
  interrupt(proxy, () => {
    const writing = running;
    return () => void writing?.then((operator) => operator.kill('SIGKILL'));
  });
  const run = async (flags: string[]): Promise<void> => {
    while (isWanted) {
      running = spawnOperator(world, [`--kubeconfig=${kubeconfig}`, ...flags]);
      const { exited } = await running;
      await exited;
    }
  };
  let done = Promise.resolve();
  const stop = async (): Promise<void> => {
    isWanted = false;
    await (await running)?.kill('SIGKILL');
    await done;
  };
  onTestFinished(stop);
  return {
    async start(...flags: string[]) {
      await stop();
      isWanted = true;
      done = run(flags);
    },
    stop,
  };
}

function contextsOf(proxies: Record<string, FaultProxy>): string {
  const entries = Object.entries(proxies);
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entries.map(([name, { cluster }]) => ({
      name,
      cluster: { server: cluster.server, 'insecure-skip-tls-verify': true },
    })),
    users: [{ name: 'anyone', user: {} }],
    contexts: entries.map(([name]) => ({ name, context: { cluster: name, user: 'anyone' } })),
    'current-context': entries[0]?.[0],
  });
}

/** A user at a shell, whose commands are killed at their writes; runs each block until it succeeds. */
async function personAt(clusters: Record<'old' | 'new', GuardedCluster>) {
  const home = await mkdtemp(join(tmpdir(), 'vps-operator-move-'));
  onTestFinished(() => rm(home, { recursive: true }));
  await symlink(join(ROOT, 'deploy'), join(home, 'deploy'));
  const proxies = {
    old: await startProxy(loadCluster(clusters.old.controlPlane.kubeconfigPath)),
    new: await startProxy(loadCluster(clusters.new.controlPlane.kubeconfigPath)),
  };
  onTestFinished(async () => {
    for (const proxy of Object.values(proxies)) await proxy.close();
  });
  const file = join(home, 'kubeconfig');
  await writeFile(file, contextsOf(proxies), { mode: 0o600 });
  const PATH = [
    folder(),
    dirname(clusters.old.controlPlane.kubectl),
    dirname(process.execPath),
    process.env.PATH ?? '',
  ];
  const env = { PATH: PATH.join(':'), HOME: home, KUBECONFIG: file, LANG: 'C.UTF-8' };
  let typed: { group: number; wasKilled: boolean; isOver: boolean } | undefined;
  for (const proxy of Object.values(proxies)) {
    interrupt(proxy, () => {
      const writing = typed;
      return () => {
        if (writing === undefined || writing.isOver) return;
        writing.wasKilled = true;
        try {
          process.kill(-writing.group, 'SIGKILL');
        } catch {
          // It has just ended.
        }
      };
    });
  }
  const intercepted = proxies.old.intercept;
  let isOldFailing = false;
  proxies.old.intercept = (request, response) => {
    const isFailed = isOldFailing && request.method === 'GET' && OURS.test(request.url ?? '');
    return isFailed ? answerStatus(response, 500) : intercepted?.(request, response) === true;
  };
  const once = (text: string): Promise<{ code: number | null; said: string; wasKilled: boolean }> =>
    new Promise((resolve) => {
      const child = spawn('sh', ['-euc', text], { cwd: home, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
      if (child.pid === undefined) throw new Error('sh does not start');
      const typing = { group: child.pid, wasKilled: false, isOver: false };
      typed = typing;
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
      child.once('close', (code) => {
        typing.isOver = true;
        resolve({ code, said, wasKilled: typing.wasKilled });
      });
    });
  const type = async ({ heading, text }: Step): Promise<void> => {
    for (;;) {
      const { code, said, wasKilled } = await once(text);
      if (code === 0) return;
      if (!wasKilled) throw new Error(`${heading}: exit code ${code}\n${text}\n${said}`);
    }
  };
  return {
    home,
    type,
    /** The block stops; nothing kills it, because it writes nothing. */
    async typeInVain({ heading, text }: Step, fault?: 'old fails'): Promise<string> {
      isOldFailing = fault !== undefined;
      const { code, said, wasKilled } = await once(text);
      isOldFailing = false;
      expect([heading, code === 0, wasKilled]).toEqual([heading, false, false]);
      return said;
    },
  };
}

it('moves every server, and nothing else happens to one', { timeout: WHOLE_MS }, async () => {
  const [before, after] = await Promise.all([startGuardedCluster('base'), startGuardedCluster('base')]);
  const clusters = { old: before, new: after };
  onTestFinished(async () => {
    await Promise.all([before.stop(), after.stop()]);
  });
  const old = await before.createWorld({ watch: 'all' });
  const { simulator, namespace } = old;
  const urls = [`--base-url=${simulator.baseUrl}`, `--auth-url=${simulator.authUrl}`];
  const fresh = await after.createWorld({ watch: 'all', flags: urls });
  await after.addComponent('components/observe-only');

  // Four servers and a set in one namespace, one server in another.
  await old.startOperator();
  await before.kubectl('create', 'namespace', OTHER);
  await old.putSecret('vps-api-key', DEFAULT_KEY, OTHER);
  await old.create(virtualServer('web', withSpec({ connectionSecretName: 'web' })));
  await old.create(virtualServer('guarded', withSpec({ deletionProtection: true })));
  await old.create(virtualServer('kept', withSpec({ deletionPolicy: 'Retain' })));
  await old.create(virtualServer('timed', withSpec({ expiresAt: '2100-01-01T00:00:00Z' })));
  const other = { ...virtualServer('web'), metadata: { name: 'web' } };
  const place = `/apis/${API_VERSION}/namespaces/${OTHER}/${SERVER_PLURAL}`;
  await old.http.call({ method: 'POST', path: place, body: other });
  const set = await createSet(old, { replicas: 2 });
  const data = { uid: 'MQ==', resourceVersion: 'Mg==', ownerReferences: 'Mw==', key: 'NA==' };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'odd' }, type: 'Opaque', data };
  await old.http.call({ method: 'POST', path: `/api/v1/namespaces/${namespace}/secrets`, body: secret });
  const catalog = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
  const catalogs = `/apis/${API_VERSION}/namespaces/${namespace}/${CATALOG_PLURAL}`;
  await old.http.call({ method: 'POST', path: catalogs, body: catalog });
  for (const name of ['web', 'guarded', 'kept', 'timed']) await old.waitForReason(name, 'Available', 'Ready');
  await set.waitForReason('Available');

  const listed = async (world: World): Promise<VirtualServer[]> => {
    const list = await world.http.call({ path: `/apis/${API_VERSION}/${SERVER_PLURAL}` });
    return (list as { items: VirtualServer[] }).items;
  };
  const held = (object: VirtualServer): string | undefined => knownRecord(object)?.identifier;
  const nameOf = ({ metadata }: VirtualServer): string => `${metadata.namespace}/${metadata.name}`;
  await old.until(async () => (await listed(old)).every((object) => held(object) !== undefined), 'all servers');
  const policies = new Map((await listed(old)).map((object) => [nameOf(object), object.spec]));
  const servers = new Map((await listed(old)).map((object) => [nameOf(object), held(object)]));
  const alive = simulator.aliveServers().map(({ identifier }) => identifier);
  const orders = simulator.ledger.creates().length;
  expect(servers.size).toBe(7);

  /** Never two objects with Delete that hold one server; nothing ordered, nothing cancelled. */
  const violations: string[] = [];
  const judge = async (): Promise<void> => {
    const objects = (await Promise.all([listed(old), listed(fresh)])).flat();
    const holders = objects.filter((object) => object.spec.deletionPolicy === 'Delete').map(held);
    for (const [index, server] of holders.entries())
      if (server !== undefined && holders.indexOf(server) !== index)
        violations.push(`step ${step}: two hold ${server}`);
    if (simulator.ledger.creates().length !== orders) violations.push(`step ${step}: a server was ordered`);
    for (const { identifier } of simulator.ledger.cancels())
      violations.push(`step ${step}: ${identifier} was cancelled`);
  };
  const end = { isOver: false };
  onTestFinished(async () => {
    end.isOver = true;
    await old.patch('guarded', { spec: { deletionProtection: false } }).catch(() => undefined);
  });
  const judging = (async () => {
    while (!end.isOver) {
      // A failed test ends the clusters.
      await judge().catch((error: unknown) => void (end.isOver ||= error instanceof Error));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();

  /** An object that was created in the old cluster too late, or was left out: the old cluster keeps all objects. */
  const newcomer = async (person: Awaited<ReturnType<typeof personAt>>, release: Step): Promise<void> => {
    const { identifier } = simulator.fleet.addServer('default', { identifier: 'late' });
    const metadata = { name: 'late', annotations: { [ADOPT_ANNOTATION]: identifier } };
    const late = { ...virtualServer('late', withSpec({ deletionPolicy: 'Retain' })), metadata };
    await old.create(late);
    await old.until(async () => currentReason((await old.get('late'))?.status?.conditions) === 'Available', 'adoption');
    expect(await person.typeInVain(release)).toContain(`late ${identifier}`);
    expect((await listed(old)).length).toBe(servers.size + 1);
    const path = `/apis/${API_VERSION}/namespaces/${namespace}/${SERVER_PLURAL}`;
    await fresh.http.call({ method: 'POST', path, body: late });
    await after.kubectl('wait', 'vps', '-n', namespace, 'late', '--for=condition=Ready', '--timeout=5m');
    for (const { metadata, spec } of await listed(old))
      if (metadata.name === 'late') policies.set(`${namespace}/late`, spec);
    servers.set(`${namespace}/late`, identifier);
    alive.push(identifier);
  };

  await old.stopOperator();
  const [leaving, arriving] = [
    await keepRunning(old, before.operatorKubeconfigPath),
    await keepRunning(fresh, after.operatorKubeconfigPath),
  ];
  await leaving.start();
  await arriving.start('--observe-only', ...LEASE);
  const person = await personAt(clusters);
  expect(steps.length).toBeGreaterThan(10);
  const created = steps.findIndex(isGate);
  for (const [index, one] of steps.entries()) {
    step = index + 1;
    if (isGate(one)) await person.typeInVain(one, 'old fails');
    if (one.text.includes('delete vps -A')) await newcomer(person, one);
    await person.type(one);
    expect([...new Set(violations)]).toEqual([]);
    if (one.text.includes('deploy/manifests/base')) await arriving.start();
    if (one.text.includes('=ObserveOnly')) {
      // You go back, and create the objects again.
      for (const back of [ROLLBACK, ...steps.slice(created, index + 1)]) await person.type(back);
      expect([...new Set(violations)]).toEqual([]);
    }
  }

  end.isOver = true;
  await judging;
  await judge();
  expect(violations).toEqual([]);
  expect(await listed(old)).toEqual([]);
  const moved = await listed(fresh);
  expect(moved.filter(({ metadata }) => metadata.finalizers?.includes(FINALIZER) !== true)).toEqual([]);
  expect(new Map(moved.map((object) => [nameOf(object), held(object)]))).toEqual(servers);
  for (const object of moved) {
    const { deletionPolicy, deletionProtection, expiresAt } = policies.get(nameOf(object)) ?? {};
    expect([nameOf(object), object.spec]).toEqual([
      nameOf(object),
      expect.objectContaining({ deletionPolicy, deletionProtection }),
    ]);
    expect(object.spec.expiresAt).toBe(expiresAt);
  }
  expect(simulator.aliveServers().map(({ identifier }) => identifier)).toEqual(alive);
  expect(
    await after.kubectl('get', 'vpsset', '-n', namespace, 'web', '-o', 'jsonpath={.status.availableReplicas}'),
  ).toBe('2');
  const copied = await fresh.http.call({ path: `/api/v1/namespaces/${namespace}/secrets/odd` });
  expect(copied).toMatchObject({ data });
  expect(await after.kubectl('get', 'vpscat', '-n', namespace, '-o', 'name')).toContain('catalog');
  // Host keys: a changed one stops the move, and so does one that the old cluster did not have.
  const [key, strange] = [HOST_KEY.fingerprint, OTHER_HOST_KEY.fingerprint];
  const judges = steps.flatMap(({ heading, text }) =>
    /KEY|host-keys-now/.test(text) ? [{ heading, text: text.slice(text.indexOf('awk')) }] : [],
  );
  const [stop, compare] = judges as [Step, Step];
  const write = (name: string, text: string): Promise<void> => writeFile(join(person.home, name), text);
  await write('found', 'a web srv1 <none> <none> <none>\n');
  await person.type(stop);
  await write('found', 'a web srv1 <none> <none> True\n');
  expect(await person.typeInVain(stop)).toContain('a web srv1');
  await write('host-keys', `a/web ${key} ${strange}\na/db\n`);
  await write('host-keys-now', `a/web ${key}\na/db ${strange}\na/new ${strange}\n`);
  await person.type(compare);
  await write('host-keys', `a/web ${key}\n`);
  await write('host-keys-now', `a/web ${key} ${strange}\n`);
  expect(await person.typeInVain(compare)).toBe(`a/web ${strange}\n`);
  // Each party was interrupted again and again.
  expect(kills).toBeGreaterThan(40);
});
