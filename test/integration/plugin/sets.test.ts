/** `kubectl vps status`, `wait`, `new` and completion for sets. The test runs the reconciler of sets step by step. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SET_KIND } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { quoted } from '../../../src/base/text.ts';
import { complete } from '../../../src/plugin/program/complete.ts';
import { createProgram } from '../../../src/plugin/program/program.ts';
import { collectionOf, pathOf } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { VIRTUAL_SERVER_SETS } from '../../../src/virtual-server-set/resource.ts';
import { SSH_KEY } from '../../fixtures/virtual-server.ts';
import { create, manifest } from '../kube/support.ts';
import { createPlugin, usePlugin, type Plugin } from '../support/plugin.ts';
import { createSetWorld, useSets, type SetWorld } from '../support/set-world.ts';

const folder = usePlugin();
const cluster = useSets();

async function worldOf(spec: object): Promise<{ world: SetWorld; plugin: Plugin }> {
  const world = await createSetWorld(cluster(), spec);
  const plugin = await createPlugin(folder(), world.namespace, cluster().kubeconfigPath);
  return { world, plugin };
}

/** Runs a command until its output so far matches; it may still run. */
async function until(plugin: Plugin, file: string, pattern: RegExp): Promise<void> {
  await expect.poll(async () => (await plugin.shell(`cat ${file}`)).stdout).toMatch(pattern);
}

describe('the commands that change the template', () => {
  it('claim nothing for a set that is paused or being deleted', async () => {
    const { world, plugin } = await worldOf({ replicas: 0, paused: true });
    const vps = async (...words: string[]): Promise<[number, string]> => {
      const { code, stdout, stderr } = await plugin.kubectl(['vps', ...words]);
      return [code, code === 0 ? stdout : stderr];
    };
    const later = [0, expect.stringMatching(/ once the set is resumed\n$/)];
    expect(await vps('stop', 'set/web')).toEqual(later);
    expect(await vps('protect', 'set/web')).toEqual(later);
    await world.patch('web', { metadata: { finalizers: ['example.org/hold'] } });
    await world.remove('web');
    for (const words of [['stop'], ['start'], ['suspend', '--yes'], ['protect'], ['unprotect']])
      expect([words, ...(await vps(words[0] ?? '', 'set/web', ...words.slice(1)))]).toEqual([
        words,
        1,
        expect.stringContaining('web is being deleted'),
      ]);
  });
});

describe('kubectl vps status set/NAME', () => {
  it('shows the set and its members as a tree, and as data for programs', async () => {
    const { world, plugin } = await worldOf({ replicas: 2 });
    await world.reconcile();
    await world.report('web-0', 'Available', { identifier: 'vs1', serverStatus: 'running', price: 4.5 });
    await world.report('web-1', 'Creating');
    await create(cluster().http, world.namespace, manifest('other'));
    await world.reconcile();
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'status', 'set/web']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      new RegExp(
        `^set/web, a VirtualServerSet in ${world.namespace}, \\d+s old\\nNot ready: Scaling {2}2 of 2 members exist`,
      ),
    );
    expect(stdout).toMatch(/^Members +2 wanted, 2 exist, 1 ready, 2 updated, 1 available$/m);
    expect(stdout).toMatch(/^set\/web +False +Scaling +2\/2 +1\/2 +- +4.50 +\d+s$/m);
    expect(stdout).toMatch(/^├─ web-0 +True +Available +yes +yes +vs1 +4.50 +\d+s$/m);
    expect(stdout).toMatch(/^└─ web-1 +False +Creating +yes +no +- +- +\d+s$/m);
    expect(stdout).not.toContain('other');
    for (const [type, format] of [
      ['vpsset', 'json'],
      ['virtualserverset.vps-operator.dev', 'yaml'],
    ]) {
      const data = await plugin.kubectl(['vps', 'status', `${type}/web`, '-o', format ?? '']);
      const { set, members } = parse(data.stdout) as { set: VirtualServerSet; members: VirtualServer[] };
      expect([set.kind, set.metadata.name]).toEqual([SET_KIND, 'web']);
      expect(members.map(({ metadata }) => metadata.name)).toEqual(['web-0', 'web-1']);
    }
  });

  it('prints a command that lets the set continue, and the command works', async () => {
    const { world, plugin } = await worldOf({ replicas: 2 });
    await world.reconcile();
    await world.makeReady('web-0', 'web-1');
    for (const name of ['web-0', 'web-1']) await world.patch(name, { spec: { deletionProtection: true } });
    await world.patch('web', { spec: { replicas: 1 } });
    expect((await world.reconcile()).status?.conditions?.[0]?.reason).toBe('DeletionBlocked');
    const { stdout } = await plugin.kubectl(['vps', 'status', 'set/web']);
    const [command = ''] = /^ {2}kubectl patch vps web-.*$/m.exec(stdout) ?? [];
    expect(await plugin.shell(command)).toMatchObject({ code: 0 });
    await world.reconcile();
    expect(await world.names()).toHaveLength(1);
  });

  it('leads from a name without a server to the set, and from a member to its set', async () => {
    const { world, plugin } = await worldOf({ replicas: 1 });
    await world.reconcile();
    for (const command of ['status', 'wait', 'console']) {
      const { code, stderr } = await plugin.kubectl(['vps', command, 'web']);
      expect([code, stderr]).toEqual([3, expect.stringContaining(`no VirtualServer "web" in namespace`)]);
      const shown = command === 'console' ? 'status' : command;
      expect(stderr).toMatch(
        new RegExp(`^ {2}there is a VirtualServerSet of this name: kubectl vps ${shown} set/web$`, 'm'),
      );
    }
    const gone = await plugin.kubectl(['vps', 'wait', 'web', '--for', 'deleted']);
    expect([gone.code, gone.stdout]).toEqual([0, 'web is gone\n']);
    expect(gone.stderr).toContain('kubectl vps wait --for deleted set/web');
    const member = await plugin.kubectl(['vps', 'status', 'vps/web-0']);
    expect(member.stdout).toMatch(/^Set +kubectl vps status set\/web$/m);
    expect(member.stdout).not.toContain('Unknown annotation');
    const none = await plugin.kubectl(['vps', 'status', 'set/db']);
    expect([none.code, none.stderr]).toEqual([
      3,
      `kubectl vps: no VirtualServerSet "db" in namespace "${world.namespace}"\n`,
    ]);
  });
});

