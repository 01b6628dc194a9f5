/** `kubectl vps list`, and the commands that change servers in daily life, as users and scripts run them. */
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { PAUSED_ANNOTATION } from '../../../src/api/names.ts';
import { ClusterView } from '../../../src/plugin/cluster/cluster.ts';
import type { Context } from '../../../src/plugin/cluster/context.ts';
import * as everyday from '../../../src/plugin/commands/everyday.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { createPlugin, noTerminal, usePlugin } from '../support/plugin.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();
const ESC = '\u001b';

describe('kubectl vps list', () => {
  it('shows the servers of the namespace, or of all, in every form that kubectl has', async () => {
    const world = await createWorld();
    const other = await createWorld();
    await readyServer(world, 'web');
    await readyServer(other, 'db');
    const plugin = await createPlugin(folder(), world.namespace);
    const run = (...words: string[]) => plugin.kubectl(['vps', ...words]);

    const { code, stdout, stderr } = await run('list');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^NAME +STATE +PRODUCT +PRICE +ENDS +AGE\nweb +Ready +VPSX4 +1018\.00 +- +\d+s\n\n1 server; 1 running for 1018\.00/,
    );
    for (const alias of ['get', 'ls', 'status']) expect((await run(alias)).stdout).toMatch(/^web +Ready/m);
    expect((await run('list', '-A')).stdout).toMatch(new RegExp(`^${other.namespace} +db +Ready`, 'm'));
    expect((await run('list', '-o', 'wide')).stdout).toMatch(/^NAME .* IPV6 +SSH +IDENTIFIER +ZONE +IMAGE$/m);
    expect((await run('list', '-o', 'name')).stdout).toBe('virtualserver.vps-operator.dev/web\n');
    expect((await run('list', '-o', 'custom-columns=N:.metadata.name,S:.metadata.labels')).stdout).toBe(
      'N     S\nweb   <none>\n',
    );
    for (const format of ['json', 'yaml']) {
      const whole = parse((await run('list', '-o', format)).stdout) as object;
      expect(whole).toMatchObject({
        apiVersion: 'v1',
        kind: 'List',
        items: [{ kind: 'VirtualServer', metadata: { name: 'web' } }],
      });
    }
    expect(await run('list', '-l', 'team=a')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('with the labels team=a') as string,
    });
  });

  it.each([
    [
      ['list', '-o', 'xml'],
      "option '-o, --output <format>' argument 'xml' is invalid. Use one of table, wide, name, json, yaml, custom-columns=HEADER:PATH.",
    ],
    [['list', '--sort', 'size'], 'Allowed choices are name, state, product, price, ends, age'],
    [['list', '--watch', '-o', 'json'], '--watch shows a table'],
    [['get', 'web', '-A'], 'list takes no names; to show one server or set, run:\n  kubectl vps status web\n'],
    [['wait', 'web', '-o', 'json'], "unknown option '-o'"],
  ])('refuses %j', async (words, why) => {
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stdout, stderr } = await plugin.kubectl(['vps', ...words]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(why);
  });

  it.skipIf(noTerminal !== undefined)('draws the table again on a terminal whenever something changes', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    const plugin = await createPlugin(folder(), world.namespace);
    const session = plugin.terminal('kubectl vps list --watch');
    await session.shows(/web .*● Ready/);
    await world.create(virtualServer('db'));
    // The cursor goes up, and the rest of the screen is erased.
    await session.shows(new RegExp(`${ESC}\\[\\d+A${ESC}\\[J[^]*db .*● Ready`));
    session.type('\u0003');
    expect(await session.ended).toBeGreaterThanOrEqual(128);
  });
});

describe('kubectl vps timeline', () => {
  it('shows creation, order, task and conditions of a server, and who ordered what', async () => {
    const world = await createWorld();
    const { status } = await readyServer(world, 'web');
    await world.until(
      async () => (await world.events('web')).some(({ note }) => note.includes('is ready')),
      'the Event',
    );
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'timeline', 'vps/web']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/Z {2}the object was created\n[^]*Z {2}order [0-9a-f]{16} began; its task is 1001\n/);
    expect(stdout).toMatch(
      /Z {2}Event Server(Ordered|Ready): Ordered a server as task 1001 with the API key in Secret /,
    );
    expect(stdout).toContain(`Server ${status?.identifier} is ready, with product VPSX4 and price 1018.00`);
    expect(stdout).toContain(`Ready became True; now Available: Server ${status?.identifier} is running`);
    expect((await plugin.kubectl(['vps', 'timeline', 'none'])).code).toBe(3);
  });
});

