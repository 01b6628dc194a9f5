/** `kubectl vps resolve` and `adopt`: the answer of the user reaches the operator, for the right attempt only. */
import { describe, expect, it } from 'vitest';
import { FINALIZER } from '../../../src/api/names.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { lostOrder, sent } from '../support/creates.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin } from '../support/plugin.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

/** An object with an order that got no answer; `created`: the provider has acted on it. */
async function parked(created: boolean): Promise<{ world: World; plugin: Plugin; attempt: string }> {
  const world = await createWorld();
  const object = await lostOrder(world, 'web', created);
  const plugin = await createPlugin(folder(), world.namespace);
  return { world, plugin, attempt: recordOf(object).attempt ?? '' };
}

/** The command with this word that `status` prints, verbatim. */
async function printed(plugin: Plugin, word: string): Promise<string> {
  const { stdout } = await plugin.kubectl(['vps', 'status', 'web']);
  const line = stdout.split('\n').find((candidate) => candidate.startsWith('  kubectl ') && candidate.includes(word));
  if (line === undefined) throw new Error(`status prints no command with ${word}: ${stdout}`);
  return line.trim();
}

describe('kubectl vps resolve', () => {
  it('orders the server again with the command that status prints', async () => {
    const { world, plugin, attempt } = await parked(false);
    const command = (await printed(plugin, '--not-created')).replace(' #', ' --yes #');
    const { code, stdout } = await plugin.shell(command);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`attempt ${attempt} is marked as not created`)]);
    expect((await plugin.kubectl(['vps', 'wait', 'web'])).code).toBe(0);
    expect(sent(world)).toHaveLength(2);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('adopts the server that the order created after all', async () => {
    const { world, plugin } = await parked(true);
    const [created] = world.simulator.ledger.creates();
    const command = await printed(plugin, '--adopt');
    const { code } = await plugin.shell(command.replace('IDENTIFIER', `${created?.identifier} --yes`));
    expect(code).toBe(0);
    expect((await plugin.kubectl(['vps', 'wait', 'web'])).code).toBe(0);
    expect((await world.get('web'))?.status?.identifier).toBe(created?.identifier);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    const again = await plugin.kubectl(['vps', 'adopt', 'web', created?.identifier ?? '', '--yes']);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('already')]);
    const other = await plugin.kubectl(['vps', 'adopt', 'web', 'another', '--yes']);
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('create another object')]);
  });

  it('changes nothing without a terminal, with missing arguments, or with nothing to resolve', async () => {
    const { world, plugin } = await parked(false);
    const before = await world.get('web');
    const codes = async (...words: string[]): Promise<number> => (await plugin.kubectl(['vps', ...words])).code;
    expect(await codes('resolve', 'web', '--not-created')).toBe(2);
    expect(await codes('resolve', 'web', '--adopt', 'vs1001')).toBe(2);
    expect(await codes('resolve', 'web', '--yes')).toBe(2);
    expect(await codes('resolve', 'web', '--yes', '--not-created', '--adopt', 'vs1001')).toBe(2);
    expect(await codes('resolve', 'web', '--yes', '--gone', '--not-created')).toBe(2);
    expect(await codes('resolve', 'web', '--yes', '--adopt', 'two words')).toBe(2);
    expect(await codes('resolve', 'web', '--yes', '--adopt', 'IDENTIFIER')).toBe(2);
    expect(await codes('adopt', 'web', '<identifier>', '--yes')).toBe(2);
    expect(await codes('resolve', 'none', '--yes', '--not-created')).toBe(3);
    expect((await world.get('web'))?.metadata).toEqual(before?.metadata);
    expect(await codes('resolve', 'web', '--not-created', '--yes')).toBe(0);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(await codes('resolve', 'web', '--not-created', '--yes')).toBe(1);
    expect(sent(world)).toHaveLength(2);
  });

  it('accepts another server after a mistyped identifier', async () => {
    const { world, plugin } = await parked(true);
    const other = (await readyServer(world, 'other')).status?.identifier ?? '';
    const [created] = world.simulator.ledger.creates();
    const resolve = (...words: string[]) => plugin.kubectl(['vps', 'resolve', 'web', ...words, '--yes']);
    expect((await resolve('--adopt', 'mistyped')).code).toBe(0);
    await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect((await resolve('--adopt', other)).code).toBe(0);
    await world.waitForReason('web', 'IdentifierInUse', 'Stalled');
    const { stdout } = await plugin.kubectl(['vps', 'status', 'web']);
    expect(stdout).not.toMatch(/^ {2}kubectl .*(Retain|delete)/m);
    const command = await printed(plugin, '--adopt');
    expect((await plugin.shell(command.replace('IDENTIFIER', `${created?.identifier} --yes`))).code).toBe(0);
    const { status } = await world.waitForReason('web', 'Available', 'Ready');
    expect(status?.identifier).toBe(created?.identifier);
    expect((await world.get('other'))?.status?.identifier).toBe(other);
    expect(sent(world)).toHaveLength(2);
  });

  it('orders again after a mistyped identifier, if there is no server', async () => {
    const { world, plugin } = await parked(false);
    expect((await plugin.kubectl(['vps', 'resolve', 'web', '--adopt', 'mistyped', '--yes'])).code).toBe(0);
    await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    const command = (await printed(plugin, '--not-created')).replace(' #', ' --yes #');
    expect((await plugin.shell(command)).code).toBe(0);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('refuses while the order may still be in flight', async () => {
    const world = await createWorld({ operator: false });
    const { metadata } = await world.create(virtualServer('web'));
    const attemptedAt = new Date().toISOString();
    const record = { owner: metadata.uid, mode: 'create', attempt: 'of-another', attemptedAt };
    await world.patch('web', { metadata: { finalizers: [FINALIZER] } });
    await world.annotate('web', { record: JSON.stringify(record) });
    await world.patch('web', { status: { record } }, '/status');
    await world.startOperator({ flags: ['--takeover-grace=10m'] });
    await world.waitForReason('web', 'CreateInFlight', 'Ready');
    const plugin = await createPlugin(folder(), world.namespace);
    for (const words of [['--not-created'], ['--adopt', 'vs1001']]) {
      const { code, stderr } = await plugin.kubectl(['vps', 'resolve', 'web', '--yes', ...words]);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/not yet: .*\n {2}kubectl vps wait web\n$/s)]);
    }
    const annotations = Object.keys((await world.get('web'))?.metadata.annotations ?? {});
    expect(annotations).toEqual(['vps-operator.dev/record']);
  });
});

