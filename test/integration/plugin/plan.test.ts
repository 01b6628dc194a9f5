/**
 * `kubectl vps plan` against a real API server with the guards and a running operator: what it says, that it changes nothing,
 * and that the apply then does what it said.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import {
  ADOPT_ANNOTATION,
  API_VERSION,
  GROUP,
  SERVER_KIND,
  SERVER_PLURAL,
  SET_KIND,
  USER_DATA_SECRET_TYPE,
} from '../../../src/api/names.ts';
import type { PlannedChange } from '../../../src/plugin/plan/plan-servers.ts';
import type { ApiName } from '../../../src/simulator/variants.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { ED25519, PRIVATE_KEYS, SECRET } from '../../fixtures/public-keys.ts';
import { putCatalog } from '../support/catalog.ts';
import { useGuards } from '../support/guarded-objects.ts';
import { succeed } from '../support/guards.ts';
import { createPlugin, usePlugin, type Plugin, type Result } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { accountIn, grant } from '../support/service-account.ts';
import { createSet } from '../support/sets.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
const { guarded } = useGuards();

async function guardedWorld(api: ApiName = 'documented'): Promise<{ world: World; plugin: Plugin }> {
  const { kubeconfigPath, operatorKubeconfigPath } = guarded;
  // A plan looks at all namespaces, and two worlds with the same identifier would seem to hold one server.
  const newIdentifier = (): string => `vs${randomUUID().slice(0, 8)}`;
  const world = await createWorld({ kubeconfigPath, operatorKubeconfigPath, simulator: { newIdentifier, api } });
  return { world, plugin: await createPlugin(folder(), world.namespace, kubeconfigPath) };
}

/** A folder with these files; values become YAML documents. */
async function folderOf(files: Record<string, readonly object[] | string>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'vps-operator-plan-'));
  onTestFinished(() => rm(path, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(path, name, '..'), { recursive: true });
    const text = typeof content === 'string' ? content : content.map((one) => stringify(one)).join('---\n');
    await writeFile(join(path, name), text);
  }
  return path;
}

interface Planned {
  summary: Record<string, number>;
  prices: Record<string, { before: object; after: object }>;
  changes: PlannedChange[];
  notes: string[];
}

async function planned(plugin: Plugin, ...words: string[]): Promise<Result & { plan: Planned }> {
  const result = await plugin.kubectl(['vps', 'plan', '-o', 'json', ...words]);
  expect(result.stdout, result.stderr).not.toBe('');
  return { ...result, plan: JSON.parse(result.stdout) as Planned };
}

/** Everything that a plan must not change. */
async function stateOf(world: World): Promise<string> {
  const path = `/apis/${API_VERSION}/namespaces/${world.namespace}`;
  const lists = await Promise.all(
    ['virtualservers', 'virtualserversets', 'servercatalogs'].map((plural) =>
      world.http.call({ path: `${path}/${plural}` }),
    ),
  );
  const objects = lists.flatMap(
    (list) => (list as { items: { metadata: { name: string; resourceVersion: string } }[] }).items,
  );
  const versions = objects.map(({ metadata }) => [metadata.name, metadata.resourceVersion]);
  const { ledger } = world.simulator;
  return JSON.stringify([versions, ledger.creates().length, ledger.cancels().length]);
}

const verbs = ({ changes }: Planned): Record<string, string> =>
  Object.fromEntries(changes.map(({ name, verb }) => [name, verb]));
const detailOf = ({ changes }: Planned, name: string): string => changes.find((one) => one.name === name)?.detail ?? '';
const labelled = (manifest: ReturnType<typeof virtualServer>) => ({
  ...manifest,
  metadata: { ...manifest.metadata, labels: { set: 'a' } },
});

