/** How `kubectl vps status` shows an expiry, and which names the commands reject. */
import { mirrorIn } from '../../../src/api/record.ts';
import { expect, it } from 'vitest';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();

it('shows when a server expires', async () => {
  const world = await createWorld();
  await readyServer(world, 'web', withSpec({ expiresAt: '2099-01-31T18:00:00Z' }));
  await readyServer(world, 'lab', withSpec({ ttl: '72h' }));
  const plugin = await createPlugin(folder(), world.namespace);
  const endOf = async (name: string) =>
    /^Expires +in \S+ \((.*)\)$/m.exec((await plugin.kubectl(['vps', 'status', name])).stdout)?.[1];
  expect(await endOf('web')).toBe('2099-01-31T18:00:00Z');
  const readyAt = mirrorIn((await world.get('lab'))?.status)?.readyAt ?? '';
  expect(Date.parse((await endOf('lab')) ?? '') - Date.parse(readyAt)).toBe(72 * 3_600_000);
});

it.each(['web/status', 'pod/web', 'vps/web/status', 'vps/', '', '..'])('rejects %j as a name', async (name) => {
  const world = await createWorld({ operator: false });
  await world.create(virtualServer('web'));
  const plugin = await createPlugin(folder(), world.namespace);
  for (const words of [['status'], ['wait'], ['console'], ['adopt', '--yes']]) {
    const [command = '', ...flags] = words;
    const identifiers = command === 'adopt' ? ['vs1'] : [];
    const { code, stderr } = await plugin.kubectl(['vps', command, ...flags, '--', name, ...identifiers]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/invalid VirtualServer name|unknown type/)]);
  }
});

it('takes the type of a server in front of its name, as kubectl prints it', async () => {
  const world = await createWorld({ operator: false });
  await world.create(virtualServer('web'));
  const plugin = await createPlugin(folder(), world.namespace);
  const { code, stdout } = await plugin.kubectl(['vps', 'status', 'virtualserver.vps-operator.dev/web']);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^web in /)]);
});

it('takes NAME.NAMESPACE, unless an object has that name', async () => {
  const [here, there] = [await createWorld({ operator: false }), await createWorld({ operator: false })];
  const plugin = await createPlugin(folder(), here.namespace);
  const dotted = `web.${there.namespace}`;
  const shown = async (...words: string[]): Promise<[number, string]> => {
    const { code, stdout, stderr } = await plugin.kubectl(['vps', ...words]);
    return [code, code === 0 ? stdout : stderr];
  };
  await here.create(virtualServer('web'));
  expect(await shown('status', dotted)).toEqual([
    3,
    `kubectl vps: no VirtualServer "${dotted}" in namespace "${here.namespace}"\n`,
  ]);
  await there.create(virtualServer('web'));
  await there.create(virtualServer('a.b'));
  for (const name of [dotted, `vps/${dotted}`, `virtualserver.vps-operator.dev/${dotted}`])
    expect(await shown('status', name)).toEqual([0, expect.stringMatching(`^web in ${there.namespace}, `)]);
  expect(await shown('status', `a.b.${there.namespace}`)).toEqual([0, expect.stringContaining('a.b in ')]);
  expect(await shown('pause', dotted, `a.b.${there.namespace}`)).toEqual([0, expect.stringContaining('web is paused')]);
  expect((await there.get('a.b'))?.metadata.annotations).toHaveProperty(['vps-operator.dev/paused']);
  expect((await here.get('web'))?.metadata.annotations).toBeUndefined();
  // The commands that it prints are for that namespace.
  expect(await shown('ssh', dotted)).toEqual([1, expect.stringContaining(`status web --namespace=${there.namespace}`)]);
  expect(await shown('scp', `${dotted}:/etc/motd`, '.')).toEqual([1, expect.stringContaining('web has no server yet')]);
  for (const [words, says] of [
    [['status', dotted, '-n', here.namespace], `--namespace is ${here.namespace}`],
    [['pause', dotted, 'web'], 'the names are in several namespaces'],
  ] as const)
    expect(await shown(...words)).toEqual([2, expect.stringContaining(says)]);
  expect(await shown('status', dotted, '-n', there.namespace)).toEqual([0, expect.stringContaining('web in ')]);
  await here.create(virtualServer(dotted));
  expect(await shown('status', dotted)).toEqual([0, expect.stringMatching(`^${dotted} in ${here.namespace}, `)]);
  expect(await shown('new', 'x.y', '--product', 'x')).toEqual([2, expect.stringContaining('not a terminal')]);
});

it('leads from an identifier of the provider to the object that holds the server', async () => {
  const world = await createWorld();
  const { status } = await readyServer(world, 'web');
  const plugin = await createPlugin(folder(), world.namespace);
  const { code, stderr } = await plugin.kubectl(['vps', 'status', status?.identifier ?? '']);
  expect([code, stderr]).toEqual([3, expect.stringMatching(/\n {2}web holds the server with this identifier\n$/)]);
});

it('guesses the object that a mistyped name means', async () => {
  const world = await createWorld({ operator: false });
  await world.create(virtualServer('web'));
  const plugin = await createPlugin(folder(), world.namespace);
  for (const words of [
    ['status', 'wbe'],
    ['protect', 'wbe'],
    ['ssh', 'wbe'],
    ['wait', 'wbe'],
  ]) {
    const { code, stderr } = await plugin.kubectl(['vps', ...words]);
    expect([code, stderr]).toEqual([3, expect.stringMatching(/no VirtualServer "wbe".*\n {2}did you mean web\?\n/)]);
  }
  const set = await plugin.kubectl(['vps', 'status', 'set/web']);
  expect([set.code, set.stderr]).toEqual([
    3,
    `kubectl vps: no VirtualServerSet "web" in namespace "${world.namespace}"\n` +
      '  there is a VirtualServer of this name: kubectl vps status web\n',
  ]);
  // A script waits for the wrong object, and continues.
  const gone = await plugin.kubectl(['vps', 'wait', 'wbe', '--for=deleted']);
  expect([gone.code, gone.stdout, gone.stderr]).toEqual([0, 'wbe is gone\n', 'did you mean web?\n']);
});