describe.skipIf(noTerminal !== undefined)('kubectl vps resolve on a terminal', () => {
  it('shows what is known and asks; only yes changes anything', async () => {
    const { world, plugin, attempt } = await parked(false);
    const first = plugin.terminal('kubectl vps resolve web --not-created');
    await first.shows(/orders the server again\..*\(y\/N\)/s);
    expect(first.text()).toContain(`attempt     ${attempt}`);
    first.type('\r');
    expect(await first.ended).toBe(1);
    expect(first.text()).toContain('nothing was changed');
    expect((await world.get('web'))?.metadata.annotations).not.toHaveProperty('vps-operator.dev/not-created');

    const second = plugin.terminal('kubectl vps resolve web --not-created');
    await second.shows(/\(y\/N\)/);
    second.type('y\r');
    expect(await second.ended).toBe(0);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(2);
  });

  it('exits with 130 at Ctrl-C, and leaves an object alone that changed after it was shown', async () => {
    const { world, plugin } = await parked(false);
    const broken = plugin.terminal('kubectl vps resolve web --not-created');
    await broken.shows(/\(y\/N\)/);
    broken.type('\u0003');
    expect(await broken.ended).toBe(130);

    const late = plugin.terminal('kubectl vps resolve web --not-created');
    await late.shows(/\(y\/N\)/);
    await world.patch('web', { metadata: { labels: { seen: 'no' } } });
    late.type('y\r');
    expect(await late.ended).toBe(1);
    expect(late.text()).toContain('changed after it was shown');
    expect((await world.get('web'))?.metadata.annotations).not.toHaveProperty('vps-operator.dev/not-created');
    expect(sent(world)).toHaveLength(1);
  });
});
