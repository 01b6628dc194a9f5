/** Types every command of docs/reference/kubectl-plugin.md as the document prints it, section by section. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { API_VERSION, CATALOG_KIND, FINALIZER, OPERATOR_NAMESPACE, RECORD_ANNOTATION } from '../../src/api/names.ts';
import { RESTARTED_AT } from '../../src/api/virtual-server-set.ts';
import { EXIT } from '../../src/plugin/terminal/failure.ts';
import { SSH_KEY, virtualServer, withAnnotations, withSpec, type Manifest } from '../fixtures/virtual-server.ts';
import { lostOrder } from '../integration/support/creates.ts';
import { blocksOf, patternOf, steady, typedIn } from '../integration/support/document.ts';
import { startKubelet } from '../integration/support/kubelet.ts';
import { pluginIn, untilListed } from '../integration/support/listing.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin } from '../integration/support/plugin.ts';
import { readyServer } from '../integration/support/records.ts';
import { createSetWorld, useSets, type SetWorld } from '../integration/support/set-world.ts';
import { createWorld, type World, type WorldOptions } from '../integration/support/world.ts';

const page = await readFile(join(import.meta.dirname, '../../docs/reference/kubectl-plugin.md'), 'utf8');
const folder = usePlugin();
const sets = useSets();

type Typed = ReturnType<typeof typedIn>[number];
const typedBelow = (heading: string): Typed[] => blocksOf(page, heading).flatMap(typedIn);

/** The only command below the heading that contains this text. */
function commandWith(heading: string, text: string): string {
  const [found, ...others] = typedBelow(heading).filter(({ command }) => command.includes(text));
  if (found === undefined || others.length > 0)
    throw new Error(`${heading} must have exactly one command with ${text}`);
  return found.command;
}

/** A world with a plugin whose home has an SSH key, and with an `ssh` that only prints its arguments. */
async function createReader(
  options?: WorldOptions,
): Promise<{ world: World; plugin: Plugin; type: (command: string) => Promise<string> }> {
  const world = await createWorld(options);
  const plugin = await createPlugin(folder(), world.namespace);
  return { world, plugin, type: await typing(plugin) };
}

/** Runs a command that must exit with 0, in a home with an SSH key; resolves with its standard output. */
async function typing(plugin: Plugin): Promise<(command: string) => Promise<string>> {
  await plugin.shell(`mkdir .ssh; echo '${SSH_KEY}' > .ssh/id_ed25519.pub
    echo 'echo "ssh was called with: $*"' > ssh; chmod +x ssh`);
  return async (command) => {
    const { code, stdout, stderr } = await plugin.shell(`PATH=$PWD:$PATH; ${command}`);
    expect([command, code, code === 0 ? '' : stderr]).toEqual([command, 0, '']);
    return stdout;
  };
}

/** A plugin whose home has an SSH key, in the namespace of a set with three available members. */
async function createSetReader(): Promise<{
  world: SetWorld;
  plugin: Plugin;
  type: (command: string) => Promise<string>;
}> {
  const spec = { ...virtualServer('web').spec, image: 'cloudinit-debian-bookworm.raw.gz' };
  const world = await createSetWorld(sets(), { replicas: 3, template: { spec } });
  await world.reconcile();
  const names = await world.names();
  for (const [index, name] of names.entries())
    await world.report(name, 'Available', { identifier: `vs${1001 + index}`, serverStatus: 'running', price: 1018 });
  await world.reconcile();
  const plugin = await createPlugin(folder(), world.namespace, sets().kubeconfigPath);
  return { world, plugin, type: await typing(plugin) };
}

/** The set rolls another image out; its first new member is CreateOutcomeUnknown. */
async function rollOut(world: SetWorld): Promise<void> {
  await world.patch('web', { spec: { template: { spec: virtualServer('web').spec } } });
  await world.reconcile();
  const owner = (await world.member('web-3')).metadata.uid;
  await world.report('web-3', 'CreateOutcomeUnknown', {
    record: {
      format: 2,
      owner,
      mode: 'create',
      attempt: '4da4a1110d3d747e',
      open: { reason: 'CreateOutcomeUnknown', since: '2026-01-01T00:00:00Z' },
    },
  });
  await world.reconcile();
}