it('shows what each manifest would do, changes nothing, and exits as documented', async () => {
  const { world, plugin } = await guardedWorld();
  await putCatalog(world);
  const apply = (...objects: object[]): Promise<string> =>
    succeed(guarded.admin, ['apply', '--filename=-', '--namespace', world.namespace], {
      apiVersion: 'v1',
      kind: 'List',
      items: objects,
    });
  const guardedServer = labelled(virtualServer('guarded', withSpec({ deletionProtection: true })));
  const left = labelled(virtualServer('left', withSpec({ deletionPolicy: 'Retain' })));
  await apply(virtualServer('web'), labelled(virtualServer('old')), guardedServer, left);
  for (const name of ['web', 'old', 'guarded', 'left']) await world.waitForReason(name, 'Available', 'Ready');
  const { identifier } = world.simulator.fleet.addServer('default');
  for (const name of ['web', 'old', 'guarded', 'left']) await world.visited(name);
  const path = await folderOf({
    'servers.yaml': [
      virtualServer('web', withSpec({ sshCheck: 'Proxy' })),
      virtualServer('new'),
      virtualServer('large', withSpec({ diskSize: 20480 })),
      virtualServer('adopted', withAnnotations({ [ADOPT_ANNOTATION]: identifier })),
    ].map(labelled),
    'deeper/more.json': JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [{ apiVersion: 'v1', kind: 'Service', metadata: { labels: { set: 'a' } } }],
    }),
  });
  const before = await stateOf(world);
  const prune = ['--prune', '-l', 'set=a'];
  const { plan, code, stderr } = await planned(plugin, '-f', path, '-R', ...prune);
  expect(verbs(plan)).toEqual({
    ...{ web: 'change', new: 'order', large: 'order', adopted: 'adopt' },
    ...{ old: 'cancel', guarded: 'refuse', left: 'release' },
  });
  expect(detailOf(plan, 'web')).toContain('spec.sshCheck (None → Proxy)');
  expect(detailOf(plan, 'adopted')).toContain(`adopts server ${identifier}`);
  expect(detailOf(plan, 'guarded')).toContain('spec.deletionProtection is true');
  expect(detailOf(plan, 'left')).toContain('keeps running');
  expect(plan.notes).toContain('not examined: 1 Service');
  expect(plan.prices[world.namespace]).toEqual({
    before: { price: 4072, unknown: 0 },
    // One order more, one adoption more, one cancellation. The other order has a disk that no server has.
    after: { price: 5090, unknown: 1 },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('1 of 7 objects would be refused');
  expect(await stateOf(world)).toBe(before);

  const detailed = async (...words: string[]): Promise<number> =>
    (await plugin.kubectl(['vps', 'plan', '--detailed-exitcode', ...words])).code;
  expect(await detailed('-f', join(path, 'servers.yaml'))).toBe(2);
  expect((await plugin.kubectl(['vps', 'plan', '-f', join(path, 'servers.yaml')])).code).toBe(0);
  const same = await folderOf({ 'web.yaml': [virtualServer('web')] });
  expect(await detailed('-f', same)).toBe(0);
  for (const words of [['-f', join(path, 'none.yaml')], ['--nonsense'], []]) expect(await detailed(...words)).toBe(1);
  expect(await stateOf(world)).toBe(before);
  await world.patch('guarded', { spec: { deletionProtection: false } });
});

