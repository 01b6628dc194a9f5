/** `kubectl vps status`, `wait` and `cost`, as users and scripts run them. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { permitConfigMaps } from '../../../tools/control-plane/operator-identity.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { startEmptyCluster } from '../deploy/cluster.ts';
import { CREATE } from '../support/creates.ts';
import { createPlugin, noTerminal, usePlugin } from '../support/plugin.ts';
import { publicWorld } from '../support/public-service.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { strangerIn } from '../support/service-account.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

/** What text of others must never send to a terminal: escape, and the control characters of ISO 8859. */
// eslint-disable-next-line no-control-regex
const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

const ESC = '\u001b';

/** The text of the simulator for a task that never ends. */
const USUAL = 'Installing OS, 99% complete';

/** An object with a task that never ends. */
async function provisioning(world: World, name: string, text?: string): Promise<VirtualServer> {
  world.simulator.fleet.setTaskDuration(Infinity);
  await world.create(virtualServer(name));
  await world.waitForReason(name, 'Creating', 'Ready');
  const { task = 0 } = recordOf((await world.get(name)) as VirtualServer);
  world.simulator.fleet.stallTask(Number(task), text === undefined ? {} : { text });
  // The operator may have read the usual text first.
  const hasText = ({ status }: VirtualServer): boolean => ![undefined, USUAL].includes(status?.task?.message);
  if (text !== undefined) await world.waitFor(name, hasText);
  return (await world.get(name)) as VirtualServer;
}