/** A catalog that lists the account's servers. */
async function createListingCatalog(type: (command: string) => Promise<string>): Promise<void> {
  const spec = { listServers: true };
  const catalog = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec };
  await type(`echo '${JSON.stringify(catalog)}' | kubectl apply -f -`);
  await type('kubectl wait --for=condition=Ready vpscat/catalog');
}

describe('docs/reference/kubectl-plugin.md', () => {
  it("shows a server whose order was lost like the document's status example", async () => {
    const { world, type } = await createReader();
    await lostOrder(world, 'web', false);
    await world.until(async () => (await world.events('web')).length > 0, 'an Event');
    for (const { command, shown } of typedBelow('status').filter(({ command }) => !command.includes('set/'))) {
      const said = (await type(command)).replaceAll(world.namespace, 'team');
      expect(said).toMatch(/^web /m);
      expect(steady(said)).toMatch(patternOf(shown));
    }
  });

  it('waits for a server to be ready, and to be gone', async () => {
    const { world, type } = await createReader();
    await world.create(virtualServer('web'));
    expect(await type(commandWith('wait', 'vps wait web  '))).toBe('web is ready\n');
    await world.delete('web');
    expect(await type(commandWith('wait', 'vps wait web --for deleted'))).toBe('web is gone\n');
  });

  it("shows a set with an unresolved member like the document's example, and waits for sets", async () => {
    const { world, type } = await createSetReader();
    expect(await type(commandWith('wait', 'wait set/web  '))).toBe('set/web is ready\n');
    await rollOut(world);
    const [example] = typedBelow('status').filter(({ command }) => command.includes('set/'));
    const said = (await type(example?.command ?? '')).replaceAll(world.namespace, 'team');
    expect(steady(said)).toMatch(patternOf(example?.shown ?? ''));
    // This API server has no garbage collector.
    for (const name of ['web', ...(await world.names())]) await world.remove(name);
    expect(await type(commandWith('wait', 'wait set/web --for deleted'))).toBe('set/web is gone\n');
  });

  it('rolls a set out and back, and pauses it', async () => {
    const { world, plugin, type } = await createSetReader();
    const [status, history, dryRun, undo, pause, resume, restart] = typedBelow('rollout') as [
      Typed,
      Typed,
      Typed,
      Typed,
      Typed,
      Typed,
      Typed,
    ];
    const [waits = '', done = ''] = status.shown.split('\n');
    await rollOut(world);
    await world.report('web-3', 'Creating');
    await world.reconcile();
    const rolling = plugin.shell(`exec > said 2>&1; ${status.command}`);
    const said = async (): Promise<string> => (await plugin.shell('cat said')).stdout;
    await expect.poll(said).toContain(waits);
    const isFinished = async (): Promise<boolean> => {
      await world.makeReady(...(await world.names()));
      return (await world.reconcile()).status?.conditions?.[0]?.reason === 'Available';
    };
    await expect.poll(isFinished).toBe(true);
    expect((await rolling).code).toBe(0);
    expect(await said()).toContain(`\n${done}\n`);
    for (const { command, shown } of [history, dryRun]) expect(await type(command)).toMatch(patternOf(shown));
    const spec = async () => (await world.get()).spec;
    expect((await spec()).template.spec.image).toBe('cloudinit-debian-trixie.raw.gz');
    await type(undo.command);
    expect((await spec()).template.spec.image).toBe('cloudinit-debian-bookworm.raw.gz');
    await type(pause.command);
    expect((await spec()).paused).toBe(true);
    await type(resume.command);
    expect((await spec()).paused).toBe(false);
    await type(restart.command);
    expect((await spec()).template.metadata?.annotations).toHaveProperty([RESTARTED_AT]);
  });

  it('logs in with each of its commands', async () => {
    const { world, type } = await createReader();
    const { status } = await readyServer(world, 'web');
    await type(`echo 'echo "scp was called with: $*"' > scp; chmod +x scp`);
    const commands = typedBelow('ssh, scp and console').map(({ command }) => command);
    const said: string[] = [];
    for (const command of commands) said.push(await type(command));
    const { sshProxy, ipv6 = [], adminConsole } = status ?? {};
    expect(said).toHaveLength(6);
    for (const each of said.slice(0, 2)) expect(each).toMatch(/^ssh was called with: .*root@/);
    for (const each of said.slice(0, 2)) expect(each).toContain(sshProxy?.hostname);
    expect(said[1]).toMatch(/ServerAliveInterval=30.* -i \S+\/\.ssh\/work .*uptime$/m);
    expect(said[2]).toContain(`root@${ipv6[0]}`);
    expect(said[3]).toMatch(new RegExp(`^scp was called with: .* -r -- site root@${sshProxy?.hostname}:/srv/$`, 'm'));
    for (const each of said.slice(4)) expect(each).toContain(adminConsole?.hostname);
  });

  it('makes servers known to ssh and Ansible with each of its commands', async () => {
    // One of the commands reads all namespaces, in which other tests have servers with the usual identifiers.
    const newIdentifier = (): string => `ssh${randomUUID().slice(0, 8)}`;
    const { world, type } = await createReader({ simulator: { newIdentifier } });
    const { metadata } = await readyServer(world, 'web', (manifest) => ({
      ...manifest,
      metadata: { ...manifest.metadata, labels: { team: 'web' } },
    }));
    await readyServer(world, 'db');
    const [write, print, keys, listed] = typedBelow('ssh-config and inventory').map(({ command }) => command);
    const host = `web.${metadata.namespace}`;
    await type(write ?? '');
    expect(await type('cat .ssh/vps-operator/config')).toContain(`Host ${host}\n`);
    expect(await type(print ?? '')).toContain(`Host db.${metadata.namespace}\n`);
    await type(keys ?? '');
    expect(await type('cat config; ls keys')).toContain(`Host ${host}\n`);
    expect(JSON.parse(await type(`${listed ?? ''} 2>/dev/null`))).toMatchObject({ label_team_web: { hosts: [host] } });
  });

  it('lists what can be ordered, and writes manifests that the API server accepts', async () => {
    const { world, type } = await createReader();
    const catalog = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
    await type(`echo '${JSON.stringify(catalog)}' | kubectl apply -f -`);
    await type('kubectl wait --for=condition=Ready vpscat/catalog');
    expect(await type(commandWith('catalog and new', 'vps catalog'))).toContain('VPSX4');
    await type(commandWith('catalog and new', '--ttl'));
    const { spec, status } = await world.waitForReason('web', 'Available', 'Ready');
    expect(spec).toMatchObject({ ttl: '72h', sshKeys: [SSH_KEY] });
    await world.patch('web', { spec: { deletionPolicy: 'Retain', ttl: null } });
    await world.delete('web');
    await world.until(async () => (await world.get('web')) === undefined, 'the end of web');
    const command = commandWith('catalog and new', '--adopt');
    expect(command).toContain(`--adopt ${status?.identifier} `);
    await type(command);
    expect((await world.waitForReason('old', 'Available', 'Ready')).status?.identifier).toBe(status?.identifier);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    await type(commandWith('catalog and new', '--apply'));
    expect((await world.waitForReason('db', 'Available', 'Ready')).metadata.labels).toEqual({ tier: 'db' });
  });

  it('writes the manifest of a set that the API server accepts', async () => {
    const { world, type } = await createSetReader();
    await world.remove('web');
    await type(commandWith('catalog and new', '--set'));
    const { replicas, template } = (await world.get()).spec;
    expect(replicas).toBe(3);
    expect(template.spec).toMatchObject({ image: 'cloudinit-debian-trixie.raw.gz', sshKeys: [SSH_KEY] });
  });

  it('lists servers, changes them, and tells what happened', async () => {
    const { world, type } = await createReader();
    for (const name of ['web', 'db']) await readyServer(world, name);
    await readyServer(world, 'lab', withSpec({ ttl: '1h' }));
    await world.patch('web', { metadata: { labels: { team: 'web' } } });
    const [list, tells] = [typedBelow('list'), typedBelow('timeline')].map(([first]) => first?.command ?? '');
    expect(await type(list ?? '')).toMatch(
      /^NAME +STATE +PRODUCT +PRICE +ENDS +AGE\ndb +Ready .*\nlab +Ready .* in \d+m .*\nweb +Ready /,
    );
    expect(await type(tells ?? '')).toMatch(
      /Z {2}the object was created\n[^]*Z {2}order [0-9a-f]+ began; its task is \d+\n/,
    );
    const heading = 'pause, resume, reconcile, protect, unprotect and extend';
    const said: string[] = [];
    for (const { command } of typedBelow(heading)) said.push(await type(command));
    expect(said.join('')).toMatch(
      /^web is paused.*\nweb is resumed\nweb will be reconciled.*\nweb is protected.*\ndb is protected.*\nweb is no longer protected\nlab ends 96h after/,
    );
    expect((await world.get('lab'))?.spec.ttl).toBe('96h');
    expect((await world.get('db'))?.spec.deletionProtection).toBe(true);
  });

  it('stops, starts, restarts and suspends a server', async () => {
    const { world, type } = await createReader();
    await readyServer(world, 'web');
    const said: string[] = [];
    for (const { command } of typedBelow('start, stop, suspend and reboot'))
      said.push(await type(command.replace('suspend web', 'suspend web --yes')));
    expect(said.join('')).toMatch(
      /^web will be off: .*\nweb will be on: .*\nweb will be restarted: .*\nweb will be dormant: .*\n$/,
    );
    expect((await world.get('web'))?.spec.power).toBe('Dormant');
  });

  it('stores a key from standard input', async () => {
    const { world, type } = await createReader();
    const { keyId, secret } = world.simulator;
    await type('kubectl delete secret vps-api-key');
    const said = await type(`KEY_ID='${keyId}' SECRET='${secret}'; ${commandWith('login and logout', 'printf')}`);
    expect(said).toMatch(/^the provider accepts the key: /);
  });

  it('shows the log of the operator', async () => {
    const { world, type } = await createReader();
    await readyServer(world, 'web');
    const kubelet = await startKubelet(world.http, OPERATOR_NAMESPACE);
    await kubelet.addPod(`of-${world.namespace}`, world.log);
    for (const { command } of typedBelow('logs')) {
      expect(await type(command)).toMatch(new RegExp(`Z ${world.namespace}/web is \\S+ after `, 'm'));
    }
  });

  it('checks the installation', async () => {
    const { plugin } = await createReader();
    // The operator of a world has no Lease, and its API server no guards.
    const { code, stdout } = await plugin.shell(commandWith('doctor', 'vps doctor'));
    expect(code).toBe(1);
    const checks = (text: string): string[] =>
      [...text.matchAll(/^[✓✗–] (\w+(?: \w+)?) {2}/gm)].map(([, name = '']) => name);
    expect(checks(stdout)).toEqual(checks(typedBelow('doctor')[0]?.shown ?? ''));
    expect(checks(stdout)).toContain('API server');
  });

  it('plans the manifests of a folder', async () => {
    const { world, type } = await createReader();
    await readyServer(world, 'web');
    const manifests = [virtualServer('web', withSpec({ sshCheck: 'Proxy' })), virtualServer('db')].map((one) => ({
      ...one,
      metadata: { ...one.metadata, labels: { team: 'web' } },
    }));
    await type(
      `mkdir servers; echo '${manifests.map((one) => JSON.stringify(one)).join('\n---\n')}' > servers/all.yaml`,
    );
    const [first, ...others] = typedBelow('plan');
    expect(await type(first?.command ?? '')).toMatch(
      /^change +VirtualServer \S+\/web [^]*^order +VirtualServer \S+\/db /m,
    );
    for (const { command } of others) expect(await type(command)).toContain('Plan: 1 to order, 1 to change');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('sums up the cost of servers', async () => {
    const { world, type } = await createReader();
    await readyServer(world, 'web');
    expect(await type(commandWith('cost', 'vps cost'))).toMatch(new RegExp(`^${world.namespace} +1 +1018.00`, 'm'));
  });

  it("lists servers that no object holds like the document's example, and imports them", async () => {
    const { world, plugin, type } = await createReader({ simulator: { api: 'public' } });
    const { metadata, status } = await readyServer(world, 'web', withSpec({ deletionPolicy: 'Retain' }));
    await world.delete('web');
    await world.waitGone('web');
    await createListingCatalog(type);
    const generic = (text: string): string =>
      steady(text)
        .replaceAll(status?.identifier ?? '', 'vs1001')
        .replaceAll(world.namespace, 'default')
        .replaceAll(metadata.uid.slice(0, 8), '1f0c2b7a')
        .replaceAll(/(?<=\S) {2,}/g, ' ');
    const [listing, importing] = [typedBelow('orphans'), typedBelow('import')].map(([first]) => first);
    const listed = await plugin.shell(`${listing?.command ?? ''} 2>&1`);
    expect([listed.code, generic(listed.stdout)]).toEqual([1, generic(listing?.shown ?? '')]);
    expect(generic(await type(`{ ${importing?.command ?? ''}\n} 2>&1`))).toBe(generic(importing?.shown ?? ''));
    const manifest = blocksOf(page, 'import').find(({ language }) => language === 'yaml');
    expect(generic(await type('cat servers.yaml'))).toBe(generic(manifest?.text ?? ''));
  });

  it('contains only commands that these tests type', () => {
    const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading);
    const typed = headings.map((heading) => [heading, typedBelow(heading).length]).filter(([, count]) => count !== 0);
    expect(Object.fromEntries(typed)).toEqual({
      Install: 5,
      'login and logout': 3,
      list: 1,
      'pause, resume, reconcile, protect, unprotect and extend': 6,
      'start, stop, suspend and reboot': 4,
      status: 3,
      timeline: 1,
      wait: 4,
      rollout: 7,
      replace: 2,
      'undelete and cancel': 3,
      'ssh, scp and console': 6,
      'ssh-config and inventory': 4,
      'catalog and new': 6,
      'resolve and adopt': 9,
      'start-over': 2,
      cost: 1,
      orphans: 1,
      import: 1,
      plan: 3,
      logs: 2,
      doctor: 1,
    });
  });

  it('has a section for each command, and lists the exit codes', async () => {
    const { plugin } = await createReader();
    const { stdout } = await plugin.kubectl(['vps', '--help']);
    const names = [...stdout.matchAll(/^ {2}([a-z][a-z-]*) /gm)]
      .map(([, name]) => name)
      .filter((name) => name !== 'help');
    const headings = [...page.matchAll(/^## (.*)$/gm)].flatMap(([, heading = '']) => heading.split(/, | and /));
    expect(names.filter((name) => !headings.includes(name ?? ''))).toEqual([]);
    const codes = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(codes).toEqual(Object.values(EXIT));
  });
});

describe.skipIf(noTerminal !== undefined)('docs/reference/kubectl-plugin.md, interactive commands', () => {
  /** Types the command on a terminal, waits for each question, and types its answer. */
  async function answer(plugin: Plugin, command: string, answers: [question: RegExp, keys: string][]): Promise<void> {
    const session = plugin.terminal(command);
    for (const [question, keys] of answers) {
      await session.shows(question);
      session.type(keys);
    }
    expect([await session.ended, session.text()]).toEqual([0, session.text()]);
  }
  const YES: [RegExp, string] = [/\(y\/N\)/, 'y\r'];

  it('logs in and out', async () => {
    const { world, plugin, type } = await createReader();
    const { keyId, secret } = world.simulator;
    await type('kubectl delete secret vps-api-key');
    const [login, , logout] = typedBelow('login and logout').map(({ command }) => command);
    await answer(plugin, login ?? '', [
      [/Key ID/, `${keyId}\r`],
      [/Secret/, `${secret}\r`],
    ]);
    await answer(plugin, logout ?? '', [YES]);
    expect(await type('kubectl get secrets -o name')).not.toContain('vps-api-key');
  });

  it('writes a manifest from the answers', async () => {
    const { plugin, type } = await createReader();
    await answer(plugin, commandWith('catalog and new', '> web.yaml'), [
      [/Product/, 'VPSX4\r'],
      [/Image/, 'cloudinit-debian-trixie.raw.gz\r'],
      [/Disk size/, '10240\r'],
      [/SSH public key/, '\r'],
    ]);
    expect(parse(await type('cat web.yaml'))).toMatchObject({ spec: virtualServer('web').spec });
  });

  it('replaces a server, twice', async () => {
    const { world, plugin, type } = await createReader();
    const { status } = await readyServer(world, 'web');
    const [asks, fromFile] = typedBelow('replace').map(({ command }) => command);
    await answer(plugin, asks ?? '', [YES]);
    expect(world.simulator.ledger.cancels()).toMatchObject([{ identifier: status?.identifier }]);
    await type('kubectl get vps web-v2 -o yaml > web.yaml');
    expect(await type(fromFile ?? '')).toBe('web-v2 is replaced by site\n');
    expect(world.simulator.ledger.creates()).toHaveLength(3);
    expect(world.simulator.ledger.cancels()).toHaveLength(2);
  });

  it('takes a deletion back', async () => {
    const { world, plugin, type } = await createReader();
    const { status } = await readyServer(world, 'web', withSpec({ deletionDelay: '24h' }));
    const [cancel, undelete, now] = typedBelow('undelete and cancel');
    await answer(plugin, cancel?.command ?? '', [YES]);
    expect(await type(undelete?.command ?? '')).toBe(`web holds server ${status?.identifier ?? ''}\n`);
    expect(world.simulator.ledger.cancels()).toEqual([]);
    expect(await type(now?.command ?? '')).toBe('web is being deleted\n');
    await world.waitGone('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('resolves an order that created nothing', async () => {
    const { world, plugin } = await createReader();
    await lostOrder(world, 'web', false);
    await answer(plugin, commandWith('resolve and adopt', '--not-created'), [YES]);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('resolves an order that created a server', async () => {
    const { world, plugin } = await createReader();
    await lostOrder(world, 'web', true);
    await answer(plugin, commandWith('resolve and adopt', '--adopt'), [YES]);
    const { status } = await world.waitForReason('web', 'Available', 'Ready');
    expect(status?.identifier).toBe(world.simulator.ledger.creates()[0]?.identifier);
  });

  it('finds the server of a lost order', async () => {
    const { world, type } = await createReader({ simulator: { api: 'public' }, flags: ['--orders=anonymous'] });
    await createListingCatalog(type);
    await lostOrder(world, 'web', true);
    await untilListed(world);
    await answer(await pluginIn(world, folder()), commandWith('resolve and adopt', 'looks in the list'), [YES]);
    const { status } = await world.waitForReason('web', 'Available', 'Ready');
    expect(status?.identifier).toBe(world.simulator.ledger.creates()[0]?.identifier);
  });

  it('adopts the server of a restored object', async () => {
    const { world, plugin } = await createReader();
    const { metadata, status } = await readyServer(world, 'web', withSpec({ deletionPolicy: 'Retain' }));
    await world.delete('web');
    await world.until(async () => (await world.get('web')) === undefined, 'the end of web');
    const record = metadata.annotations?.[RECORD_ANNOTATION] ?? '';
    await world.create(virtualServer('web', withAnnotations({ [RECORD_ANNOTATION]: record })));
    await world.waitForReason('web', 'RecordMismatch', 'Ready');
    await answer(plugin, commandWith('resolve and adopt', 'vps adopt web'), [YES]);
    expect((await world.waitForReason('web', 'Available', 'Ready')).status?.identifier).toBe(status?.identifier);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('adopts the servers of restored objects, from their records and from a backup', async () => {
    const { world, plugin, type } = await createReader();
    const { metadata, status } = await readyServer(world, 'web', withSpec({ deletionPolicy: 'Retain' }));
    const record = metadata.annotations?.[RECORD_ANNOTATION] ?? '';
    await type('kubectl get vps -o yaml > backup.yaml');
    const restored = virtualServer('web', withSpec({ deletionPolicy: 'Retain' }));
    const restore = async (more: Partial<Manifest['metadata']>, reason: string): Promise<void> => {
      await world.delete('web');
      await world.waitGone('web');
      await world.create({ ...restored, metadata: { ...restored.metadata, ...more } });
      await world.waitForReason('web', reason, 'Stalled');
    };
    const returns = async (): Promise<void> => {
      const { status: after } = await world.waitForReason('web', 'Available', 'Ready');
      expect(after?.identifier).toBe(status?.identifier);
    };
    await restore({ annotations: { [RECORD_ANNOTATION]: record } }, 'RecordMismatch');
    expect(await type(commandWith('resolve and adopt', '--all --dry-run'))).toMatch(
      /^web +RecordMismatch +vs\S+ +adopt/m,
    );
    await answer(plugin, commandWith('resolve and adopt', '--all  '), [YES]);
    await returns();
    await restore({ finalizers: [FINALIZER] }, 'RecordMissing');
    await answer(plugin, commandWith('resolve and adopt', '-f backup.yaml'), [YES]);
    await returns();
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  /** As a restored object: with the record of an object that is gone. */
  const copied = (name: string, identifier: string): Manifest =>
    virtualServer(
      name,
      withAnnotations({ [RECORD_ANNOTATION]: JSON.stringify({ owner: 'before', mode: 'create', identifier }) }),
    );

  it('adopts the servers of a list', async () => {
    const { world, plugin, type } = await createReader();
    const { status } = await readyServer(world, 'old', withSpec({ deletionPolicy: 'Retain' }));
    const identifier = status?.identifier ?? '';
    await world.delete('old');
    await world.waitGone('old');
    await world.create(copied('web', identifier));
    await type(`printf 'namespace,name,identifier\n,web,${identifier}\n' > servers.csv`);
    const shown = await type(commandWith('resolve and adopt', 'servers.csv --dry-run'));
    expect(shown).toMatch(new RegExp(` web .* ${identifier} +adopt +-$`, 'm'));
    const [command = ''] = typedBelow('resolve and adopt').flatMap((each) =>
      each.command.endsWith('servers.csv') ? [each.command] : [],
    );
    await answer(plugin, command, [YES]);
    expect((await world.waitForReason('web', 'Available', 'Ready')).status?.identifier).toBe(identifier);
  });

  it('orders new servers for copies', async () => {
    const { world, plugin, type } = await createReader();
    for (const name of ['web', 'db']) await world.create(copied(name, `vs-of-${name}`));
    await answer(plugin, commandWith('start-over', 'start-over web'), [YES]);
    await type(`printf 'namespace,name\n,web\n,db\n' > copies.csv`);
    await answer(plugin, commandWith('start-over', '-f copies.csv'), [YES]);
    for (const name of ['web', 'db']) await world.waitForReason(name, 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(2);
  });
});