describe('kubectl vps wait set/NAME', () => {
  it('ends when the set is ready', async () => {
    const { world, plugin } = await worldOf({ replicas: 2 });
    const waiting = plugin.shell('kubectl vps wait set/web 2> said');
    await until(plugin, 'said', /^set\/web {2}\[·+\] {2}NotReported: /m);
    await world.reconcile();
    await world.makeReady('web-0');
    await world.reconcile();
    await until(
      plugin,
      'said',
      /^set\/web {2}\[#{12}-{12}\] {2}50 % {2}Scaling: 2 of 2 members exist; waiting for web-1/m,
    );
    await world.makeReady('web-1');
    await world.reconcile();
    expect(await waiting).toMatchObject({ code: 0, stdout: 'set/web is ready\n' });
    expect((await plugin.kubectl(['vps', 'wait', 'set/db'])).code).toBe(3);
  });

  it('gives up if a member needs the user, or if the set is paused', async () => {
    const { world, plugin } = await worldOf({ replicas: 1 });
    await world.reconcile();
    await world.report('web-0', 'CreateOutcomeUnknown');
    await world.reconcile();
    const stuck = await plugin.kubectl(['vps', 'wait', 'set/web']);
    expect([stuck.code, stuck.stderr]).toEqual([
      4,
      expect.stringContaining('set/web is stuck and needs you. MemberUnresolved: '),
    ]);
    expect(stuck.stderr).toMatch(/^ {2}kubectl vps status set\/web$/m);
    await world.patch('web', { spec: { paused: true } });
    await world.reconcile();
    const paused = await plugin.kubectl(['vps', 'wait', 'set/web']);
    expect([paused.code, paused.stderr]).toEqual([
      4,
      expect.stringContaining('set/web is stuck and needs you. Paused: '),
    ]);
    expect(paused.stderr).toMatch(/^ {2}kubectl vps rollout resume web$/m);
  });

  it('waits until the set and its members are gone, and reports a member that stays', async () => {
    const { world, plugin } = await worldOf({ replicas: 2 });
    await world.reconcile();
    // As the operator: the object stays until its server is cancelled.
    const finalizers = ['vps-operator.dev/virtualserver'];
    for (const name of ['web-0', 'web-1']) await world.patch(name, { metadata: { finalizers } });
    const waiting = plugin.shell('kubectl vps wait set/web --for deleted 2> said');
    await until(plugin, 'said', /^set\/web is not being deleted yet; waiting$/m);
    // This API server has no garbage collector.
    for (const name of ['web', 'web-0', 'web-1']) await world.remove(name);
    await until(plugin, 'said', /^set\/web {2}2 left: web-0, web-1$/m);
    await world.report('web-1', 'DeletionProtected');
    expect(await waiting).toMatchObject({ code: 4, stdout: '' });
    await until(plugin, 'said', /web-1 is stuck and needs you. DeletionProtected: [^]*^ {2}kubectl patch vps web-1 /m);
    for (const name of ['web-0', 'web-1']) await world.patch(name, { metadata: { finalizers: null } });
    const gone = await plugin.kubectl(['vps', 'wait', 'set/web', '--for', 'deleted']);
    expect([gone.code, gone.stdout]).toEqual([0, 'set/web is gone\n']);
  });

  it('does not wait for members that were left without an owner', async () => {
    const { world, plugin } = await worldOf({ replicas: 1 });
    await world.reconcile();
    await world.remove('web');
    await world.patch('web-0', { metadata: { ownerReferences: null } });
    const gone = await plugin.kubectl(['vps', 'wait', 'set/web', '--for', 'deleted', '--timeout', '30s']);
    expect([gone.code, gone.stdout]).toEqual([0, 'set/web is gone\n']);
    expect(await world.names()).toEqual(['web-0']);
  });
});

describe('kubectl vps new --set', () => {
  const COMPLETE = [
    '--product',
    'VPSX4',
    '--image',
    'cloudinit-debian-trixie.raw.gz',
    '--disk-size',
    '10240',
    '--ssh-key',
    SSH_KEY,
  ];

  it('writes a manifest of a set that the API server accepts', async () => {
    const { world, plugin } = await worldOf({ replicas: 0 });
    const flags = ['--set', 'db', '--replicas', '3', ...COMPLETE, '--connection-secret', 'db', '--protect'];
    const line = ['kubectl', 'vps', 'new', ...flags].map(quoted).join(' ');
    expect(await plugin.shell(`${line} | kubectl create -f -`)).toMatchObject({ code: 0 });
    const path = pathOf(VIRTUAL_SERVER_SETS, world.namespace, 'db');
    const { spec } = (await cluster().http.call({ path })) as VirtualServerSet;
    expect(spec).toMatchObject({
      replicas: 3,
      template: {
        spec: { product: 'VPSX4', sshKeys: [SSH_KEY], connectionSecretName: 'db', deletionProtection: true },
      },
    });
    const { stdout } = await plugin.kubectl(['vps', 'new', 'db', '--set', ...COMPLETE]);
    expect((parse(stdout) as VirtualServerSet).spec).not.toHaveProperty('replicas');
  });

  it.each([
    [['--ttl', '72h'], /--ttl: expiresAt and ttl are not allowed in a set/],
    [['--image', ''], /--image: /],
    [['--replicas', '10001'], /--replicas: /],
    [['--replicas', 'many'], /--replicas.* Use a number of servers, such as 3/],
    [['--adopt', 'vs1'], /either --set or --adopt/],
  ])('refuses %j', async (flags, why) => {
    const { plugin } = await worldOf({ replicas: 0 });
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'new', '--set', 'db', ...COMPLETE, ...flags]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(why)]);
  });

  it('refuses a name that is too long for a set, and replicas of a single server', async () => {
    const { plugin } = await worldOf({ replicas: 0 });
    for (const [words, why] of [
      [['--set', 'a'.repeat(58)], /the name of a set must be a DNS label of at most 57 characters/],
      [['--set', 'a.b'], /the name of a set must be a DNS label/],
      [['--set', 'set/web'], /invalid VirtualServerSet name "set\/web"/],
      [['web', '--replicas', '2'], /--replicas is for a set: pass --set too/],
    ] as const) {
      const { code, stdout, stderr } = await plugin.kubectl(['vps', 'new', ...words, ...COMPLETE]);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(why)]);
    }
  });
});