describe('kubectl vps status NAME', () => {
  it('shows a ready server: its properties, how to reach it, and what happened', async () => {
    const world = await createWorld({ flags: ['--resync-interval=150ms'] });
    const { status } = await readyServer(world, 'web', withSpec({ diskSize: 10240 }));
    world.simulator.fleet.updateServer(status?.identifier ?? '', { status: 'stopped' });
    await world.waitForReason('web', 'ServerNotRunning', 'Ready');
    world.simulator.fleet.updateServer(status?.identifier ?? '', { status: 'running' });
    await world.waitForReason('web', 'Available', 'Ready');
    await world.until(async () => (await world.events('web')).length > 0, 'an Event');
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'status', 'web']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^web in ${world.namespace}, \\d+s old\\nReady: Available {2}`));
    expect(stdout).toMatch(new RegExp(`^Server +${status?.identifier} +running +zone SIM1$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^Address +${status?.ipv6?.[0]}$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^SSH +kubectl vps ssh web +\\(ssh ${status?.ssh}\\)$`, 'm'));
    expect(stdout).toMatch(/^Requested +VPSX4, cloudinit-debian-trixie.raw.gz, disk 10240$/m);
    expect(stdout).toMatch(
      /^Actual +VPSX4, disk 10240 ssd, 1 core, RAM 1024 +price 1018\.00 +\(in the provider's units\)$/m,
    );
    expect(stdout).toMatch(/^Events\n( +\d+s ago .*\n)+/m);
    expect(stdout).not.toMatch(/Attempt|What you can do/);
  });

  it('names the command that creates the Secret with user data, if that is missing', async (context) => {
    const world = await publicWorld(context);
    const userDataFrom = { secretKeyRef: { name: 'setup', key: 'user-data' } };
    await world.create(virtualServer('web', withSpec({ userDataFrom })));
    await world.waitForReason('web', 'UserDataNotFound', 'Stalled');
    const plugin = await createPlugin(folder(), world.namespace);
    const { stdout } = await plugin.kubectl(['vps', 'status', 'web']);
    const [command = ''] = /^ {2}kubectl create secret .*$/m.exec(stdout) ?? [];
    const { code } = await plugin.shell(`echo '#cloud-config' > FILE; ${command.trim()}`);
    expect(code).toBe(0);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()[0]?.body['user_data_string']).toBe('#cloud-config\n');
  });

  it.for([
    ['Secret', 'no such key', '#!/bin/sh'],
    ['Secret', 'a text that is too long', '#'.repeat(40_000)],
    ['ConfigMap', 'no such key', '#!/bin/sh'],
  ] as const)(
    'offers a command that sets the key and keeps the others: %s with %s',
    async ([kind, fault, text], context) => {
      const world = await publicWorld(context);
      const [ref, plural] = kind === 'Secret' ? ['secretKeyRef', 'secrets'] : ['configMapKeyRef', 'configmaps'];
      if (kind === 'ConfigMap') await permitConfigMaps(world.http, world.namespace);
      const encoded = (value: string) => (kind === 'Secret' ? Buffer.from(value).toString('base64') : value);
      const key = fault === 'no such key' ? 'other' : 'user-data';
      const path = `/api/v1/namespaces/${world.namespace}/${plural}`;
      await world.http.call({
        method: 'POST',
        path,
        body: {
          ...{ apiVersion: 'v1', kind, metadata: { name: 'setup' } },
          ...(kind === 'Secret' && { type: 'vps-operator.dev/user-data' }),
          data: { [key]: encoded(text), kept: encoded('kept') },
        },
      });
      await world.create(
        virtualServer('web', withSpec({ userDataFrom: { [ref]: { name: 'setup', key: 'user-data' } } })),
      );
      await world.waitForReason('web', 'UserDataNotFound', 'Stalled');
      const plugin = await createPlugin(folder(), world.namespace);
      const { stdout } = await plugin.kubectl(['vps', 'status', 'web']);
      const [command = ''] = /^ {2}kubectl create .*$/m.exec(stdout) ?? [];
      expect((await plugin.shell(`echo '#cloud-config' > FILE; ${command.trim()}`)).code).toBe(0);
      await world.waitForReason('web', 'Available', 'Ready');
      expect(world.simulator.ledger.creates()[0]?.body['user_data_string']).toBe('#cloud-config\n');
      const found = (await world.http.call({ path: `${path}/setup` })) as { data: Record<string, string> };
      expect(found.data['kept']).toBe(encoded('kept'));
    },
  );

  it('shows no cancelled server as running while another finalizer keeps its object, and offers a command that frees it', async (context) => {
    const world = await publicWorld(context);
    const { metadata } = await readyServer(world, 'web');
    const { finalizers = [] } = metadata;
    await world.patch('web', { metadata: { finalizers: [...finalizers, 'x.example/y'] } });
    await world.delete('web');
    await world.waitFor('web', (object) => object.metadata.finalizers?.join() === 'x.example/y');
    expect(world.simulator.aliveServers()).toEqual([]);
    const plugin = await createPlugin(folder(), world.namespace);
    const kubectl = (...words: string[]) => plugin.kubectl(['vps', ...words]);
    const { stdout } = await kubectl('status', 'web');
    expect(stdout).toMatch(/^Not ready: Deleting .* Only finalizer x\.example\/y keeps the object$/m);
    expect(stdout.split('\nEvents')[0]).not.toMatch(/is running|^SSH|price/m);
    expect((await kubectl('list')).stdout).toMatch(/^web +deleting for \d+s, kept by x\.example\/y +VPSX4 +- /m);
    expect((await kubectl('timeline', 'web')).stdout).toMatch(/ now Deleting: .* Only finalizer x\.example\/y/);
    expect((await kubectl('ssh', 'web')).stderr).toContain('web is being deleted. The operator has cancelled server');
    expect(await kubectl('protect', 'web')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('too late for web: The operator has cancelled server') as string,
    });
    const waited = await kubectl('wait', 'web', '--for', 'deleted', '--timeout', '1s');
    expect([waited.code, waited.stderr]).toEqual([
      5,
      expect.stringMatching(/Deleting: .* Only finalizer x\.example\/y/),
    ]);
    expect(waited.stderr).not.toContain('100 %');
    const [command = ''] = /^ {2}kubectl patch .*$/m.exec(stdout) ?? [];
    await plugin.shell(command.trim());
    expect((await kubectl('wait', 'web', '--for', 'deleted', '--timeout', '30s')).code).toBe(0);
  });

  it('shows the progress of a task in the words of the provider, which cannot steer the terminal', async () => {
    const world = await createWorld();
    await provisioning(world, 'web', 'Installing \u001b[2J\u009b31m OS, 99% complete');
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stdout } = await plugin.kubectl(['vps', 'status', 'web']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Not ready: Creating {2}Task 1001: Installing .* OS, 99% complete$/m);
    expect(stdout).toMatch(/^Task +1001 +\[#{24}\] +99 %( +about .* left)?$/m);
    expect(stdout).not.toMatch(STEERING);
    for (const format of ['json', 'yaml']) {
      const data = await plugin.kubectl(['vps', 'status', 'web', '-o', format]);
      expect(data.stdout).not.toMatch(STEERING);
      expect((parse(data.stdout) as VirtualServer).status?.task?.message).toContain('OS, 99% complete');
    }
    const waited = await plugin.kubectl(['vps', 'wait', 'web', '--timeout', '1s']);
    expect(waited.stderr).not.toMatch(STEERING);
    expect(waited.code).toBe(5);
  });

  it('shows that the operator has not reported on the object, or that the object is being deleted', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const plugin = await createPlugin(folder(), world.namespace);
    const unseen = await plugin.kubectl(['vps', 'status', 'web']);
    const words = 'Not ready: NotReported  The operator has not reported on this object yet';
    expect([unseen.code, unseen.stdout]).toEqual([0, expect.stringContaining(words)]);
    expect(unseen.stdout).not.toContain('last change');
    const [events = ''] = /^ {2}kubectl get events .*$/m.exec(unseen.stdout) ?? [];
    expect(await plugin.shell(events)).toMatchObject({ code: 0 });
    expect(unseen.stdout).toMatch(/^ {2}kubectl logs -n vps-operator-system -l /m);
    await world.startOperator();
    await world.waitForReason('web', 'Available', 'Ready');
    await world.patch('web', { spec: { deletionProtection: true } });
    await world.delete('web');
    await world.waitForReason('web', 'DeletionProtected', 'Stalled');
    const { stdout } = await plugin.kubectl(['vps', 'status', 'web']);
    expect(stdout).toContain(', being deleted');
    const [cancel = ''] = /^ {2}kubectl patch vps web .*cancel the server$/m.exec(stdout) ?? [];
    expect((await plugin.shell(cancel)).code).toBe(0);
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('warns of a mistyped annotation', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web', withAnnotations({ 'vps-operator.dev/adpot': 'vs1', 'example.org/x': '' })));
    const plugin = await createPlugin(folder(), world.namespace);
    const { stdout } = await plugin.kubectl(['vps', 'status', 'web']);
    expect(stdout).toMatch(/^Unknown annotation vps-operator.dev\/adpot; did you mean vps-operator.dev\/adopt\?$/m);
    expect(stdout).not.toContain('example.org');
  });

  it('prints a command that marks an orphan as handled, and the command works', async () => {
    const world = await createWorld();
    const { owner, task } = recordOf(await readyServer(world, 'web'));
    await world.stopOperator();
    const other = { owner, mode: 'create', attempt: 'other' };
    await world.patch('web', { status: null }, '/status');
    await world.patch('web', { status: { record: other } }, '/status');
    await world.annotate('web', { record: JSON.stringify(other) });
    // No other process can still be sending the order.
    await world.startOperator({ flags: ['--create-timeout=300ms', '--takeover-grace=100ms'] });
    await world.waitForReason('web', 'OrphanedServer', 'OrphanedServer');
    await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    const plugin = await createPlugin(folder(), world.namespace);
    const { stdout } = await plugin.kubectl(['vps', 'status', 'web']);
    expect(stdout).toMatch(new RegExp(`^Orphan +task ${task}`, 'm'));
    const [handled = ''] = /^ {2}kubectl annotate .*orphan-handled=.*$/m.exec(stdout) ?? [];
    expect((await plugin.shell(handled)).code).toBe(0);
    await world.waitFor('web', (object) => recordOf(object).orphans === undefined);
  });
});

describe('kubectl vps status --watch', () => {
  it.skipIf(noTerminal !== undefined)('draws the screen again on a terminal, and ends with Ctrl-C', async () => {
    const world = await createWorld();
    const { task = 0 } = recordOf(await provisioning(world, 'web'));
    const plugin = await createPlugin(folder(), world.namespace);
    const session = plugin.terminal('kubectl vps status web --watch');
    await session.shows(/Not ready: Creating/);
    world.simulator.fleet.completeTask(Number(task));
    await session.shows(new RegExp(`${ESC}\\[\\d+A${ESC}\\[J[^]*Ready: Available`));
    session.type('\u0003');
    expect(await session.ended).toBe(130);
    expect(session.text().lastIndexOf('\u001b[?25h')).toBeGreaterThan(session.text().lastIndexOf('\u001b[?25l'));
  });

  it('prints another screen in a pipe only after a change, until the object is gone', async () => {
    const world = await createWorld();
    const { task = 0 } = recordOf(await provisioning(world, 'web'));
    const plugin = await createPlugin(folder(), world.namespace);
    const watching = plugin.shell('kubectl vps status web -w > said');
    const screens = async (): Promise<string[]> =>
      (await plugin.shell('cat said')).stdout.split(/^(?=web in )/m).filter((text) => text !== '');
    await world.until(async () => (await screens()).length > 0, 'the first screen');
    world.simulator.fleet.completeTask(Number(task));
    await world.until(
      async () => /^Ready: Available/m.test((await screens()).at(-1) ?? ''),
      'the screen of the ready server',
    );
    await world.delete('web');
    const { code, stderr } = await watching;
    expect([code, stderr]).toEqual([3, `kubectl vps: no VirtualServer "web" in namespace "${world.namespace}"\n`]);
    const bodies = (await screens()).map((text) => text.replaceAll(/\b\d+s\b/g, 'AGE').trimEnd());
    expect(bodies.filter((body, index) => body === bodies[index - 1])).toEqual([]);
    expect(bodies.join('')).not.toMatch(STEERING);
  });

  it('refuses the formats for programs', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stderr } = await plugin.kubectl(['vps', 'status', 'web', '-w', '-o', 'json']);
    expect([code, stderr]).toEqual([2, 'kubectl vps: --watch shows a screen: leave --output out\n']);
  });
});

describe('kubectl vps status', () => {
  it('lists the servers of one namespace, of all namespaces, and as JSON or YAML', async () => {
    const world = await createWorld();
    const plugin = await createPlugin(folder(), world.namespace);
    const none = await plugin.kubectl(['vps', 'status']);
    expect(none).toEqual({ code: 0, stdout: '', stderr: `no servers or sets in namespace "${world.namespace}"\n` });
    await readyServer(world, 'web');
    await provisioning(world, 'db');
    const { stdout } = await plugin.kubectl(['vps', 'status']);
    expect(stdout).toMatch(/^NAME +STATE +PRODUCT +PRICE +ENDS +AGE\n/);
    expect(stdout).toMatch(/^db +Creating .* - +- +\d+s$/m);
    expect(stdout).toMatch(/^web +Ready +VPSX4 +1018\.00 +- +\d+s$/m);
    const all = await plugin.kubectl(['vps', 'status', '-A', '--namespace', 'default']);
    expect(all.stdout).toMatch(new RegExp(`^${world.namespace} +web +Ready`, 'm'));
    const both = await plugin.kubectl(['vps', 'status', 'web', '-A']);
    expect([both.code, both.stdout, both.stderr]).toEqual([2, '', expect.stringContaining('--all-namespaces')]);
    for (const format of ['json', 'yaml']) {
      const data = await plugin.kubectl(['vps', 'status', '-o', format]);
      const { items } = parse(data.stdout) as { items: VirtualServer[] };
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['db', 'web']);
    }
  });
});

describe('kubectl vps cost', () => {
  it('sums up the servers, and what those on their way will cost', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    await readyServer(world, 'db', withSpec({ product: 'VPSX8' }));
    await provisioning(world, 'later');
    const plugin = await createPlugin(folder(), world.namespace);
    const { stdout, stderr } = await plugin.kubectl(['vps', 'cost']);
    expect(stdout).toMatch(new RegExp(`^${world.namespace} +2 +2649\\.00 +1018\\.00 more$`, 'm'));
    expect(stdout).toMatch(/^\(total\) +2 +2649\.00/m);
    expect(stderr).toContain('neither currency nor period');
    const data = await plugin.kubectl(['vps', 'cost', '-A', '-o', 'json']);
    const { namespaces } = JSON.parse(data.stdout) as { namespaces: object[] };
    const expected = { servers: 1, price: 1018, unknown: 0 };
    expect(namespaces).toContainEqual({ namespace: world.namespace, servers: 2, price: 2649, unpriced: 0, expected });
  });
});

describe('kubectl vps wait', () => {
  it('ends when the server is ready, or when the object is deleted', async () => {
    const world = await createWorld();
    const { task = 0 } = recordOf(await provisioning(world, 'web'));
    const plugin = await createPlugin(folder(), world.namespace);
    const waiting = plugin.shell('kubectl vps wait web 2> said');
    const said = async (): Promise<string> => (await plugin.shell('cat said')).stdout;
    await world.until(async () => /^web {2}\[.*\] .*Creating: /m.test(await said()), 'a line of progress');
    world.simulator.fleet.completeTask(Number(task));
    expect(await waiting).toMatchObject({ code: 0, stdout: 'web is ready\n' });
    await world.delete('web');
    const gone = await plugin.kubectl(['vps', 'wait', 'web', '--for', 'deleted']);
    expect([gone.code, gone.stdout]).toEqual([0, 'web is gone\n']);
    expect(world.simulator.aliveServers()).toEqual([]);
    expect((await plugin.kubectl(['vps', 'wait', 'web'])).code).toBe(3);
  });

  it('gives up if the user has to act, and prints the next steps', async () => {
    const world = await createWorld();
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'drop' } });
    await world.create(virtualServer('web'));
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stderr } = await plugin.kubectl(['vps', 'wait', 'web']);
    expect(code).toBe(4);
    expect(stderr).toMatch(/^kubectl vps: web is stuck and needs you. CreateOutcomeUnknown: /m);
    expect(stderr).toMatch(/^ {2}kubectl vps resolve web --not-created +# if you are sure that there is none$/m);
  });

  it.skipIf(noTerminal !== undefined)(
    'draws one line on a terminal, with its times, and erases it at the end',
    async () => {
      const world = await createWorld({ simulator: { taskDurationMs: 3000 } });
      // How long the product usually takes.
      await readyServer(world, 'before');
      const { task = 0 } = recordOf(await provisioning(world, 'web', 'Installing OS, 40% complete'));
      const plugin = await createPlugin(folder(), world.namespace);
      const session = plugin.terminal('kubectl vps wait web');
      await session.shows(/[⠋-⠿] web {2}\[#+-+\] +40 % .*\(\d+s, (.*, )?usually \d+s\)/);
      world.simulator.fleet.completeTask(Number(task));
      expect(await session.ended).toBe(0);
      const drawn = session.text().trimEnd().split('\r\u001b[K');
      expect(drawn.length).toBeGreaterThan(2);
      expect(drawn.filter((line) => line.includes('\n'))).toEqual([]);
      expect(drawn.at(-1)).toBe('\u001b[?25hweb is ready');
    },
  );

  it.skipIf(noTerminal !== undefined)('fits 40 columns, and shows the cursor again on Ctrl-C', async () => {
    const world = await createWorld();
    await provisioning(world, 'web');
    const plugin = await createPlugin(folder(), world.namespace);
    const session = plugin.terminal('stty cols 40; kubectl vps wait web');
    await session.shows(/web {2}Creating: .*…? {2}\(\d+s\)/);
    session.type('\u0003');
    expect(await session.ended).toBe(130);
    const lines = session.text().split('\r\u001b[K').slice(1).map(stripVTControlCharacters);
    // The terminal echoes Ctrl-C behind whatever was drawn last.
    const drawn = lines.slice(0, -1).map((line) => line.replace('^C', ''));
    expect(drawn.filter((line) => line.length >= 40)).toEqual([]);
    expect(session.text().lastIndexOf('\u001b[?25h')).toBeGreaterThan(session.text().lastIndexOf('\u001b[?25l'));
  });

  it('says the same only once in a pipe, although the time left changes', async () => {
    const world = await createWorld();
    await provisioning(world, 'web', 'Waiting for DNS, 300 seconds remaining');
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stderr } = await plugin.kubectl(['vps', 'wait', 'web', '--timeout', '4s']);
    expect(code).toBe(5);
    expect(stderr.match(/^web .*$/gm)).toEqual([
      expect.stringMatching(/Waiting for DNS, 300 seconds remaining, about .* left$/),
    ]);
    expect(stderr).not.toMatch(STEERING);
  });
});

describe('the plugin, if it cannot do its work', () => {
  it('reports what is missing or forbidden with the documented exit code', async () => {
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const code = async (...words: string[]): Promise<[number, string]> => {
      const result = await plugin.kubectl(['vps', ...words]);
      return [result.code, result.stderr];
    };
    expect(await code('status', 'web')).toEqual([
      3,
      `kubectl vps: no VirtualServer "web" in namespace "${world.namespace}"\n`,
    ]);
    expect(await code('status', '--context', 'none')).toEqual([2, expect.stringContaining('no context "none"')]);
    expect(await code('status', '--kubeconfig', '/nowhere')).toEqual([2, expect.stringContaining('/nowhere')]);
    expect((await code('wait', 'web', '--timeout', 'soon'))[0]).toBe(2);
    expect(await code('nonsense')).toEqual([2, expect.not.stringContaining('did you mean')]);
    const meanings = { ps: 'list', lst: 'list', describe: 'status', stats: 'status', delete: 'cancel', create: 'new' };
    for (const [typed, meant] of Object.entries(meanings)) {
      const said = `kubectl vps: unknown command "${typed}"\n  did you mean kubectl vps ${meant}?\n`;
      expect(await code(typed)).toEqual([2, expect.stringContaining(said)]);
    }
    for (const [typed, meant] of [
      ['release', `kubectl patch vps NAME --type=merge --patch='{"spec":{"deletionPolicy":"Retain"}}'?`],
      ['undo', 'kubectl vps undelete NAME, or kubectl vps rollout undo SET?'],
      ['remove', 'kubectl vps cancel?'],
    ] as const)
      expect(await code(typed)).toEqual([2, expect.stringContaining(`\n  did you mean ${meant}\n`)]);
    expect((await code('status', '--nonsense'))[0]).toBe(2);
    expect((await code('--version'))[0]).toBe(0);

    const kubeconfig = await strangerIn(world);
    const expired = join(world.journalDir, 'expired');
    await writeFile(expired, (await readFile(kubeconfig, 'utf8')).replace(/token: .*/, 'token: expired'));
    expect(await code('list', `--kubeconfig=${expired}`)).toEqual([
      1,
      expect.stringMatching(/^kubectl vps: the API server does not accept your credentials: Unauthorized\n {2}log in /),
    ]);
    const stranger = await createPlugin(folder(), world.namespace, kubeconfig);
    const refused = await stranger.kubectl(['vps', 'status']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/cannot list resource "virtualservers"/)]);
    const [, grant = ''] = /an administrator can grant it: (kubectl .*)$/m.exec(refused.stderr) ?? [];
    expect(grant).toMatch(
      /create role list-virtualservers-of-stranger .*--verb=list --resource=virtualservers\.vps-operator\.dev &&/,
    );
    expect(grant).toMatch(/--role=list-virtualservers-of-stranger --serviceaccount=\S+:stranger$/);
    const granted = async (text: string, words: string[]): Promise<void> => {
      expect((await plugin.shell(text)).code).toBe(0);
      await world.until(async () => (await stranger.kubectl(words)).code === 0, 'the role to take effect');
    };
    await granted(grant, ['vps', 'cost']);
    // The right to one server is no right to another one.
    for (const name of ['web', 'db']) await world.create(virtualServer(name));
    const [, ofWeb = ''] =
      /grant it: (kubectl .*)$/m.exec((await stranger.kubectl(['vps', 'status', 'web'])).stderr) ?? [];
    expect(ofWeb).toMatch(/ --verb=get --resource=virtualservers\.vps-operator\.dev --resource-name=web &&/);
    await granted(ofWeb, ['vps', 'status', 'web']);
    expect((await stranger.kubectl(['vps', 'status', 'db'])).stderr).toContain('cannot get resource "virtualservers"');
  });

  it('reports that the CRD is not installed', async () => {
    const cluster = await startEmptyCluster();
    onTestFinished(() => cluster.stop());
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const there = `--kubeconfig=${cluster.controlPlane.kubeconfigPath}`;
    const { code, stderr } = await plugin.kubectl(['vps', 'status', there]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('the CustomResourceDefinition for this kind')]);
    const [install = ''] = /kubectl apply .*$/m.exec(stderr) ?? [];
    const established = `kubectl ${there} wait --for=condition=Established crd --all`;
    const pasted = await plugin.shell(`ln -s ${join(import.meta.dirname, '../../../deploy')} deploy
      ${install} && ${established}`);
    expect([pasted.code, pasted.stderr]).toEqual([0, '']);
  });
});
