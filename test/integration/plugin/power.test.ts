/** The commands that switch servers off and on, and restart them. */
import { expect, it, type TestContext } from 'vitest';
import { SET_LABEL } from '../../../src/api/names.ts';
import type { VariantOptions } from '../../../src/simulator/variants.ts';
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
  return { world, vps };
}

const sent = ({ simulator }: World): string[] => simulator.ledger.power().map(({ call }) => call);

it('stops, starts, suspends and restarts a server', async (context) => {
  const { world, vps } = await withServer(context);
  expect(await vps('stop', 'web')).toEqual([0, 'web is shut down\n']);
  await world.waitForReason('web', 'PoweredOff', 'Ready');
  expect(await vps('wait', 'web')).toEqual([0, 'web is ready\n']);
  expect(await vps('stop', 'web')).toEqual([0, 'web is already to be off\n']);
  expect(await vps('reboot', 'web')).toEqual([1, expect.stringContaining('kubectl vps start web') as string]);
  expect(await vps('start', 'web')).toEqual([0, 'web is started\n']);
  await world.waitForReason('web', 'Available', 'Ready');
  expect(await vps('reboot', 'web')).toEqual([0, 'web is restarted\n']);
  await world.waitForReason('web', 'Rebooted', 'Rebooted');
  expect(await vps('suspend', 'web')).toEqual([2, expect.stringContaining('--yes') as string]);
  expect(await vps('suspend', 'web', '--yes')).toEqual([0, 'web is made dormant\n']);
  await world.waitForReason('web', 'Dormant', 'Ready');
  expect(sent(world)).toEqual(['shutdown', 'power-on', 'reboot', 'dormant']);
});

it('switches a server off by force that ignores the shutdown', async (context) => {
  const { world, vps } = await withServer(context, { shutdown: 'ignored' });
  expect(await vps('stop', 'web', '--force')).toEqual([0, 'web is switched off by force\n']);
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