describe('a selector', () => {
  const TEAM = { team: 'a' };
  /** What a plan says of an object that `kubectl apply` reports so. */
  const VERBS: Record<string, readonly string[]> = {
    created: ['order', 'refuse'],
    configured: ['change'],
    unchanged: ['none'],
    pruned: ['cancel', 'delete', 'release'],
  };

  it('leaves out what kubectl apply leaves out, and dooms what it prunes', async () => {
    const { world, plugin } = await guardedWorld();
    const [visited, unvisited] = ['b', 'c'].map((letter) => `${world.namespace}-${letter}`) as [string, string];
    for (const name of [visited, unvisited]) await succeed(guarded.admin, ['create', 'namespace', name]);
    const within = (name: string, labels = {}, namespace = world.namespace) => {
      const manifest = virtualServer(name);
      return { ...manifest, metadata: { ...manifest.metadata, namespace, labels } };
    };
    const configMap = (namespace: string, labels = {}) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace, labels },
    });
    const kubectl = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await plugin.kubectl(words);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    const marked = within('marked', TEAM);
    const last = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    const before = await folderOf({
      'applied.yaml': [
        ...[within('old', TEAM), within('same', TEAM)],
        ...[within('beside', TEAM, visited), within('far', TEAM, unvisited)],
      ],
      'created.yaml': [within('made', TEAM), { ...marked, metadata: { ...marked.metadata, annotations: last } }],
    });
    onTestFinished(async () => {
      await succeed(guarded.admin, ['delete', 'namespace', visited, unvisited, '--wait=false']);
    });
    await kubectl('apply', '-f', join(before, 'applied.yaml'));
    await kubectl('create', '-f', join(before, 'created.yaml'));
    await world.waitForReason('old', 'Available', 'Ready');
    await world.visited('old');
    const path = await folderOf({
      'all.yaml': [
        within('old'),
        within('same', TEAM),
        within('lab1', TEAM),
        within('lab2'),
        configMap(visited, TEAM),
        configMap(unvisited),
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: unvisited, labels: TEAM } },
      ],
    });
    const by = async (...flags: string[]) => {
      const allowed = flags.includes('--prune') ? [`--prune-allowlist=${API_VERSION}/${SERVER_KIND}`] : [];
      const said = await kubectl('apply', '-f', path, ...flags, ...allowed, '--dry-run=server');
      const lines = [...said.matchAll(/^virtualserver\S*\/(\S+) (\w+)/gm)];
      const applied = Object.fromEntries(lines.map(([, name = '', verb = '']) => [name, verb]));
      const { plan } = await planned(plugin, '-f', path, ...flags);
      const shown = verbs(plan);
      const likened = Object.entries(shown).map(([name, verb]) => {
        const [likely] = Object.entries(VERBS).find(([, all]) => all.includes(verb)) ?? [verb];
        return [name, likely];
      });
      return { applied, plan, likened: Object.fromEntries(likened) as Record<string, string> };
    };
    const left = 'left out by --selector team=a, as by kubectl apply: 2 VirtualServer, 1 ConfigMap';

    const applies = { same: 'unchanged', lab1: 'created' };
    const selected = await by('-l', 'team=a');
    expect(selected.applied).toEqual(applies);
    expect(selected.likened).toEqual(applies);
    expect(selected.plan.notes).toContain(left);

    const prunes = { ...applies, old: 'pruned', marked: 'pruned', beside: 'pruned' };
    const pruned = await by('--prune', '-l', 'team=a');
    expect(pruned.applied).toEqual(prunes);
    expect(pruned.likened).toEqual(prunes);
    expect(verbs(pruned.plan).old).toBe('cancel');
    expect(pruned.plan.notes).toContain(left);

    const nothing = ['-f', path, '--prune', '-l', 'team=z'];
    expect((await plugin.kubectl(['apply', ...nothing, '--dry-run=server'])).stderr).toContain('no objects passed');
    const { code, stderr } = await plugin.kubectl(['vps', 'plan', ...nothing]);
    expect(code).toBe(2);
    expect(stderr).toContain('--selector team=z leaves out all manifests (4 VirtualServer, 2 ConfigMap, 1 Namespace)');
  });
});

it('plans the servers of a namespace that the same manifests create', async () => {
  const { world, plugin } = await guardedWorld();
  const namespace = `${world.namespace}-new`;
  const within = (name: string) => {
    const manifest = virtualServer(name);
    return { ...manifest, metadata: { ...manifest.metadata, namespace } };
  };
  const created = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  const set = {
    ...within('set'),
    kind: SET_KIND,
    spec: { replicas: 2, template: { spec: virtualServer('web').spec } },
  };
  const wrong = { ...within('wrong'), spec: { ...virtualServer('web').spec, diskSize: 0 } };
  const path = await folderOf({ 'all.yaml': [created, within('web'), set] });
  const { plan, code } = await planned(plugin, '-f', path);
  expect([code, verbs(plan)]).toEqual([0, { web: 'order', set: 'order' }]);
  expect(plan.changes.map(({ ordered }) => ordered.length)).toEqual([1, 2]);
  expect(plan.notes).toContain(
    `namespace ${namespace} does not exist yet, so the API server has not checked its objects`,
  );
  const refused = await planned(plugin, '-f', await folderOf({ 'all.yaml': [created, wrong] }));
  expect([refused.code, detailOf(refused.plan, 'wrong')]).toEqual([1, expect.stringContaining('spec.diskSize')]);
  const without = await planned(plugin, '-f', await folderOf({ 'web.yaml': [within('web')] }));
  expect([without.code, detailOf(without.plan, 'web')]).toEqual([1, `namespaces "${namespace}" not found`]);
});

