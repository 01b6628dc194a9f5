/** `kubectl vps adopt -f` and `kubectl vps start-over`: many objects at once, from a CSV file. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { ADOPT_ANNOTATION, RECORD_ANNOTATION, START_OVER_ANNOTATION } from '../../../src/api/names.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { answerStatus } from '../kube/proxy.ts';
import { sent } from '../support/creates.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin } from '../support/plugin.ts';
import { pluginBehindProxy } from '../support/plugin-proxy.ts';
import { readyServer } from '../support/records.ts';
import { TestNamespace } from '../support/test-namespace.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
const pluginOf = (world: World): Promise<Plugin> => createPlugin(folder(), world.namespace);
const csv = (plugin: Plugin, ...lines: string[]) => plugin.shell(`printf '%s\\n' '${lines.join("' '")}' > list.csv`);

/** As a restored object: with the record of an object that is gone. */
const restored = (name: string, identifier?: string) =>
  virtualServer(
    name,
    withAnnotations({
      [RECORD_ANNOTATION]: JSON.stringify({ owner: 'before', mode: 'create', ...(identifier && { identifier }) }),
    }),
  );

async function annotationOf(world: TestNamespace, name: string, annotation: string): Promise<string | undefined> {
  return (await world.get(name))?.metadata.annotations?.[annotation];
}

/** A world with servers that no object holds; resolves with their identifiers. */
async function abandoned(world: World, names: readonly string[]): Promise<string[]> {
  const identifiers: string[] = [];
  for (const name of names) {
    const { status } = await readyServer(world, name, withSpec({ deletionPolicy: 'Retain' }));
    identifiers.push(status?.identifier ?? '');
    await world.delete(name);
    await world.waitGone(name);
  }
  return identifiers;
}

/** A second namespace that the operator of the world watches too. */
async function beside(world: World): Promise<TestNamespace> {
  const other = new TestNamespace(world.http, `${world.namespace}-other`);
  await world.http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: other.namespace } } });
  await other.putSecret('vps-api-key', DEFAULT_KEY);
  return other;
}

describe('kubectl vps adopt -f', () => {
  it('gives objects of several namespaces their servers, and has nothing to do the second time', async () => {
    const world = await createWorld({ operator: false });
    const other = await beside(world);
    await world.startOperator({ flags: [`--watch-namespace=${world.namespace},${other.namespace}`] });
    const [first = '', second = ''] = await abandoned(world, ['a', 'b']);
    await world.create(restored('web'));
    await other.create(restored('web'));
    const plugin = await pluginOf(world);
    await csv(plugin, 'namespace,name,identifier', `,web,${first}`, `${other.namespace},web,${second}`);

    const shown = await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--dry-run']);
    expect([shown.code, shown.stderr]).toEqual([0, '']);
    expect(shown.stdout).toMatch(new RegExp(`^${world.namespace} +web .* ${first} +adopt +-$`, 'm'));
    const unsure = await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv']);
    expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(await annotationOf(world, 'web', ADOPT_ANNOTATION)).toBeUndefined();

    const done = await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--yes']);
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('2 annotated, 0 already done, 0 failed')]);
    expect((await world.waitForReason('web', 'Available', 'Ready')).status?.identifier).toBe(first);
    expect((await other.waitForReason('web', 'Available', 'Ready')).status?.identifier).toBe(second);
    const again = await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--yes']);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('0 annotated, 2 already done, 0 failed')]);
    expect(sent(world)).toHaveLength(2);
  });

  it('changes nothing if one row is not possible, and gives the reason for each', async () => {
    const world = await createWorld();
    const held = (await readyServer(world, 'held')).status?.identifier ?? '';
    await world.create(restored('web', 'vs9'));
    await world.create(restored('going'));
    await world.patch('going', { metadata: { finalizers: ['example.org/keeps-it'] } });
    onTestFinished(async () => {
      await world.patch('going', { metadata: { finalizers: [] } });
    });
    await world.delete('going');
    const plugin = await pluginOf(world);
    const rows = [',web,vs9', ',none,vs2', ',held,vs3', `,going,${held}`];
    await csv(plugin, 'namespace,name,identifier', ...rows);
    const { code, stderr } = await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--yes']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('nothing was changed, because the command refuses 3 of 4'),
    ]);
    expect(stderr).toMatch(/ web .* vs9 +adopt +-$/m);
    expect(stderr).toMatch(/ none .* vs2 +refused +does not exist$/m);
    expect(stderr).toMatch(new RegExp(` held .* vs3 +refused +already holds server ${held}$`, 'm'));
    expect(stderr).toMatch(/ going .* refused +is being deleted/m);
    expect(await annotationOf(world, 'web', ADOPT_ANNOTATION)).toBeUndefined();

    await csv(plugin, 'namespace,name,identifier', `,web,${held}`);
    const taken = await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--yes']);
    expect([taken.code, taken.stderr]).toEqual([
      1,
      expect.stringContaining(`refused   ${world.namespace}/held holds the server`),
    ]);
    await csv(plugin, 'namespace,name,identifier', ',none,vs2');
    expect((await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--yes'])).code).toBe(3);
    await csv(plugin, 'namespace,name,identifier', ',web,vs1', ',db,VS1');
    expect((await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--yes'])).code).toBe(2);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('continues after a failed row, and names it', async () => {
    const world = await createWorld({ operator: false });
    for (const name of ['a', 'b', 'c']) await world.create(restored(name));
    const { plugin, proxy } = await pluginBehindProxy(folder(), world);
    proxy.intercept = ({ method, url }, response) =>
      method === 'PATCH' && url?.includes('/b?') === true && answerStatus(response, 403);
    await csv(plugin, 'namespace,name,identifier', ',a,vs1', ',b,vs2', ',c,vs3');
    const { code, stderr } = await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--yes']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`2 annotated, 0 already done, 1 failed: ${world.namespace}/b`),
    ]);
    expect(stderr).toMatch(new RegExp(`^${world.namespace}/b is not annotated: `, 'm'));
    for (const [name, identifier] of [
      ['a', 'vs1'],
      ['b', undefined],
      ['c', 'vs3'],
    ] as const) {
      expect(await annotationOf(world, name, ADOPT_ANNOTATION)).toBe(identifier);
    }
    proxy.intercept = undefined;
    const rest = await plugin.kubectl(['vps', 'adopt', '-f', 'list.csv', '--yes']);
    expect([rest.code, rest.stdout]).toEqual([0, expect.stringContaining('1 annotated, 2 already done, 0 failed')]);
  });
});