describe('completion', () => {
  it('offers sets where a command takes them, and the commands of rollout', async () => {
    const { world } = await worldOf({ replicas: 1 });
    await world.reconcile();
    const paint = { strong: String, faint: String, good: String, busy: String, bad: String };
    const terminal = { out: process.stdout, err: process.stderr, input: process.stdin, paint, isDumb: false };
    const program = createProgram({ terminal, version: '1', exitWith: () => undefined });
    const where = ['--kubeconfig', cluster().kubeconfigPath, '-n', world.namespace];
    const offered = (...words: string[]): Promise<string[]> => complete(program, [...where, ...words]);
    expect(await offered('status', '')).toEqual(['web-0\tNotReported', 'set/web\tScaling', ':4']);
    expect(await offered('wait', 's')).toEqual(['set/web\tScaling', ':4']);
    expect(await offered('ssh', '')).toEqual(['web-0\tNotReported', ':4']);
    expect((await offered('rollout', '')).map((line) => line.split('\t')[0])).toEqual([
      'status',
      'pause',
      'resume',
      'restart',
      'undo',
      'history',
      ':4',
    ]);
    expect(await offered('rollout', 'undo', '')).toEqual(['web\tScaling', ':4']);
    expect(await offered('rollout', 'undo', 'web', '')).toEqual([':4']);
    expect(await offered('rollout', 'status', '--w')).toEqual(['--watch\twait until it is finished', ':4']);
    expect(await offered('rollout', 'status', '--watch=')).toEqual(['--watch=true', '--watch=false', ':4']);
    expect(await offered('new', '--set', '')).toEqual([':4']);
    const path = collectionOf(VIRTUAL_SERVERS, world.namespace);
    await cluster().http.call({ method: 'DELETE', path });
    expect(await offered('status', '')).toEqual(['set/web\tScaling', ':4']);
  });
});
