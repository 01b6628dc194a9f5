/** `kubectl vps resolve` and `adopt` in short-lived states, which the tests write by hand without an operator. */
import { withVerdict } from '../../../src/controller/conditions.ts';
import type { ReadyReason } from '../../../src/api/conditions.ts';
import { expect, it } from 'vitest';
import { FINALIZER } from '../../../src/api/names.ts';
import type { ServerRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { virtualServer, withSpec, type Manifest } from '../../fixtures/virtual-server.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin } from '../support/plugin.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

interface State {
  reason: ReadyReason;
  /** Fields of the record in the annotation. */
  record: Partial<ServerRecord>;
  /** Fields of its mirror in status; by default the same. */
  mirror?: Partial<ServerRecord>;
  spec?: Manifest['spec'];
}

/** An object `web` as the operator leaves it in this state. */
async function standing({ reason, record, mirror = record, spec = {} }: State): Promise<{
  world: World;
  plugin: Plugin;
}> {
  const world = await createWorld({ operator: false });
  const { metadata } = await world.create(virtualServer('web', withSpec(spec)));
  const own = { owner: metadata.uid, mode: 'create', attemptedAt: new Date().toISOString() };
  await world.patch('web', { metadata: { finalizers: [FINALIZER] } });
  await world.annotate('web', { record: JSON.stringify({ ...own, ...record }) });
  const conditions = withVerdict([], { reason, message: 'as it stands' }, metadata.generation, Date.now());
  const status = { record: { ...own, ...mirror }, observedGeneration: metadata.generation, conditions };
  await world.patch('web', { status }, '/status');
  return { world, plugin: await createPlugin(folder(), world.namespace) };
}

/** The annotations of the user: all but the operator's record. */
async function saidOf(world: World): Promise<Record<string, string>> {
  const { metadata } = (await world.get('web')) as VirtualServer;
  const { 'vps-operator.dev/record': _record, ...said } = metadata.annotations ?? {};
  return said;
}

it('resolve refuses an attempt that the status does not cover yet', async () => {
  const { world, plugin } = await standing({
    reason: 'CreateOutcomeUnknown',
    record: { attempt: 'the-second' },
    mirror: { attempt: 'the-first' },
  });
  for (const words of [['--not-created'], ['--adopt', 'vs1001']]) {
    const { code, stderr } = await plugin.kubectl(['vps', 'resolve', 'web', '--yes', ...words]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/not yet: .*again in a moment/)]);
  }
  expect(await saidOf(world)).toEqual({});
});

it('resolve and adopt refuse a record that only a newer version understands, with the message of the operator', async () => {
  const { world, plugin } = await standing({
    reason: 'RecordTooNew',
    record: { format: 3, attempt: 'lost', identifier: 'vs1001' },
  });
  for (const words of [
    ['resolve', 'web', '--yes', '--not-created'],
    ['resolve', 'web', '--yes', '--adopt', 'vs1001'],
    ['resolve', 'web', '--yes', '--gone'],
    ['adopt', 'web', '--yes', 'vs1002'],
  ]) {
    const { code, stderr } = await plugin.kubectl(['vps', ...words]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('as it stands')]);
  }
  expect(await saidOf(world)).toEqual({});
});

it('resolve does its work when its output is not read', async () => {
  const { world, plugin } = await standing({ reason: 'CreateOutcomeUnknown', record: { attempt: 'lost' } });
  await plugin.shell('kubectl vps resolve web --not-created --yes | true');
  expect(await saidOf(world)).toEqual({ 'vps-operator.dev/not-created': 'lost' });
  await plugin.shell('kubectl vps adopt web vs1001 --yes 2>&1 | true');
  expect(await saidOf(world)).toMatchObject({ 'vps-operator.dev/adopt': 'vs1001' });
});

it.skipIf(process.platform !== 'linux')('a command reports that it cannot write its output', async () => {
  const { plugin } = await standing({ reason: 'Creating', record: { attempt: 'it', task: 7 } });
  const { code, stderr } = await plugin.shell('kubectl vps status web > /dev/full');
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^kubectl vps: .*no space left on device.*\n$/)]);
});