describe('kubectl vps start-over', () => {
  it('orders new servers for restored objects and leaves the old ones alone', async () => {
    const world = await createWorld();
    const [first = '', second = ''] = await abandoned(world, ['a', 'b']);
    await world.create(restored('web', first));
    await world.create(restored('db', second));
    for (const name of ['web', 'db']) await world.waitForReason(name, 'RecordMismatch', 'Stalled');
    const plugin = await pluginOf(world);
    await csv(plugin, 'namespace,name', ',web', ',db');
    const { code, stderr, stdout } = await plugin.kubectl(['vps', 'start-over', '-f', 'list.csv', '--yes']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('2 annotated, 0 already done, 0 failed')]);
    expect(stderr).toMatch(new RegExp(` web +RecordMismatch +${first} +order +leaves server ${first} alone$`, 'm'));
    for (const name of ['web', 'db']) await world.waitForReason(name, 'Available', 'Ready');
    expect(sent(world)).toHaveLength(4);
    expect(world.simulator.aliveServers()).toHaveLength(4);
    const again = await plugin.kubectl(['vps', 'start-over', '-f', 'list.csv', '--yes']);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('0 annotated, 2 already done')]);
    expect(sent(world)).toHaveLength(4);
  });

  it('refuses objects that have their own record, or that adopt a server', async () => {
    const world = await createWorld();
    await readyServer(world, 'own');
    await world.stopOperator();
    await world.create(restored('adopting', 'vs8'));
    await world.patch('adopting', { metadata: { annotations: { [ADOPT_ANNOTATION]: 'vs8' } } });
    await world.create(restored('web'));
    const plugin = await pluginOf(world);
    await csv(plugin, 'namespace,name', ',web', ',own', ',adopting');
    const { code, stderr } = await plugin.kubectl(['vps', 'start-over', '-f', 'list.csv', '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('refuses 2 of 3')]);
    expect(stderr).toMatch(/ own .* refused +has its own record \(Available\)$/m);
    expect(stderr).toMatch(
      / adopting .* refused +the annotation vps-operator\.dev\/adopt names vs8: remove it first$/m,
    );
    expect(await annotationOf(world, 'web', START_OVER_ANNOTATION)).toBeUndefined();
    for (const words of [[], ['web', '-f', 'list.csv']]) {
      expect((await plugin.kubectl(['vps', 'start-over', ...words, '--yes'])).code).toBe(2);
    }
    expect((await plugin.kubectl(['vps', 'start-over', 'none', '--yes'])).code).toBe(3);
    expect(sent(world)).toHaveLength(1);
  });
});

describe.skipIf(noTerminal !== undefined)('kubectl vps start-over on a terminal', () => {
  it('shows the plan and asks; answering no changes nothing', async () => {
    const world = await createWorld({ operator: false });
    const { metadata } = await world.create(restored('web', 'vs1'));
    const plugin = await pluginOf(world);
    for (const [key, code, value] of [
      ['\r', 1, undefined],
      ['y\r', 0, metadata.uid],
    ] as const) {
      const session = plugin.terminal('kubectl vps start-over web');
      await session.shows(/web .*vs1 .*order.*costs money.*\(y\/N\)/s);
      session.type(key);
      expect(await session.ended).toBe(code);
      expect(await annotationOf(world, 'web', START_OVER_ANNOTATION)).toBe(value);
    }
  });
});
