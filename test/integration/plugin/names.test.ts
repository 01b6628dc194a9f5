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
    /^Expires +(.*)$/m.exec((await plugin.kubectl(['vps', 'status', name])).stdout)?.[1];
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
