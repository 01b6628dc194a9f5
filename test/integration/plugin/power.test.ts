/** The commands that switch servers off and on, and restart them. */
import { expect, it, type TestContext } from 'vitest';
import { SET_LABEL } from '../../../src/api/names.ts';
import type { VariantOptions } from '../../../src/simulator/variants.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { publicWorld } from '../support/public-service.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { condition, type World } from '../support/world.ts';

const folder = usePlugin();

async function withServer(context: TestContext, variants: VariantOptions = {}) {
  const world = await publicWorld(context, { variants });
  await readyServer(world, 'web');
  const plugin = await createPlugin(folder(), world.namespace);
  const vps = async (...words: string[]): Promise<[number, string]> => {
    const { code, stdout, stderr } = await plugin.kubectl(['vps', ...words]);
    return [code, code === 0 ? stdout : stderr];
  };
  const notes = async (...words: string[]): Promise<[number, string]> => {
    const { code, stderr } = await plugin.kubectl(['vps', ...words]);
    return [code, stderr];
  };
  return { world, vps, notes };
}

const sent = ({ simulator }: World): string[] => simulator.ledger.power().map(({ call }) => call);

it('stops, starts, suspends and restarts a server', async (context) => {
  const { world, vps } = await withServer(context);
  expect(await vps('stop', 'web')).toEqual([0, 'web will be off: the operator asks the provider to shut it down\n']);
  await world.waitForReason('web', 'PoweredOff', 'Ready');
  expect(await vps('wait', 'web')).toEqual([0, 'web is ready\n']);
  expect(await vps('stop', 'web')).toEqual([0, 'web is already set to be off\n']);
  expect(await vps('reboot', 'web')).toEqual([1, expect.stringContaining('kubectl vps start web') as string]);
  const [, shown] = await vps('status', 'web');
  expect(shown).toMatch(/^What you can do\n {2}kubectl vps start web /m);
  expect(shown).not.toContain('vps ssh');
  expect(await vps('start', 'web')).toEqual([0, 'web will be on: the operator asks the provider to start it\n']);
  await world.waitForReason('web', 'Available', 'Ready');
  expect(await vps('reboot', 'web')).toEqual([
    0,
    'web will be restarted: the operator asks the provider to restart it, once\n',
  ]);
  await world.waitForReason('web', 'Rebooted', 'Rebooted');
  expect(await vps('suspend', 'web')).toEqual([2, expect.stringContaining('--yes') as string]);
  expect(await vps('suspend', 'web', '--yes')).toEqual([
    0,
    'web will be dormant: the operator asks the provider to make it dormant\n',
  ]);
  await world.waitForReason('web', 'Dormant', 'Ready');
  expect(sent(world)).toEqual(['shutdown', 'power-on', 'reboot', 'dormant']);
});

it('switches a server off by force that ignores the shutdown', async (context) => {
  const { world, vps } = await withServer(context, { shutdown: 'ignored' });
  expect(await vps('stop', 'web', '--force')).toEqual([
    0,
    'web will be off: the operator asks the provider to switch it off by force\n',
  ]);
  const off = await world.waitForReason('web', 'PoweredOff', 'Ready');
  expect(condition(off, 'Ready')).toMatchObject({ status: 'True' });
  expect(sent(world).at(-1)).toBe('power-off');
});

it('says that the set of a member decides', async (context) => {
  const { world, vps } = await withServer(context);
  await world.patch('web', {
    metadata: {
      labels: { [SET_LABEL]: 'shop' },
      ownerReferences: [
        { apiVersion: 'vps-operator.dev/v1alpha1', kind: 'VirtualServerSet', name: 'shop', uid: 'u', controller: true },
      ],
    },
  });
  expect(await vps('stop', 'web')).toEqual([1, expect.stringContaining('kubectl vps stop set/shop') as string]);
  expect(sent(world)).toEqual([]);
});