it('predicts the cancellation for a ttl in the past, which the guards warn about, and no order without the Secret', async () => {
  const { world, plugin } = await guardedWorld();
  await putCatalog(world);
  await readyServer(world, 'web');
  const path = await folderOf({
    'web.yaml': [virtualServer('web', withSpec({ ttl: '1s' }))],
    'lost.yaml': [virtualServer('lost', withSpec({ apiKeySecretRef: { name: 'none' } }))],
  });
  await world.until(
    async () => verbs((await planned(plugin, '-f', join(path, 'web.yaml'))).plan)['web'] === 'cancel',
    'the server to be older than its ttl',
  );
  const over = await planned(plugin, '-f', join(path, 'web.yaml'));
  expect([verbs(over.plan), over.plan.summary]).toEqual([{ web: 'cancel' }, expect.objectContaining({ cancel: 1 })]);
  expect(detailOf(over.plan, 'web')).toContain('because its time has passed');
  const lost = await planned(plugin, '-f', join(path, 'lost.yaml'));
  expect([lost.code, verbs(lost.plan)]).toEqual([1, { lost: 'refuse' }]);
  expect(detailOf(lost.plan, 'lost')).toContain(`SecretNotFound: Secret ${world.namespace}/none`);
  // The same manifests bring the Secret.
  const sealed = { apiVersion: 'bitnami.com/v1alpha1', kind: 'SealedSecret', metadata: { name: 'none' } };
  const both = await folderOf({
    'all.yaml': [virtualServer('lost', withSpec({ apiKeySecretRef: { name: 'none' } })), sealed],
  });
  expect(verbs((await planned(plugin, '-f', both)).plan)).toEqual({ lost: 'order' });
  const applied = await plugin.shell(`kubectl apply -f ${join(path, 'web.yaml')}`);
  expect(applied).toMatchObject({ code: 0, stderr: expect.stringContaining('ttl has passed') as string });
  await world.waitForReason('web', 'Expired');
  expect(world.simulator.ledger.cancels()).toHaveLength(1);
});

it('orders, adopts and cancels what it said', async () => {
  const { world, plugin } = await guardedWorld();
  const { identifier } = world.simulator.fleet.addServer('default');
  const adopting = withAnnotations({ [ADOPT_ANNOTATION]: identifier });
  const path = await folderOf({ 'all.yaml': [virtualServer('new'), virtualServer('adopted', adopting)] });
  const { plan } = await planned(plugin, '-f', path);
  expect(verbs(plan)).toEqual({ new: 'order', adopted: 'adopt' });
  await succeed(guarded.admin, ['apply', '-f', path, '--namespace', world.namespace]);
  for (const name of ['new', 'adopted']) await world.waitForReason(name, 'Available', 'Ready');
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect((await world.get('adopted'))?.status?.identifier).toBe(identifier);
  expect(verbs((await planned(plugin, '-f', path)).plan)).toEqual({ new: 'none', adopted: 'none' });
});

it('counts an adopted server in the sum of the namespace, as the sum after the apply', async () => {
  const { world, plugin } = await guardedWorld();
  await readyServer(world, 'web');
  const { identifier } = world.simulator.fleet.addServer('default');
  const adopting = withAnnotations({ [ADOPT_ANNOTATION]: identifier });
  const path = await folderOf({ 'import.yaml': [virtualServer('adopted', adopting)] });
  const shown = await plugin.kubectl(['vps', 'plan', '-f', path]);
  expect([shown.code, shown.stdout]).toEqual([
    0,
    expect.stringMatching(/^adopt +VirtualServer \S+ +\+1018\.00 +adopts/m),
  ]);
  const { plan } = await planned(plugin, '-f', path);
  await succeed(guarded.admin, ['apply', '-f', path, '--namespace', world.namespace]);
  await world.waitForReason('adopted', 'Available', 'Ready');
  const costs = JSON.parse((await plugin.kubectl(['vps', 'cost', '-o', 'json'])).stdout) as { all: { price: number } };
  expect(plan.prices[world.namespace]?.after).toEqual({ price: costs.all.price, unknown: 0 });
  expect(world.simulator.ledger.creates()).toHaveLength(1);
});