describe('daily changes', () => {
  it('pause and resume a server, and do nothing twice', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    const plugin = await createPlugin(folder(), world.namespace);
    const run = (...words: string[]) => plugin.kubectl(['vps', ...words]);
    expect(await run('pause', 'web')).toEqual({
      code: 0,
      stderr: '',
      stdout: 'web is paused: the operator makes no calls for it\n',
    });
    await world.waitFor('web', ({ status }) => status?.conditions?.some(({ type }) => type === 'Paused') === true);
    expect((await run('pause', 'vps/web')).stdout).toBe('vps/web is already paused\n');
    expect((await run('resume', 'web')).stdout).toBe('web is resumed\n');
    expect((await world.get('web'))?.metadata.annotations).not.toHaveProperty(PAUSED_ANNOTATION);
    expect((await run('resume', 'web')).stdout).toBe('web is not paused\n');
  });

  it('are made although the operator writes the object meanwhile, but not to another object of that name', async () => {
    const world = await createWorld({ operator: false });
    const view = new ClusterView({ kubeconfig: inject('kubeconfigPath'), namespace: world.namespace });
    onTestFinished(() => view.close());
    await world.create(virtualServer('web'));
    const { pausing, reconciling } = everyday;
    const context = { cluster: view } as unknown as Context;
    const shown = await view.get('web');
    await world.patch('web', { metadata: { labels: { tier: 'front' } } });
    expect(await pausing(true).server(context, shown)).toContain('is paused');
    expect(await reconciling(0).server(context, shown)).toContain('will be reconciled');
    await expect(view.annotate(shown, { example: 'x' })).rejects.toThrow('changed after it was shown');
    await world.delete('web');
    await world.waitGone('web');
    await world.create(virtualServer('web'));
    await expect(pausing(true).server(context, shown)).rejects.toThrow('metadata.uid');
    expect((await world.get('web'))?.metadata.annotations ?? {}).toEqual({});
  });

  it('read a server again at once', async () => {
    const world = await createWorld({ flags: ['--resync-interval=24h'] });
    const { status } = await readyServer(world, 'web');
    world.simulator.fleet.updateServer(status?.identifier ?? '', { price: 99 });
    const plugin = await createPlugin(folder(), world.namespace);
    expect((await plugin.kubectl(['vps', 'reconcile', 'web'])).stdout).toBe('web will be reconciled at once\n');
    await world.waitFor('web', (object) => object.status?.price === 99);
  });

  it('protect, unprotect and extend several servers, and continue after one that does not exist', async () => {
    const world = await createWorld();
    const web = await readyServer(world, 'web');
    await readyServer(world, 'lab', withSpec({ ttl: '1h' }));
    const plugin = await createPlugin(folder(), world.namespace);
    const run = (...words: string[]) => plugin.kubectl(['vps', ...words]);
    const some = await run('protect', 'web', 'none', 'lab');
    expect(some.code).toBe(3);
    expect(some.stdout).toMatch(/^web is protected.*\nlab is protected.*\n$/);
    expect(some.stderr).toMatch(/none is not changed: no VirtualServer "none"[^]*not every object was changed/);
    expect((await world.get('lab'))?.spec.deletionProtection).toBe(true);
    await run('unprotect', 'web', 'lab');
    expect((await world.get('web'))?.spec.deletionProtection).toBe(false);
    expect((await run('extend', 'lab', '--ttl', '24h')).stdout).toMatch(
      /^lab ends 24h after it was first ready, at \S+Z\n$/,
    );
    expect(await run('extend', 'lab', '--expires-at', '2020-01-01T00:00:00Z')).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(
        /^kubectl vps: lab would have ended at 2020-01-01T00:00:00Z, \d+y\S* ago, so nothing was changed\. .*\n {2}kubectl vps cancel lab\n$/,
      ) as string,
    });
    // The clock of a ttl began before the object had one.
    const readyAt = Date.parse(recordOf(web).readyAt ?? '');
    await world.until(() => Date.now() > readyAt + 1_000, 'the end of the ttl');
    expect(await run('extend', 'web', '--ttl', '1s')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('web would have ended at') as string,
    });
    expect((await world.get('web'))?.spec).not.toHaveProperty('ttl');
    expect((await run('extend', 'lab', '--expires-at', '2099-01-01T00:00:00Z')).code).toBe(0);
    expect((await world.get('lab'))?.spec).toMatchObject({ expiresAt: '2099-01-01T00:00:00Z' });
    expect((await world.get('lab'))?.spec).not.toHaveProperty('ttl');
    expect((await run('protect', 'lab')).code).toBe(0);
    expect((await run('extend', 'lab', '--expires-at', '2099-01-02T00:00:00Z')).stdout).toBe(
      'lab ends at 2099-01-02T00:00:00Z, but not while spec.deletionProtection is true\n',
    );
    expect(await run('extend', 'lab')).toMatchObject({ code: 2 });
    expect(await run('pause')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('pass either names or --selector') as string,
    });
  });
});