it('refuses to switch, restart or extend a server while its object is being deleted', async (context) => {
  const { world, vps } = await withServer(context);
  await world.patch('web', { spec: { deletionDelay: '24h' } });
  await world.delete('web');
  const before = await world.waitForReason('web', 'DeletionDelayed');
  const refused = [1, 'kubectl vps: not while web is being deleted\n  kubectl vps undelete web\n'];
  for (const words of [
    ['stop'],
    ['stop', '--force'],
    ['start'],
    ['suspend', '--yes'],
    ['reboot'],
    ['extend', '--ttl=9h'],
  ])
    expect([words, await vps(words[0] ?? '', 'web', ...words.slice(1))]).toEqual([words, refused]);
  const after = await world.get('web');
  expect([after?.spec, after?.metadata.annotations]).toEqual([before.spec, before.metadata.annotations]);
  // What keeps the server helps all the same. Nothing is handed over during a pause.
  expect(await vps('protect', 'web')).toEqual([0, 'web is protected: its server is never cancelled\n']);
  expect((await vps('pause', 'web'))[0]).toBe(0);
  expect(await vps('stop', 'web')).toEqual([
    1,
    expect.stringMatching(/deleted\n {2}kubectl vps resume web\n$/) as string,
  ]);
  expect(sent(world)).toEqual([]);
});

it('says of objects without a running server what will not happen', async (context) => {
  const { world, vps } = await withServer(context);
  const spec = withSpec({ expiresAt: new Date(Date.now() + 2_000).toISOString() });
  await world.create(virtualServer('short', spec));
  await world.create(virtualServer('wrong', withSpec({ product: 'NOPE' })));
  await world.waitForReason('wrong', 'InvalidSpec', 'Stalled');
  expect(await vps('reboot', 'wrong')).toEqual([1, expect.stringContaining('wrong has no server') as string]);
  await world.waitForReason('short', 'Expired');
  const gone = /^kubectl vps: the server of short expired at .*: delete the object, and create another one/;
  for (const words of [['stop'], ['start'], ['reboot'], ['protect'], ['extend', '--ttl=72h']])
    expect(await vps(words[0] ?? '', 'short', ...words.slice(1))).toEqual([1, expect.stringMatching(gone) as string]);
  expect(await vps('pause', 'web')).toEqual([0, expect.stringContaining('paused') as string]);
  expect(await vps('stop', 'web')).toEqual([
    0,
    'web will be off: the operator asks the provider to shut it down when the object is resumed\n',
  ]);
});

it('tells that the provider has no call, once the operator has found that out, and asks all the same', async (context) => {
  const { world, vps, notes } = await withServer(context, { power: 'missing' });
  await readyServer(world, 'db');
  // No one knows it before the first call.
  expect(await notes('stop', 'db')).toEqual([0, expect.not.stringContaining('note:') as string]);
  await world.waitForReason('db', 'PowerUnavailable');
  expect((await vps('wait', 'db'))[1]).toContain('PowerUnavailable');
  const other =
    /^note: the provider API has no call to shut server .* down, as .* for db: kubectl vps status db\n {2}kubectl vps ssh web -- poweroff/;
  expect(await notes('stop', 'web')).toEqual([0, expect.stringMatching(other) as string]);
  await world.waitForReason('web', 'PowerUnavailable');
  // The same object again, and how to take the request back.
  expect(await notes('stop', 'db')).toEqual([
    0,
    expect.stringMatching(/vps start db {3}# takes the request back/) as string,
  ]);
  for (const name of ['db', 'web']) {
    expect(await notes('start', name)).toEqual([0, expect.not.stringContaining('note:') as string]);
    await world.waitForReason(name, 'Available', 'Ready');
  }
  expect(await notes('reboot', 'web')).toEqual([0, expect.not.stringContaining('note:') as string]);
  await world.waitForReason('web', 'RebootFailed', 'Rebooted');
  expect(await notes('reboot', 'db')).toEqual([
    0,
    expect.stringMatching(/no call to restart .* for web: .*\n {2}.* ssh db -- reboot/) as string,
  ]);
});