it('says that a server stops before its power is switched off', async () => {
  const { world, plugin } = await guardedWorld('public');
  await putCatalog(world);
  await readyServer(world, 'web');
  await readyServer(world, 'same');
  const path = await folderOf({
    // Unquoted in YAML, Off is false.
    'web.json': JSON.stringify(virtualServer('web', withSpec({ power: 'Off' }))),
    'new.yaml': [virtualServer('new', withSpec({ power: 'Dormant' }))],
    'same.yaml': [virtualServer('same')],
  });
  const before = await stateOf(world);
  const { plan, code } = await planned(plugin, '-f', path);
  expect([code, verbs(plan)]).toEqual([0, { web: 'change', new: 'order', same: 'none' }]);
  expect(detailOf(plan, 'web')).toMatch(/^spec.power \(unset → Off\): stops server \w+: asks its system to shut down/);
  expect(detailOf(plan, 'new')).toContain('; then makes the server dormant: switches it off by force');
  expect(await stateOf(world)).toBe(before);
  const detailed = ['vps', 'plan', '--detailed-exitcode', '-f', join(path, 'web.json')];
  const shown = await plugin.kubectl(detailed);
  expect([shown.code, shown.stdout]).toEqual([2, expect.stringContaining('and never uses force; it costs as much')]);
  await succeed(guarded.admin, ['apply', '-f', join(path, 'web.json'), '--namespace', world.namespace]);
  await world.waitForReason('web', 'PoweredOff', 'Ready');
  expect((await plugin.kubectl(detailed)).code).toBe(0);
});

it('reads the SSH keys in Secrets as the operator does, and shows none of them', async () => {
  const { world, plugin } = await guardedWorld();
  const pasted = PRIVATE_KEYS.OpenSSH ?? '';
  const stringData = { good: ED25519, cut: ED25519.slice(0, 60), private: pasted };
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys' }, stringData };
  await world.http.call({ method: 'POST', path: `/api/v1/namespaces/${world.namespace}/secrets`, body });
  const of = (key: string) =>
    virtualServer(key, withSpec({ sshKeys: undefined, sshKeysFrom: [{ name: 'keys', key }] }));
  const path = await folderOf({ 'all.yaml': ['good', 'cut', 'private', 'none'].map(of) });
  const { plan, stdout } = await planned(plugin, '-f', path);
  expect(verbs(plan)).toEqual({ good: 'order', cut: 'refuse', private: 'refuse', none: 'refuse' });
  expect(detailOf(plan, 'cut')).toContain('key "cut": line 1 is cut off');
  expect(detailOf(plan, 'private')).toContain('key "private": it contains a private key');
  expect(detailOf(plan, 'none')).toContain('has no key "none"');
  for (const text of [SECRET, ED25519.split(' ')[1]?.slice(0, 40) ?? '']) expect(stdout).not.toContain(text);
});

