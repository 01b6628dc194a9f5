/** `kubectl vps resolve` without an answer, with the list of servers of the public service. */
import { expect, it, type TestContext } from 'vitest';
import { lostOrder, sent } from '../support/creates.ts';
import { createListing, pluginIn, untilListed } from '../support/listing.ts';
import { noTerminal, usePlugin, type Plugin } from '../support/plugin.ts';
import { publicWorld, totals } from '../support/public-service.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

/** An order that got no answer; `created`: the provider has acted on it. */
async function lost(context: TestContext, created: boolean, spec?: object): Promise<{ world: World; plugin: Plugin }> {
  const world = await publicWorld(context, { orders: 'anonymous' });
  await createListing(world, spec);
  await lostOrder(world, 'web', created);
  if (created) await untilListed(world);
  return { world, plugin: await pluginIn(world, folder()) };
}

it('finds the server of a lost order, and adopts it only once you say so', async (context) => {
  const { world, plugin } = await lost(context, true);
  const [created] = world.simulator.ledger.creates();
  const identifier = created?.identifier ?? '';
  const before = await world.get('web');
  for (const flags of [[], ['--yes']]) {
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'resolve', 'web', ...flags]);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${identifier} +- +VPSX4 +\\S+Z +yes +-$`, 'm'));
    expect(stderr).toContain('ServerCatalog catalog: the operator has read the list of servers just now\n');
    expect(stderr).toContain(`  kubectl vps resolve web --adopt ${identifier}   # if it is this one\n`);
  }
  expect((await world.get('web'))?.metadata.annotations).toEqual(before?.metadata.annotations);
  expect((await plugin.kubectl(['vps', 'resolve', 'web', '--adopt', identifier, '--yes'])).code).toBe(0);
  const { status } = await world.waitForReason('web', 'Available', 'Ready');
  expect(status?.identifier).toBe(identifier);
  expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
});

it.skipIf(noTerminal !== undefined)('asks on a terminal whether the only candidate is the server', async (context) => {
  const { world, plugin } = await lost(context, true);
  const [created] = world.simulator.ledger.creates();
  const session = plugin.terminal('kubectl vps resolve web');
  await session.shows(new RegExp(`Does server ${created?.identifier} belong to web\\?.*\\(y/N\\)`));
  session.type('y\r');
  expect([await session.ended, session.text()]).toEqual([0, session.text()]);
  expect((await world.waitForReason('web', 'Available', 'Ready')).status?.identifier).toBe(created?.identifier);
  expect(totals(world)).toMatchObject({ ordered: 1, alive: 1 });
});

it('does not take one list without the server for a proof', async (context) => {
  const { world, plugin } = await lost(context, false);
  const { code, stdout, stderr } = await plugin.kubectl(['vps', 'resolve', 'web']);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(
    /does not prove yet that there is none: .*; the list can prove it in (59|60)m at the earliest/,
  );
  expect(stderr).not.toContain('--not-created');
  world.simulator.provider.falsify({ route: '/beta/vps/servers', status: 500 });
  const failing = await plugin.kubectl(['vps', 'resolve', 'web']);
  expect([failing.code, failing.stderr]).toEqual([1, expect.stringContaining('the last read of the list of servers')]);
  expect(sent(world)).toHaveLength(1);
});

it('says how to have servers listed', async (context) => {
  const { plugin } = await lost(context, true, {});
  const { code, stderr } = await plugin.kubectl(['vps', 'resolve', 'web']);
  expect(code).toBe(2);
  const [command = ''] = /^ {2}kubectl patch vpscat .*$/m.exec(stderr) ?? [];
  expect((await plugin.shell(command.trim())).code).toBe(0);
  expect((await plugin.kubectl(['vps', 'resolve', 'web'])).stderr).toContain('--adopt ');
});

it('asks for no list of servers if the catalog shows that the provider has none', async () => {
  const world = await createWorld();
  await createListing(world, {});
  await lostOrder(world, 'web', true);
  const plugin = await pluginIn(world, folder());
  const { code, stderr } = await plugin.kubectl(['vps', 'resolve', 'web']);
  expect(code).toBe(2);
  expect(stderr).toContain('the provider has no list of servers');
  expect(stderr).not.toContain('listServers');
  expect(stderr).toContain('kubectl vps resolve web --not-created');
});