it.each([
  { reason: 'CreateInFlight', record: { attempt: 'it' }, said: 'not yet: ' },
  {
    reason: 'Creating',
    record: { attempt: 'it', task: 7 },
    said: 'not yet: the provider accepted the order as task 7',
  },
  { reason: 'ProviderUnavailable', record: { attempt: 'it', task: 7 }, said: 'not yet: ' },
] as const)('an order in progress is left alone: $reason', async ({ said, ...state }) => {
  const { world, plugin } = await standing(state);
  for (const words of [
    ['adopt', 'web', 'vs1001'],
    ['resolve', 'web', '--adopt', 'vs1001'],
    ['resolve', 'web', '--not-created'],
  ]) {
    const { code, stderr } = await plugin.kubectl(['vps', ...words, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
  }
  expect(await saidOf(world)).toEqual({});
});

it.each(['CreateOutcomeUnknown', 'AdoptInvalid', 'IdentifierInUse', 'ServerNotVisible', 'SecretNotFound'] as const)(
  'a lost order accepts a server, another server, or that there is none: %s',
  async (reason) => {
    const { world, plugin } = await standing({ reason, record: { attempt: 'lost' } });
    expect((await plugin.kubectl(['vps', 'adopt', 'web', 'vs1001', '--yes'])).code).toBe(0);
    expect(await saidOf(world)).toEqual({ 'vps-operator.dev/adopt': 'vs1001' });
    expect((await plugin.kubectl(['vps', 'resolve', 'web', '--adopt', 'vs1002', '--yes'])).code).toBe(0);
    expect(await saidOf(world)).toEqual({ 'vps-operator.dev/adopt': 'vs1002' });
    expect((await plugin.kubectl(['vps', 'resolve', 'web', '--not-created', '--yes'])).code).toBe(0);
    expect(await saidOf(world)).toEqual({ 'vps-operator.dev/not-created': 'lost' });
    expect((await plugin.kubectl(['vps', 'resolve', 'web', '--adopt', 'vs1003', '--yes'])).code).toBe(0);
    expect(await saidOf(world)).toEqual({ 'vps-operator.dev/adopt': 'vs1003' });
  },
);

it.each(['ServerNotVisible', 'ServerMissing'] as const)('resolve accepts that a server is gone: %s', async (reason) => {
  const { world, plugin } = await standing({ reason, record: { identifier: 'vs1' } });
  const { stdout } = await plugin.kubectl(['vps', 'status', 'web']);
  const [gone = ''] = /^ {2}kubectl vps resolve web --gone/m.exec(stdout) ?? [];
  const refused = await plugin.shell(gone);
  expect([refused.code, await saidOf(world)]).toEqual([2, {}]);
  const { code, stderr } = await plugin.shell(`${gone} --yes`);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^ {2}server {6}vs1$/m)]);
  expect(await saidOf(world)).toEqual({ 'vps-operator.dev/server-gone': 'vs1' });
});

it('resolve refuses to call a server gone that the operator sees, or an order without a server', async () => {
  const held = await standing({ reason: 'Available', record: { identifier: 'vs1' } });
  const seen = await held.plugin.kubectl(['vps', 'resolve', 'web', '--gone', '--yes']);
  expect([seen.code, seen.stderr]).toEqual([
    1,
    expect.stringContaining('does not report server vs1 as missing: web is Available'),
  ]);
  const lost = await standing({ reason: 'ServerNotVisible', record: { attempt: 'lost' } });
  const none = await lost.plugin.kubectl(['vps', 'resolve', 'web', '--gone', '--yes']);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('--not-created or --adopt IDENTIFIER')]);
  expect([await saidOf(held.world), await saidOf(lost.world)]).toEqual([{}, {}]);
});

it.skipIf(noTerminal !== undefined)('resolve warns that a server reported as gone may still cost money', async () => {
  const { world, plugin } = await standing({ reason: 'ServerMissing', record: { identifier: 'vs1' } });
  const session = plugin.terminal('stty cols 400; kubectl vps resolve web --gone');
  await session.shows(/that server vs1 is gone\?.*still exists keeps costing money.*\(y\/N\)/s);
  session.type('y\r');
  expect(await session.ended).toBe(0);
  expect(await saidOf(world)).toEqual({ 'vps-operator.dev/server-gone': 'vs1' });
});

it('resolve shows that the object is being deleted, and how to follow the deletion', async () => {
  const { world, plugin } = await standing({ reason: 'CreateOutcomeUnknown', record: { attempt: 'lost' } });
  await world.delete('web');
  for (const words of [['--not-created'], ['--adopt', 'vs1001']]) {
    const { stdout, stderr } = await plugin.kubectl(['vps', 'resolve', 'web', '--yes', ...words]);
    expect(stderr).toMatch(new RegExp(`^web in ${world.namespace}, being deleted: CreateOutcomeUnknown`));
    expect(stdout).toMatch(/^follow the progress: kubectl vps wait web --for deleted$/m);
  }
});

it.skipIf(noTerminal !== undefined).each([
  { deletionPolicy: 'Delete', deleting: false, fate: 'It is cancelled when the object is deleted' },
  { deletionPolicy: 'Retain', deleting: false, fate: 'It keeps running when the object is deleted' },
  { deletionPolicy: 'Delete', deleting: true, fate: 'The object is being deleted: the server is then cancelled' },
  { deletionPolicy: 'Retain', deleting: true, fate: 'The object is being deleted: the server keeps running' },
] as const)('resolve asks, and says what happens to the server: $fate', async ({ deletionPolicy, deleting, fate }) => {
  const record = { attempt: 'it', task: 7 };
  const { world, plugin } = await standing({ reason: 'TaskNotFound', record, spec: { deletionPolicy } });
  if (deleting) await world.delete('web');
  const session = plugin.terminal('stty cols 400; kubectl vps resolve web --adopt vs1001');
  await session.shows(/\(y\/N\)/);
  session.type('\r');
  expect(await session.ended).toBe(1);
  expect(session.text()).toContain(`${fate}.`);
});

it('resolve shows text of others on one line each, without control characters', async () => {
  const hostile = `vps \u001b[2J\u0007\n  attempt     forged`;
  const { plugin } = await standing({
    reason: 'CreateOutcomeUnknown',
    record: { attempt: 'lost' },
    spec: { product: hostile, image: 'file/\u009b31m' },
  });
  const { code, stderr } = await plugin.kubectl(['vps', 'resolve', 'web', '--not-created', '--yes']);
  expect(code).toBe(0);
  // eslint-disable-next-line no-control-regex
  expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  expect(stderr).toMatch(/^ {2}requested {3}vps {2}\[2J .*attempt {5}forged, file\/ 31m, disk 10240$/m);
  expect(stderr).not.toMatch(/^ {2}attempt {5}forged/m);
});