it('checks the user data in Secrets and ConfigMaps as the operator does, and shows none of it', async () => {
  const { world, plugin } = await guardedWorld();
  const hidden = '#cloud-config\nruncmd: [hidden]';
  const put = (plural: string, body: object): Promise<unknown> =>
    world.http.call({ method: 'POST', path: `/api/v1/namespaces/${world.namespace}/${plural}`, body });
  const stringData = { good: hidden, marked: `\ufeff${hidden}` };
  await put('secrets', { metadata: { name: 'setup' }, type: USER_DATA_SECRET_TYPE, stringData });
  await put('secrets', { metadata: { name: 'other' }, stringData });
  await put('configmaps', { metadata: { name: 'setup' }, data: { good: hidden } });
  const secret = (name: string, key: string) => ({ secretKeyRef: { name, key } });
  const map = (name: string, key: string) => ({ configMapKeyRef: { name, key } });
  const sources = {
    'secret-good': secret('setup', 'good'),
    'secret-absent': secret('none', 'good'),
    'secret-type': secret('other', 'good'),
    'secret-key': secret('setup', 'none'),
    'secret-bom': secret('setup', 'marked'),
    'map-good': map('setup', 'good'),
    'map-absent': map('none', 'good'),
    'map-key': map('setup', 'none'),
  };
  const manifests = Object.entries(sources).map(([name, userDataFrom]) =>
    virtualServer(name, withSpec({ userDataFrom })),
  );
  const path = await folderOf({ 'all.yaml': manifests });
  const { plan, code, stdout } = await planned(plugin, '-f', path);
  const told = Object.keys(sources).map((name) => [name, verbs(plan)[name], detailOf(plan, name)]);
  const at = (kind: string, name: string): string => `${kind} ${world.namespace}/${name}, named in spec.userDataFrom,`;
  const lacks = (kind: string, name: string, words: string) => `UserDataNotFound: ${at(kind, name)} ${words}`;
  const type = `InvalidSpec: ${at('Secret', 'other')} is of the type "Opaque", and the operator sends only Secrets of the type`;
  expect(told).toEqual([
    ['secret-good', 'order', expect.any(String)],
    ['secret-absent', 'refuse', lacks('Secret', 'none', 'does not exist')],
    ['secret-type', 'refuse', `${type} ${USER_DATA_SECRET_TYPE}`],
    ['secret-key', 'refuse', lacks('Secret', 'setup', 'has no key "none"')],
    ['secret-bom', 'refuse', expect.stringContaining('key "marked" begins with a byte order mark')],
    ['map-good', 'order', expect.any(String)],
    ['map-absent', 'refuse', lacks('ConfigMap', 'none', 'does not exist')],
    ['map-key', 'refuse', lacks('ConfigMap', 'setup', 'has no key "none"')],
  ]);
  expect(code).toBe(1);
  expect(stdout).not.toContain('hidden');
  const provided = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'none' }, data: { good: hidden } };
  const both = await folderOf({
    'all.yaml': [...manifests.filter(({ metadata }) => metadata.name === 'map-absent'), provided],
  });
  expect(verbs((await planned(plugin, '-f', both)).plan)).toEqual({ 'map-absent': 'order' });

  const kubeconfig = await accountIn(world, 'reviewer', guarded.kubeconfigPath);
  const verbsOnServers = ['get', 'list', 'create', 'patch'];
  await grant(
    world,
    'reviewer',
    verbsOnServers.map((verb) => ({ verb, resource: SERVER_PLURAL, group: GROUP })),
  );
  const reviewer = await planned(await createPlugin(folder(), world.namespace, kubeconfig), '-f', path);
  expect([reviewer.code, new Set(Object.values(verbs(reviewer.plan)))]).toEqual([0, new Set(['order'])]);
  expect(reviewer.plan.notes.filter((note) => note.includes('you may not read them'))).toEqual([
    expect.stringContaining('whether the Secrets exist'),
    expect.stringContaining('whether the ConfigMaps exist'),
  ]);

  for (const name of ['secret-type', 'secret-key'])
    await world.create(virtualServer(name, withSpec({ userDataFrom: sources[name as 'secret-key'] })));
  await world.waitForReason('secret-type', 'InvalidSpec', 'Stalled');
  await world.waitForReason('secret-key', 'UserDataNotFound', 'Stalled');
  const again = virtualServer('secret-key', withSpec({ userDataFrom: sources['secret-key'] }));
  const unchanged = await planned(plugin, '-f', await folderOf({ 'all.yaml': [again] }));
  expect([unchanged.code, verbs(unchanged.plan), detailOf(unchanged.plan, 'secret-key')]).toEqual([
    0,
    { 'secret-key': 'none' },
    'still waits: UserDataNotFound',
  ]);
});

it('refuses what the API server or the operator would refuse, with the field', async () => {
  const { world, plugin } = await guardedWorld();
  await putCatalog(world);
  const web = await readyServer(world, 'web');
  const taken = { [ADOPT_ANNOTATION]: web.status?.identifier ?? '' };
  const path = await folderOf({
    'a.yaml': [
      virtualServer('taken', withAnnotations(taken)),
      virtualServer('web', withSpec({ product: 'VPSX8' })),
      virtualServer('small', withSpec({ diskSize: 7680 })),
      virtualServer('typo', withSpec({ prodct: 'VPSX4' })),
      virtualServer('keyless', withSpec({ sshKeys: [] })),
      virtualServer('unit', withSpec({ diskSize: '10GB' as unknown as number })),
      virtualServer('wrong', withAnnotations({ 'vps-operator.dev/adoptt': 'x' })),
    ],
  });
  const { plan, code } = await planned(plugin, '-f', path);
  expect(new Set(Object.values(verbs(plan)))).toEqual(new Set(['refuse']));
  const mistyped = await folderOf({ 'a.yaml': [virtualServer('web', withSpec({ prodct: 'VPSX4' }))] });
  expect(detailOf((await planned(plugin, '-f', mistyped)).plan, 'web')).toContain('unknown field "spec.prodct"');
  expect(detailOf(plan, 'web')).toMatch(
    /cannot be changed after the server was ordered.*kubectl vps replace web -f FILE/,
  );
  expect(detailOf(plan, 'small')).toContain(
    'InvalidSpec: spec.diskSize 7680 is not offered; nearest valid values: 5120, 10240',
  );
  expect(detailOf(plan, 'taken')).toContain(`IdentifierInUse: ${world.namespace}/web holds server`);
  expect(detailOf(plan, 'typo')).toContain('unknown field "spec.prodct"');
  expect(detailOf(plan, 'keyless')).toContain('set at least one SSH key');
  expect(detailOf(plan, 'unit')).toMatch(
    /spec\.diskSize: must be of type integer, and is of type string; the other rules are checked once this is correct\]$/,
  );
  expect(detailOf(plan, 'wrong')).toContain('does not know the annotation vps-operator.dev/adoptt');
  expect(code).toBe(1);
});

it('refuses a change in place to a value that is not offered, as it refuses an order', async () => {
  const { world, plugin } = await guardedWorld();
  await putCatalog(world);
  const online = withSpec({ changePolicy: 'Online' });
  await readyServer(world, 'web', online);
  const large = withSpec({ diskSize: 30_000 });
  const path = await folderOf({ 'a.yaml': [virtualServer('web', online, large), virtualServer('new', large)] });
  const before = await stateOf(world);
  const { plan, code } = await planned(plugin, '-f', path);
  const says = 'spec.diskSize 30000 is not offered; nearest valid values: 20480, 40960, 10240';
  expect([code, verbs(plan)]).toEqual([1, { web: 'refuse', new: 'refuse' }]);
  expect([detailOf(plan, 'web'), detailOf(plan, 'new')]).toEqual([
    `spec.diskSize (10240 → 30000): ChangeRefused: ${says}`,
    // A disk can only get larger.
    `InvalidSpec: ${says}, 5120`,
  ]);
  expect(await stateOf(world)).toBe(before);
});

it('names a replacement only where fields are locked, and not where a new server would be refused too', async () => {
  const { world, plugin } = await guardedWorld();
  await putCatalog(world);
  const online = withSpec({ changePolicy: 'Online' });
  await readyServer(world, 'web', online);
  const planOf = async (spec: Record<string, unknown>, annotations: Record<string, string> = {}): Promise<string> => {
    const manifest = virtualServer('web', online, withSpec(spec), withAnnotations(annotations));
    const path = await folderOf({ 'web.yaml': [manifest] });
    const { plan, code } = await planned(plugin, '-f', path);
    expect([code, verbs(plan)]).toEqual([1, { web: 'refuse' }]);
    return detailOf(plan, 'web');
  };
  const wrong = await planOf({ advanced: { cpuMode: 'compatibility' } });
  expect(wrong).toContain('Unsupported value: "compatibility": supported values: "Performance", "Compatibility"');
  const keyless = await planOf({ sshKeys: [] });
  expect(keyless).toContain('set at least one SSH key');
  const typo = await planOf({}, { 'vps-operator.dev/adoptt': 'x' });
  expect(typo).toContain('does not know the annotation vps-operator.dev/adoptt');
  const none = await planOf({ image: 'none' });
  expect(none).toMatch(
    /cannot be changed after .*; an order of a new server would be refused too: InvalidSpec: spec\.image/,
  );
  for (const detail of [wrong, keyless, typo, none]) expect(detail).not.toContain('kubectl vps replace');
  for (const spec of [{ advanced: { cpuMode: 'Compatibility' } }, { image: 'cloudinit-ubuntu-noble.raw.gz' }])
    expect(await planOf(spec)).toMatch(
      /cannot be changed after .*; to order a new server instead: kubectl vps replace web -f FILE$/,
    );
});

it('refuses a kind or a version that our group does not have, instead of looking away', async () => {
  const { world, plugin } = await guardedWorld();
  const [typo, old, other] = ['typo', 'old', 'other'].map((name) => virtualServer(name));
  const path = await folderOf({
    'a.yaml': [
      { ...typo, kind: 'VirtualSever' },
      { ...old, apiVersion: 'vps-operator.dev/v1' },
      // Another project has this kind too.
      { ...other, apiVersion: 'k8s.nginx.org/v1' },
    ],
  });
  const { plan, code } = await planned(plugin, '-f', path);
  expect(verbs(plan)).toEqual({ typo: 'refuse', old: 'refuse' });
  expect(plan.changes.map(({ namespace }) => namespace)).toEqual([world.namespace, world.namespace]);
  expect(detailOf(plan, 'typo')).toBe(
    'no kind "VirtualSever" in vps-operator.dev/v1alpha1: did you mean VirtualServer?',
  );
  expect(detailOf(plan, 'old')).toBe('no version "vps-operator.dev/v1": use vps-operator.dev/v1alpha1');
  expect(plan.notes).toContain('not examined: 1 VirtualServer');
  expect(code).toBe(1);
});

it('plays the rollout and the scaling of a set, as the set then does them', async () => {
  const { world, plugin } = await guardedWorld();
  const set = await createSet(world, { replicas: 3 });
  await set.waitForReason('Available');
  const manifest = (spec: object, template: object = {}) => ({
    apiVersion: API_VERSION,
    kind: SET_KIND,
    metadata: { name: 'web' },
    spec: { template: { spec: { ...virtualServer('x').spec, ...template } }, ...spec },
  });
  const planOf = async (...manifests: object[]): Promise<Planned> =>
    (await planned(plugin, '-f', await folderOf({ 'set.yaml': manifests }))).plan;

  const rolled = await planOf(manifest({ replicas: 3 }, { product: 'VPSX8' }));
  const [change] = rolled.changes;
  expect(change).toMatchObject({ verb: 'replace', name: 'web' });
  expect(change?.ordered).toHaveLength(3);
  expect(change?.cancelled.map(({ name }) => name).sort()).toEqual(['web-0', 'web-1', 'web-2']);
  expect(change?.detail).toContain('at most 4 servers at once');
  expect(rolled.prices[world.namespace]).toEqual({
    before: { price: 3054, unknown: 0 },
    after: { price: 0, unknown: 3 },
  });

  const retained = (await planOf(manifest({ replicas: 1 }, { deletionPolicy: 'Retain' }))).changes[0];
  expect(retained).toMatchObject({ verb: 'change', ordered: [], cancelled: [] });
  const scaled = await planOf(manifest({ replicas: 1 }));
  expect(scaled.changes[0]).toMatchObject({ verb: 'cancel', ordered: [] });
  const victims = scaled.changes[0]?.cancelled.map(({ name }) => name) ?? [];
  expect(victims).toHaveLength(2);
  await set.patch({ spec: { replicas: 1 } });
  for (const name of victims) await world.waitGone(name);
  await set.waitForReason('Available');
  expect(world.simulator.aliveServers()).toHaveLength(1);

  const creates = world.simulator.ledger.creates().length;
  const again = (await planOf(manifest({ replicas: 2 }, { product: 'VPSX8' }))).changes[0];
  await set.patch({ spec: { replicas: 2, template: { spec: { product: 'VPSX8' } } } });
  await set.waitForReason('Available');
  expect(world.simulator.ledger.creates().length - creates).toBe(again?.ordered.length);
  expect(await planOf(manifest({ replicas: 2 }, { product: 'VPSX8' }))).toMatchObject({
    changes: [{ verb: 'none' }],
  });
});

it('shows text and Markdown that no name or message can steer', async () => {
  const { world, plugin } = await guardedWorld();
  await readyServer(world, 'web');
  const evil = 'x`|<img src=x>@team\u001b[31m';
  const path = await folderOf({
    'a.yaml': [
      virtualServer('web', (object) => ({ ...object, metadata: { ...object.metadata, labels: { note: evil } } })),
      virtualServer('new', withSpec({ diskSize: 10240 })),
    ],
  });
  const text = await plugin.kubectl(['vps', 'plan', '-f', path]);
  expect(text.stdout).not.toContain('\u001b');
  expect(text.stdout).toMatch(/^order +VirtualServer \S+\/new +\+1018\.00 +orders VPSX4, disk 10240; not checked/m);
  expect(text.stdout).toContain(`price in ${world.namespace}: 1018.00 before, 2036.00 after, in the provider's unit`);
  const markdown = await plugin.kubectl(['vps', 'plan', '-f', path, '-o', 'markdown']);
  expect(markdown.stdout).toMatch(/^### Plan: 1 to order, 1 refused; 1 server ordered and 0 cancelled\n/);
  expect(markdown.stdout).not.toContain('\u001b');
  const row = markdown.stdout.split('\n').find((line) => line.includes('/web`')) ?? '';
  expect(row.split('|')).toHaveLength(6);
  expect(row.replaceAll(/`[^`]*`/g, '')).not.toMatch(/[<@]/);
});
